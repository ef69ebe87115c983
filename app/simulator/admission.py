"""What may change or refuse a write before it is stored."""

from typing import Literal, Protocol

from app.simulator.kinds import PRIORITY_CLASS, Kind
from app.simulator.objects import Object
from app.simulator.refusals import forbidden
from app.simulator.store import Store

Operation = Literal["CREATE", "UPDATE", "DELETE"]


class Admission(Protocol):
    """Webhooks. Both methods refuse with `ApiError` 400, whose text names the webhook."""

    def mutate(self, operation: Operation, kind: Kind, old: Object | None, new: Object) -> Object:
        """The object to store; runs before the schema is checked. `new` may be changed in place."""
        ...

    def validate(self, operation: Operation, kind: Kind, old: Object | None, new: Object | None) -> None:
        """Refuse or stay silent; runs after the schema is checked. `new` is None on DELETE."""
        ...


class NoAdmission:
    """A cluster without webhooks."""

    def mutate(self, operation: Operation, kind: Kind, old: Object | None, new: Object) -> Object:
        """Change nothing."""
        return new

    def validate(self, operation: Operation, kind: Kind, old: Object | None, new: Object | None) -> None:
        """Refuse nothing."""


def resolve_priority(store: Store, pod_kind: Kind, pod: Object) -> None:
    """The Priority admission plugin: write a new pod's number from its class, or the cluster's default, or 0.

    Raises:
        ApiError: 403 when there is no such class.
    """
    spec = pod["spec"]
    name = spec.get("priorityClassName")
    found = _class_of(store, name)
    if found is None and name:
        raise forbidden(pod_kind, pod["metadata"].get("name") or "", f"no PriorityClass with name {name} was found")
    if found is not None:
        spec["priorityClassName"] = found["metadata"]["name"]
    spec["priority"] = found.get("value", 0) if found else 0
    spec["preemptionPolicy"] = (found or {}).get("preemptionPolicy", "PreemptLowerPriority")


def _class_of(store: Store, name: str | None) -> Object | None:
    if name:
        record = store.get(PRIORITY_CLASS, ("", name))
        return record.object if record else None
    defaults = (r.object for r in store.records(PRIORITY_CLASS) if r.object.get("globalDefault"))
    return next(defaults, None)
