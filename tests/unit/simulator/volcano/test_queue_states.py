import pytest

from app.simulator.volcano.queue_states import next_state


@pytest.mark.parametrize(
    ("state", "action", "pod_groups", "after"),
    [
        ("", "SyncQueue", 0, "Open"),
        ("", "SyncQueue", 3, "Open"),
        ("Open", "SyncQueue", 3, "Open"),
        ("Open", "CloseQueue", 0, "Closed"),
        ("Open", "CloseQueue", 1, "Closing"),
        ("Closing", "SyncQueue", 1, "Closing"),
        ("Closing", "SyncQueue", 0, "Closed"),
        ("Closing", "CloseQueue", 0, "Closed"),
        ("Closing", "OpenQueue", 1, "Open"),
        ("Closed", "SyncQueue", 0, "Closed"),
        ("Closed", "CloseQueue", 1, "Closed"),
        ("Closed", "OpenQueue", 0, "Open"),
        ("Unknown", "SyncQueue", 0, "Unknown"),
        ("Unknown", "OpenQueue", 0, "Open"),
    ],
)
def test_next_state(state: str, action: str, pod_groups: int, after: str) -> None:
    assert next_state(state, action, pod_groups) == after
