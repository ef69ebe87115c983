"""Jobs and queues that are deleted: recordings 12-15, 20 and 22."""

from tests.replay.expected.rows import OPEN, Queue, Row, Scenario

DELETED = "The Volcano Job was deleted outside this service before it had finished."

SCENARIOS = {
    "12": Scenario(
        {
            "a": Row(
                "running | succeeded",
                "1 succeeded",
                "22:14:51",
                "22:14:52",
                pods="a-worker-0 1 Succeeded gpu-3 0 - gone",
                kept=False,
            )
        },
        queues={"batch": OPEN},
    ),
    "13": Scenario(
        {
            "a": Row(
                "running | succeeded",
                "1 succeeded",
                "22:15:08",
                "22:15:09",
                pods="a-worker-0 1 Succeeded gpu-1 0 - gone",
                kept=False,
            )
        },
        queues={"batch": OPEN},
    ),
    # Volcano acts no more on a Job that is being deleted, and only our finalizer keeps it and its pods
    "14": Scenario(
        {
            "a": Row(
                "running | lost Deleted",
                started="22:19:51",
                ended="22:19:57.877",
                message=DELETED,
                pods="""
                a-worker-0 1 Running gpu-2 - - gone
                a-worker-1 1 Running gpu-1 - - gone
                """,
                kept=False,
            )
        },
        queues={"batch": OPEN},
    ),
    "15": Scenario(
        {
            "a": Row(
                "running | lost Deleted",
                started="22:20:17",
                ended="22:20:19.197",
                message=DELETED,
                pods="""
                a-worker-0 1 Running gpu-3 - - gone
                a-worker-1 1 Running gpu-2 - - gone
                """,
                kept=False,
            )
        },
        queues={"batch": OPEN},
    ),
    "20": Scenario(
        {
            "a": Row(
                "running | lost Deleted",
                started="22:20:52",
                ended="22:21:01.140",
                message=DELETED,
                pods="""
                a-worker-0 1 Running gpu-3 - - gone
                a-worker-1 1 Running gpu-2 - - gone
                """,
                kept=False,
            ),
            "c": Row(
                "lost Deleted",
                ended="22:21:11.179",
                message=DELETED,
                pods="c-worker-0 1 Pending gpu-1 - - gone",
                kept=False,
            ),
        },
        queues={"q20": None},
        moments={
            11984: {"q20": Queue("Closing", 2, running=1)},
            18718: {"q20": Queue("Closed")},
            22036: {"q20": OPEN},
        },
        remade=("q20",),
    ),
    # a job that runs goes on without its queue; one that waits is told that the queue is missing
    "22": Scenario(
        {
            "a": Row(
                "running | lost Deleted",
                started="22:21:26",
                ended="22:21:38.022",
                message=DELETED,
                pods="""
                a-worker-0 1 Running gpu-2 - - gone
                a-worker-1 1 Running gpu-1 - - gone
                """,
                kept=False,
            ),
            "b": Row("pending WaitingForQueue | pending QueueNotOpen", message="The queue q22 is missing in Volcano."),
        },
        queues={"q22": None},
        moments={13538: {"q22": Queue("Open", 2, pending=1, running=1)}},
        remade=("q22",),
    ),
}
