"""The Queue's states (volcano-facts 4.1; `pkg/controllers/queue/state`)."""

SYNC = "SyncQueue"
OPEN = "OpenQueue"
CLOSE = "CloseQueue"
SHUT = ("Closing", "Closed")


def next_state(state: str, action: str, pod_groups: int) -> str:
    """Return a Queue's state after an action.

    Args:
        state: Open, Closing, Closed, Unknown, or empty for a new Queue.
        action: SyncQueue, OpenQueue or CloseQueue.
        pod_groups: how many PodGroups are in the Queue, ended ones too.
    """
    if action == OPEN:
        return "Open"
    emptied = "Closing" if pod_groups else "Closed"
    if action == CLOSE:
        return "Closed" if state == "Closed" else emptied
    if state == "Closing":
        return emptied
    return state or "Open"
