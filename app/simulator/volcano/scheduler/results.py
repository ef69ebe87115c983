"""What one session wants done, as plain data."""

from dataclasses import dataclass, field
from typing import Literal

from app.simulator.objects import Object

POD_GROUP_UNSCHEDULABLE = "Unschedulable"
POD_GROUP_SCHEDULED = "Scheduled"


@dataclass(frozen=True, slots=True)
class Event:
    """An event about an object."""

    about: Object
    type: Literal["Normal", "Warning"]
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Bind:
    """A pod to be bound to a node."""

    pod: Object
    node: str


@dataclass(frozen=True, slots=True)
class Eviction:
    """A pod to be deleted so that another one finds room; `reason` is the action that decided so."""

    pod: Object
    group: Object
    reason: str


@dataclass(frozen=True, slots=True)
class PodCondition:
    """PodScheduled=False for a pod that says something else now. The event FailedScheduling goes with it.

    `nominated` is the node on which others make room for the pod, empty when none was evicted for it.
    """

    pod: Object
    reason: str
    message: str
    nominated: str = ""


@dataclass(frozen=True, slots=True)
class JobResult:
    """What becomes of one PodGroup. `status` is None when it stays as it is.

    When the status cannot be written, Volcano leaves out the rest until the next session.
    """

    group: Object
    status: Object | None
    events: tuple[Event, ...]
    conditions: tuple[PodCondition, ...]


@dataclass(frozen=True, slots=True)
class SessionResult:
    """Everything one session wants done. `allocated` names every queue of the snapshot, changed or not."""

    binds: tuple[Bind, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    jobs: tuple[JobResult, ...] = ()
    allocated: dict[str, dict[str, str]] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
