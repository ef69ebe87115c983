"""What an event of a job says, by its type. `docs/events.md` has the same words; a test compares them."""

EVENT_TYPES: dict[str, str] = {
    "accepted": "the job was accepted; the first event of every job",
    "state": "it has another state from now on",
    "submitted": "its Volcano Job exists",
    "attempt": "it runs again, in the same state",
    "reason": "the reason of its state has changed, and the state has not",
    "cancel": "its owner cancelled it",
    "released": "it has left the queue of jobs that wait here, and goes to the cluster",
    "suspend": "its owner suspended it",
    "resume": "its owner let it go on",
    "changed": "its owner changed its priority or labels",
    "put-back": "the cluster did not take it yet; it will be tried again",
}
