"""Reclaim and preemption: recordings 23 and 25-28.

An evicted pod is no failure of the job and no retry: the job goes on with those that it has left, and its row says so
by its counts. Volcano's phase of the whole (Pending again, in 27) is not believed against the pods that run.
"""

from tests.replay.expected.rows import OPEN, Queue, Row, Scenario

PREEMPTED = "PreemptionByScheduler"
LATE = "pending Unschedulable | pending | running"

SCENARIOS = {
    "23": Scenario(
        {
            "borrower": Row(
                "running",
                "6 running",
                "22:22:08",
                pods="""
                borrower-worker-0 1 Running gpu-1 - -
                borrower-worker-1 1 Running gpu-2 - -
                borrower-worker-2 1 Running gpu-3 - -
                borrower-worker-3 1 Running gpu-2 - -
                borrower-worker-4 1 Running gpu-3 - -
                borrower-worker-5 1 Running gpu-1 - -
                """,
            ),
            "owner": Row("pending WaitingForQueue", message="The job waits for room in the queue q23-high."),
        },
        queues={"q23-high": Queue("Open", pending=1), "q23-low": Queue("Open", 6, running=1)},
    ),
    "25": Scenario(
        {
            "low": Row(
                LATE,
                "6 running",
                "22:24:06",
                pods="""
                low-worker-0 1 Running gpu-3 - -
                low-worker-1 1 Running gpu-2 - -
                low-worker-2 1 Running gpu-1 - -
                low-worker-3 1 Running gpu-2 - -
                low-worker-4 1 Running gpu-1 - -
                low-worker-5 1 Running gpu-3 - -
                """,
            ),
            "high": Row("pending WaitingForQueue", message="The job waits for room in the queue batch."),
        },
        queues={"batch": Queue("Open", 6, pending=1, running=1)},
    ),
    "26": Scenario(
        {
            "borrower": Row(
                "running",
                "2 running, 4 pending",
                "22:25:56",
                pods=f"""
                borrower-worker-0 1 Running gpu-3 - -
                borrower-worker-1 1 Running gpu-2 - {PREEMPTED} gone
                borrower-worker-1 1 Pending - - Unschedulable
                borrower-worker-2 1 Running gpu-1 - {PREEMPTED} gone
                borrower-worker-2 1 Pending - - Unschedulable
                borrower-worker-3 1 Running gpu-1 - {PREEMPTED} gone
                borrower-worker-3 1 Pending - - Unschedulable
                borrower-worker-4 1 Running gpu-2 - {PREEMPTED} gone
                borrower-worker-4 1 Pending - - Unschedulable
                borrower-worker-5 1 Running gpu-3 - -
                """,
            ),
            "owner": Row(
                LATE,
                "4 running",
                "22:26:10",
                pods="""
                owner-worker-0 1 Running gpu-1 - -
                owner-worker-1 1 Running gpu-1 - -
                owner-worker-2 1 Running gpu-2 - -
                owner-worker-3 1 Running gpu-2 - -
                """,
            ),
        },
        queues={"q26-high": Queue("Open", 4, running=1), "q26-low": Queue("Open", 2, running=1)},
        moments={11903: {"q26-high": OPEN, "q26-low": Queue("Open", 6, running=1)}},
    ),
    "27": Scenario(
        {
            "borrower": Row(
                LATE,
                "2 running, 4 pending",
                "22:26:30",
                pods=f"""
                borrower-worker-0 1 Running gpu-1 - {PREEMPTED} gone
                borrower-worker-0 1 Pending - - Unschedulable
                borrower-worker-1 1 Running gpu-2 - {PREEMPTED} gone
                borrower-worker-1 1 Pending - - Unschedulable
                borrower-worker-2 1 Running gpu-3 - -
                borrower-worker-3 1 Running gpu-2 - {PREEMPTED} gone
                borrower-worker-3 1 Pending - - Unschedulable
                borrower-worker-4 1 Running gpu-3 - -
                borrower-worker-5 1 Running gpu-1 - {PREEMPTED} gone
                borrower-worker-5 1 Pending - - Unschedulable
                """,
            ),
            "owner": Row(
                LATE,
                "4 running",
                "22:26:44",
                pods="""
                owner-worker-0 1 Running gpu-1 - -
                owner-worker-1 1 Running gpu-1 - -
                owner-worker-2 1 Running gpu-2 - -
                owner-worker-3 1 Running gpu-2 - -
                """,
            ),
        },
        queues={"q27-high": Queue("Open", 4, running=1), "q27-low": Queue("Open", 2, unknown=1)},
        moments={16600: {"q27-low": Queue("Open", 2, unknown=1), "q27-high": Queue("Open", inqueue=1)}},
    ),
    "28": Scenario(
        {
            "low": Row(
                LATE,
                "4 running, 2 pending",
                "22:27:03",
                pods=f"""
                low-worker-0 1 Running gpu-1 - {PREEMPTED} gone
                low-worker-0 1 Pending - - Unschedulable
                low-worker-1 1 Running gpu-3 - -
                low-worker-2 1 Running gpu-2 - -
                low-worker-3 1 Running gpu-3 - -
                low-worker-4 1 Running gpu-1 - {PREEMPTED} gone
                low-worker-4 1 Pending - - Unschedulable
                low-worker-5 1 Running gpu-2 - -
                """,
            ),
            "high": Row(
                LATE,
                "2 running",
                "22:27:21",
                pods="""
                high-worker-0 1 Running gpu-1 - -
                high-worker-1 1 Running gpu-1 - -
                """,
            ),
        },
        queues={"batch": Queue("Open", 6, running=2)},
    ),
}
