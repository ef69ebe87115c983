"""Jobs that run as they should, or wait: recordings 00-05, 17, 18 and 29."""

from tests.replay.expected.rows import OPEN, Queue, Row, Scenario

AT_ONCE = "running | succeeded"
AFTER_WAITING = "pending WaitingForQueue | pending | running | succeeded"

SCENARIOS = {
    "00": Scenario(
        {
            "high-a": Row(
                AT_ONCE,
                "4 succeeded",
                "22:27:48",
                "22:28:00",
                pods="""
                high-a-worker-0 1 Succeeded gpu-2 0 -
                high-a-worker-1 1 Succeeded gpu-3 0 -
                high-a-worker-2 1 Succeeded gpu-1 0 -
                high-a-worker-3 1 Succeeded gpu-1 0 -
                """,
            ),
            "low-a": Row(
                AT_ONCE,
                "2 succeeded",
                "22:27:51",
                "22:28:01",
                pods="""
                low-a-worker-0 1 Succeeded gpu-2 0 -
                low-a-worker-1 1 Succeeded gpu-3 0 -
                """,
            ),
            "high-b": Row(
                AFTER_WAITING,
                "2 succeeded",
                "22:28:04",
                "22:28:13",
                pods="""
                high-b-worker-0 1 Succeeded gpu-1 0 -
                high-b-worker-1 1 Succeeded gpu-2 0 -
                """,
            ),
            "low-b": Row(
                AFTER_WAITING,
                "2 succeeded",
                "22:28:10",
                "22:28:17",
                pods="""
                low-b-worker-0 1 Succeeded gpu-3 0 -
                low-b-worker-1 1 Succeeded gpu-1 0 -
                """,
            ),
        },
        queues={"high-priority": OPEN, "low-priority": OPEN},
        moments={
            1915: {
                "high-priority": Queue("Open", 4, pending=1, inqueue=1),
                "low-priority": Queue("Open", 2, pending=1, inqueue=1),
            },
            # the first jobs of both queues run
            2930: {
                "high-priority": Queue("Open", 4, pending=1, running=1),
                "low-priority": Queue("Open", 2, pending=1, running=1),
            },
        },
    ),
    "01": Scenario(
        {"a": Row(AT_ONCE, "1 succeeded", "22:11:08", "22:11:10", pods="a-worker-0 1 Succeeded gpu-3 0 -")},
        queues={"batch": OPEN},
    ),
    "02": Scenario(
        {
            "a": Row(
                AT_ONCE,
                "4 succeeded",
                "22:11:18",
                "22:11:22",
                pods="""
                a-worker-0 1 Succeeded gpu-1 0 -
                a-worker-1 1 Succeeded gpu-2 0 -
                a-worker-2 1 Succeeded gpu-3 0 -
                a-worker-3 1 Succeeded gpu-1 0 -
                """,
            )
        },
        queues={"batch": OPEN},
    ),
    "03": Scenario(
        {
            "first": Row(
                AT_ONCE,
                "2 succeeded",
                "22:11:26",
                "22:11:37",
                pods="""
                first-worker-0 1 Succeeded gpu-2 0 -
                first-worker-1 1 Succeeded gpu-1 0 -
                """,
            ),
            "second": Row(
                AFTER_WAITING,
                "2 succeeded",
                "22:11:42",
                "22:11:45",
                pods="""
                second-worker-0 1 Succeeded gpu-1 0 -
                second-worker-1 1 Succeeded gpu-2 0 -
                """,
            ),
        },
        queues={"low-priority": OPEN},
        moments={6568: {"low-priority": Queue("Open", 2, pending=1, running=1)}},
    ),
    "04": Scenario(
        {"a": Row("pending WaitingForQueue", message="The job waits for room in the queue batch.")},
        queues={"batch": Queue("Open", pending=1)},
    ),
    "05": Scenario(
        {"a": Row("pending WaitingForQueue", message="The job waits for room in the queue low-priority.")},
        queues={"low-priority": Queue("Open", pending=1)},
    ),
    # nobody looks at the pod: its schedulerName is another's. That is said after a minute
    "17": Scenario(
        {
            "a": Row(
                "pending NotPickedUp",
                "1 pending",
                message="No scheduler has looked at the job's pods for more than 60 seconds*",
                pods="a-worker-0 1 Pending - - -",
            )
        },
        queues={"batch": Queue("Open", inqueue=1)},
    ),
    "18": Scenario(
        {
            "running": Row(
                AT_ONCE,
                "2 succeeded",
                "22:16:26",
                "22:16:35",
                pods="""
                running-worker-0 1 Succeeded gpu-3 0 -
                running-worker-1 1 Succeeded gpu-3 0 -
                """,
            ),
            "high": Row(
                AFTER_WAITING,
                "2 succeeded",
                "22:16:43",
                "22:16:45",
                pods="""
                high-worker-0 1 Succeeded gpu-2 0 -
                high-worker-1 1 Succeeded gpu-3 0 -
                """,
            ),
            # between its first pod's end and its second pod's start nothing runs, and the job is still under way
            "low": Row(
                AFTER_WAITING,
                "2 succeeded",
                "22:16:52",
                "22:16:57",
                pods="""
                low-worker-0 1 Succeeded gpu-2 0 -
                low-worker-1 1 Succeeded gpu-1 0 -
                """,
            ),
        },
        queues={"low-priority": OPEN},
    ),
    "29": Scenario(
        {
            "a": Row(
                "pending Unschedulable",
                "6 pending",
                message="2/6 tasks in gang unschedulable: pod group is not ready, 6 Pending, 6 minAvailable; *",
                pods="""
                a-worker-0 1 Pending - - Schedulable
                a-worker-1 1 Pending - - Schedulable
                a-worker-2 1 Pending - - Schedulable
                a-worker-3 1 Pending - - Schedulable
                a-worker-4 1 Pending - - Unschedulable
                a-worker-5 1 Pending - - Unschedulable
                """,
            )
        },
        queues={"high-priority": Queue("Open", inqueue=1)},
    ),
}
