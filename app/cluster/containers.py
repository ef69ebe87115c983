"""The containers of one pod as far as their logs are concerned. Pure (Kubernetes docs, "Pod Lifecycle")."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from app.cluster import fields

Fields = Mapping[str, Any]

_STATUSES = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_OVER = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class PodReference:
    """One pod and no other of the same name: Volcano gives the pods of each run the same names."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What to read of a container's log.

    Attributes:
        follow: go on while the container runs.
        previous: of the run before the container's last restart in place.
        tail: so many lines at the end; None is everything.
        since: nothing older, by whole seconds.
    """

    container: str
    follow: bool = False
    previous: bool = False
    tail: int | None = None
    since: datetime | None = None


class Stage(StrEnum):
    """Where a container is in its life."""

    WAITING = "waiting"
    RUNNING = "running"
    RESTARTING = "restarting"  # between two runs; the log is that of the last one
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Container:
    """One container.

    Attributes:
        reason: why it waits or how it ended; "" when nothing was said.
        has_previous: it was restarted in place, and the run before can be read.
    """

    name: str
    stage: Stage
    reason: str = ""
    has_previous: bool = False


def containers_of(pod: Fields) -> tuple[Container, ...]:
    """The containers of a pod: init containers, its own, and those attached for debugging."""
    spec, status = fields.mapping(pod, "spec"), fields.mapping(pod, "status")
    names = [fields.text(each.get("name")) for kind in _CONTAINERS for each in fields.mappings(spec.get(kind))]
    known = {fields.text(each.get("name")): each for kind in _STATUSES for each in fields.mappings(status.get(kind))}
    return tuple(_container(name, known.get(name, {}), spec, status) for name in names)


def _container(name: str, seen: Fields, spec: Fields, status: Fields) -> Container:
    waiting, running, ended = (fields.mapping(seen, "state", stage) for stage in ("waiting", "running", "terminated"))
    before = bool(fields.mapping(seen, "lastState", "terminated"))
    over = fields.text(status.get("phase")) in _OVER
    if running:
        return Container(name, Stage.RUNNING, "", before)
    if ended or before:
        final = over or (bool(ended) and spec.get("restartPolicy") == "Never")
        reason = fields.text((ended or waiting).get("reason"))
        return Container(name, Stage.ENDED if final else Stage.RESTARTING, reason, before)
    if over:
        return Container(name, Stage.ENDED, fields.text(status.get("reason")))
    reason = fields.text(waiting.get("reason")) or ("ContainerCreating" if spec.get("nodeName") else "Unscheduled")
    return Container(name, Stage.WAITING, reason)
