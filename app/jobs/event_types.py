"""What an event of a job says, by its type. A test compares these with the docs and with the code that writes them."""

EVENT_TYPES: dict[str, str] = {
    "accepted": "the job was accepted; the first event of every job",
    "released": "its turn has come: it is to be sent to the cluster",
    "state": "it has another state from now on",
    "submitted": "the Volcano Job of a run exists",
    "attempt": "it runs again, in the same state",
    "reason": "the reason of its state has changed, and the state has not",
    "progress": "its workers came further; `message` says how far",
    "put-back": "the cluster did not take it yet; it will be tried again",
    "changed": "its priority or its labels were changed; `message` says how",
    "suspend": "its owner suspended it",
    "resume": "its owner let it go on",
    "cancel": "its owner cancelled it",
}
