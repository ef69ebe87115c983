"""Names of what is sent: an event of a job's history as a type in the form of Standard Webhooks. Pure."""

from app.jobs.states import TERMINAL, JobState

PING = "ping"
"""Type of the message that `test` sends; it is about no job."""

_BESIDE_STATES = (
    *("accepted", "released", "submitted", "attempt", "reason", "put-back"),
    *("cancel", "suspend", "resume", "progress", "changed"),
)
"""Events that leave the state as it is, or say more than it does."""

_NEVER_AN_END = frozenset({"attempt", "reason", "progress", "changed"})


def type_of(event: str, state: str) -> str:
    """The type of an event.

    An end is always called by its state (`job.succeeded`), whatever brought it about, so that nobody who waits for it
    misses one; so is every plain change of the state. The rest has the event's own name (`job.attempt`).
    """
    ended = state in TERMINAL and event not in _NEVER_AN_END
    name = state if ended or event == "state" else event
    return f"job.{name.replace('-', '_')}"


KNOWN_TYPES = tuple(
    sorted({f"job.{state}" for state in JobState} | {f"job.{event.replace('-', '_')}" for event in _BESIDE_STATES})
)
"""Everything that an endpoint may ask for. Events that a later release adds are sent to endpoints that ask for all."""
