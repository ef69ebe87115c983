"""The state machine of a watch, as one pure function.

    EMPTY --list--> LISTED(rv) --watch--> WATCHING(rv)

A clean end or a broken connection leads back to LISTED(rv), where the next watch goes on without a gap. A version that
the server no longer knows, in whatever form it says so, and everything that makes the version doubtful lead to EMPTY,
where a new list is the truth. The idea is that of kube-rs' `watcher.rs`; failures are values with a next state.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.cluster.errors import ClusterError, Expired, Garbled, NotFound, Rejected, RightMissing, from_status

FIRST_BACKOFF_SECONDS = 0.5
LAST_BACKOFF_SECONDS = 30.0

STEADY_SECONDS = 10.0
"""A watch that lived this long was a success, whatever ended it: the back-off starts anew."""


class Phase(StrEnum):
    """What has to be done next."""

    EMPTY = "empty"
    """list."""
    LISTED = "listed"
    """open a watch at the version."""
    WATCHING = "watching"
    """read the next event."""


@dataclass(frozen=True, slots=True)
class State:
    """Where an informer stands.

    Attributes:
        phase: what has to be done next.
        version: the resourceVersion of the last thing seen; "" in EMPTY.
        failures: how often it has failed since the last success; the next pause grows with it.
        fruitful: the open watch has brought at least one event.
    """

    phase: Phase = Phase.EMPTY
    version: str = ""
    failures: int = 0
    fruitful: bool = False


@dataclass(frozen=True, slots=True)
class Listed:
    """A complete list has arrived, all its pages."""

    version: str


@dataclass(frozen=True, slots=True)
class Opened:
    """The server has accepted the watch."""


@dataclass(frozen=True, slots=True)
class Streamed:
    """The watch brought a line."""

    type: str
    object: Mapping[str, Any]
    lasted_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Ended:
    """The server ended the watch in order, as it does after `timeoutSeconds`."""

    lasted_seconds: float


@dataclass(frozen=True, slots=True)
class Failed:
    """A list or a watch failed; a list lasts 0 seconds."""

    error: ClusterError
    lasted_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Outdated:
    """The last complete list is so old that it is read anew, although nothing is known to be wrong with it."""


Event = Listed | Opened | Streamed | Ended | Failed | Outdated


@dataclass(frozen=True, slots=True)
class Apply:
    """Put the object into the cache."""

    object: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Remove:
    """Take the object out of the cache."""

    object: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Skip:
    """Count something that was not understood. `reason` is one of a few fixed words."""

    reason: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait `at_least` seconds and a random part of `up_to` seconds more (full jitter)."""

    at_least: float
    up_to: float


Effect = Apply | Remove | Skip | Wait

Next = tuple[State, tuple[Effect, ...]]


def step(state: State, event: Event) -> Next:
    """Return the state after an event, and what has to be done before the next.

    Args:
        state: where the informer stands.
        event: what happened to the list or the watch that the state asked for.
    """
    match event:
        case Listed(version):
            # Not a success yet: a watch that is refused at the list's own version must not become a tight loop.
            return (State(Phase.LISTED, version, state.failures), ()) if version else _back_off(state, "", "no_version")
        case Outdated():
            return State(Phase.EMPTY, failures=state.failures), ()
        case Opened():
            return State(Phase.WATCHING, state.version, state.failures), ()
        case Streamed():
            return _streamed(state, event)
        case Ended(lasted_seconds):
            return _ended(state, lasted_seconds)
        case Failed(error, lasted_seconds):
            return _failed(state, error, lasted_seconds)


def _ended(state: State, lasted_seconds: float) -> Next:
    if state.fruitful or lasted_seconds >= STEADY_SECONDS:
        return State(Phase.LISTED, state.version), ()
    return _back_off(state, state.version)


def _streamed(state: State, event: Streamed) -> Next:
    if event.type == "ERROR":
        return _failed(state, _error_of(event.object), event.lasted_seconds)
    if event.type not in {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"}:
        return state, (Skip("unknown_type"),)
    metadata = event.object.get("metadata")
    version = metadata.get("resourceVersion") if isinstance(metadata, Mapping) else None
    if not isinstance(version, str) or not version:
        return state, (Skip("strange_object"),)
    if _is_older(version, state.version):
        # A server sends what is newer than what it sent before. If it does not, it is another server with a history of
        # its own, or a proxy mixes answers up: only a list tells what is true.
        return _back_off(state, "", "out_of_order")
    moved = State(Phase.WATCHING, version, state.failures, fruitful=True)
    if event.type == "BOOKMARK":
        return moved, ()
    return moved, (Remove(event.object) if event.type == "DELETED" else Apply(event.object),)


def _failed(state: State, error: ClusterError, lasted_seconds: float) -> Next:
    steady = lasted_seconds >= STEADY_SECONDS
    # A refusal may be about the version itself (400 for one that this server cannot read), and where only the watch is
    # refused, lists are the one way to know anything.
    relist = isinstance(error, Expired | Garbled | NotFound | Rejected | RightMissing)
    # Only time proves that a list was worth it: events do not, or a server that sends one event and then a 410 would be
    # listed without a pause. To go on with the watch is cheap, so there one event is enough.
    failures = 0 if steady or (state.fruitful and not relist) else state.failures
    if isinstance(error, Expired) and not failures:
        return State(Phase.EMPTY, failures=1), ()  # at once: nothing is wrong, we were only away for long
    before = State(state.phase, state.version, failures)
    return _back_off(before, "" if relist else state.version, at_least=error.retry_after_seconds or 0.0)


def _back_off(state: State, version: str, skipped: str | None = None, at_least: float = 0.0) -> Next:
    failures = state.failures + 1
    effects: tuple[Effect, ...] = (_wait(failures, at_least),)
    if skipped:
        effects = (Skip(skipped), *effects)
    return State(Phase.LISTED if version else Phase.EMPTY, version, failures), effects


def _wait(failures: int, at_least: float = 0.0) -> Wait:
    # The exponent is bounded, or a week of failures would compute 2**20000.
    return Wait(at_least, min(LAST_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2 ** min(failures - 1, 10)))


def _error_of(status: Mapping[str, Any]) -> ClusterError:
    """Read the Status object of an ERROR event; one without a code counts as trouble of the server."""
    code = status.get("code")
    return from_status(code if isinstance(code, int) else 500, status)


def _is_older(version: str, than: str) -> bool:
    """Compare two versions of one resource type (comparable as numbers since KEP-5504; others are let pass)."""
    if not (version.isascii() and version.isdecimal() and than.isascii() and than.isdecimal()):
        return False
    return (len(version.lstrip("0")), version.lstrip("0")) < (len(than.lstrip("0")), than.lstrip("0"))
