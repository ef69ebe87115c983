"""Pods that fail, Commands of other people, pods that vanish, Jobs that others change: recordings 06-11, 16 and 21."""

from tests.replay.expected.rows import OPEN, Queue, Row, Scenario

SCENARIOS = {
    "06": Scenario(
        {
            "a": Row(
                "running | failed Error",
                "1 succeeded, 1 failed",
                "22:12:03",
                "22:12:11",
                message="Pod a-worker-0 on gpu-2 failed with exit code 1.",
                pods="""
                a-worker-0 1 Failed gpu-2 1 Error
                a-worker-1 1 Succeeded gpu-3 0 -
                """,
            )
        },
        queues={"batch": OPEN},
    ),
    # a second run was allowed, and no third
    "07": Scenario(
        {
            "a": Row(
                "running | pending Restarting | pending Unschedulable | attempt 2 pending Unschedulable | pending"
                " | running | failed OOMKilled",
                "1 failed",
                "22:18:32",
                "22:18:45",
                message="Pod a-worker-0 on gpu-1 failed with exit code 137.",
                attempt=2,
                pods="""
                a-worker-0 1 Failed gpu-3 137 OOMKilled gone
                a-worker-0 2 Failed gpu-1 137 OOMKilled
                a-worker-1 1 Running gpu-1 - - gone
                a-worker-1 2 Running gpu-3 - - gone
                """,
            )
        },
        queues={"batch": OPEN},
    ),
    "08": Scenario(
        {
            "a": Row(
                "running | pending Unschedulable | attempt 2 pending Unschedulable | pending | running",
                "1 running, 1 pending",
                "22:18:58",
                attempt=2,
                pods="""
                a-worker-0 1 Failed gpu-3 1 Error gone
                a-worker-0 2 Running gpu-3 - -
                a-worker-1 1 Running gpu-2 - - gone
                a-worker-1 2 Pending gpu-2 - -
                """,
            )
        },
        queues={"batch": Queue("Open", 2, running=1)},
    ),
    # somebody else aborted the Job. That is its end, and a resume of somebody else does not bring it back: what the
    # resume starts is stopped, since the job's quota was given back
    "09": Scenario(
        {
            "a": Row(
                "running | failed Aborted",
                started="22:19:13",
                ended="22:19:17",
                message="The job was aborted in Volcano, outside this service.",
                pods="""
                a-worker-0 1 Running gpu-1 - - gone
                a-worker-0 2 Running gpu-1 - -
                a-worker-1 1 Running gpu-1 - - gone
                a-worker-1 2 Running gpu-3 - -
                """,
            )
        },
        queues={"batch": Queue("Open", 2, running=1)},
        commands=("a",),
    ),
    "10": Scenario(
        {
            "a": Row(
                "running | failed Terminated",
                started="22:19:35",
                ended="22:19:39",
                message="Volcano terminated the job: *",
                pods="""
                a-worker-0 1 Running gpu-2 - - gone
                a-worker-1 1 Running gpu-1 - - gone
                """,
            )
        },
        queues={"batch": OPEN},
    ),
    # its PodGroup goes before its phase tells: for that moment nothing says what it waits for
    "11": Scenario(
        {
            "a": Row(
                "pending WaitingForQueue | pending | failed Aborted",
                ended="22:19:44",
                message="The job was aborted in Volcano, outside this service.",
            )
        },
        queues={"batch": OPEN},
    ),
    # Volcano makes the pod again; that is no retry, and the job has run all the time
    "16": Scenario(
        {
            "a": Row(
                "running",
                "2 running",
                "22:20:32",
                pods="""
                a-worker-0 1 Running gpu-1 - -
                a-worker-1 1 Running gpu-2 - - gone
                a-worker-1 1 Running gpu-2 - -
                """,
            )
        },
        queues={"batch": Queue("Open", 2, running=1)},
        moments={9206: {"batch": Queue("Open", 1, unknown=1)}},
    ),
    # somebody gave the Job a second replica: Volcano calls it Pending until that runs, and its first pod runs on.
    # The counts add up to the one replica that the job was accepted with
    "21": Scenario(
        {
            "live": Row(
                "running",
                "1 running",
                "22:17:46",
                pods="""
                live-worker-0 1 Running gpu-1 - -
                live-worker-1 1 Pending gpu-3 - -
                """,
            )
        },
        queues={"batch": Queue("Open", 2, running=1)},
    ),
}
