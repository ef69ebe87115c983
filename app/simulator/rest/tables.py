"""How answers are rendered: objects as they are, or rows of a Table, which is what `kubectl get` prints."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from app.simulator.history import Record, encode
from app.simulator.kinds import (
    DEPLOYMENT,
    EVENT,
    JOB,
    NAMESPACE,
    NODE,
    POD,
    POD_GROUP,
    PRIORITY_CLASS,
    QUEUE,
    SERVICE,
    Kind,
)
from app.simulator.objects import Object
from app.simulator.pod_gates import gated_status

Cell = Callable[[Object], Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `wide` ones show with `-o wide` only."""

    name: str
    cell: Cell
    type: str = "string"
    wide: bool = False


def _at(path: str, default: Any = "") -> Cell:
    parts = path.split(".")

    def cell(obj: Object) -> Any:
        value: Any = obj
        for part in parts:
            value = value.get(part) if isinstance(value, dict) else None
        return default if value is None else value

    return cell


def age(obj: Object) -> str:
    """`5s`, `3m`, `2h`, `4d` since the creation."""
    stamp = obj["metadata"].get("creationTimestamp")
    if not stamp:
        return "<unknown>"
    seconds = int((datetime.now(UTC) - datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%S%z")).total_seconds())
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{max(0, seconds)}s"


def _pod_status(pod: Object) -> str:
    if "deletionTimestamp" in pod["metadata"]:
        return "Terminating"
    for status in pod["status"].get("containerStatuses", ()):
        state: Object = next(iter(status.get("state", {}).values()), {})
        if state.get("reason") and state["reason"] != "ContainerCreating":
            return str(state["reason"])
    return gated_status(pod) or str(pod["status"].get("reason") or pod["status"].get("phase", "Pending"))


def _ready(pod: Object) -> str:
    statuses = pod["status"].get("containerStatuses", ())
    return f"{sum(bool(s.get('ready')) for s in statuses)}/{len(pod['spec']['containers'])}"


def _restarts(pod: Object) -> str:
    return str(sum(s.get("restartCount", 0) for s in pod["status"].get("containerStatuses", ())))


def _node_status(node: Object) -> str:
    ready = [c["status"] for c in node.get("status", {}).get("conditions", ()) if c["type"] == "Ready"]
    return "Ready" if ready == ["True"] else "NotReady"


def _replicas(deployment: Object) -> str:
    return f"{deployment['status'].get('readyReplicas', 0)}/{deployment['spec'].get('replicas', 0)}"


_NAME = Column("Name", _at("metadata.name"))
_AGE = Column("Age", age)
_COLUMNS: dict[Kind, tuple[Column, ...]] = {
    POD: (
        Column("Ready", _ready),
        Column("Status", _pod_status),
        Column("Restarts", _restarts),
        _AGE,
        Column("IP", _at("status.podIP", "<none>"), wide=True),
        Column("Node", _at("spec.nodeName", "<none>"), wide=True),
    ),
    NODE: (Column("Status", _node_status), _AGE, Column("Version", _at("status.nodeInfo.kubeletVersion"))),
    NAMESPACE: (Column("Status", _at("status.phase")), _AGE),
    EVENT: (
        Column("Last Seen", age),
        Column("Type", _at("type")),
        Column("Reason", _at("reason")),
        Column("Object", lambda e: f"{_at('involvedObject.kind')(e).lower()}/{_at('involvedObject.name')(e)}"),
        Column("Message", lambda e: str(e.get("message", "")).strip()),
    ),
    SERVICE: (Column("Type", _at("spec.type")), Column("Cluster-IP", _at("spec.clusterIP", "<none>")), _AGE),
    DEPLOYMENT: (Column("Ready", _replicas), Column("Available", _at("status.availableReplicas", 0), "integer"), _AGE),
    PRIORITY_CLASS: (
        Column("Value", _at("value", 0), "integer"),
        Column("Global-Default", _at("globalDefault", default=False), "boolean"),
        _AGE,
    ),
    # Volcano's printer columns (volcano-facts 1.1).
    JOB: (
        Column("STATUS", _at("status.state.phase")),
        Column("minAvailable", _at("status.minAvailable", None), "integer"),
        Column("RUNNINGS", _at("status.running", None), "integer"),
        _AGE,
        Column("QUEUE", _at("spec.queue"), wide=True),
    ),
    POD_GROUP: (
        Column("STATUS", _at("status.phase")),
        Column("minMember", _at("spec.minMember", None), "integer"),
        Column("RUNNINGS", _at("status.running", None), "integer"),
        _AGE,
        Column("QUEUE", _at("spec.queue"), wide=True),
    ),
    QUEUE: (Column("PARENT", _at("spec.parent")),),
}


def columns(kind: Kind) -> tuple[Column, ...]:
    """The columns of a kind; every kind has at least its age, and all but events have their name."""
    if kind is EVENT:
        return _COLUMNS[EVENT]
    return (_NAME, *_COLUMNS.get(kind, (_AGE,)))


@dataclass(slots=True)
class Rendering:
    """How one answer shows objects. `table` is None for plain objects."""

    kind: Kind
    table: tuple[Column, ...] | None = None
    include: str = "Metadata"
    headed: bool = field(default=False)

    def one(self, record: Record) -> bytes:
        """An object, or a Table with one row. In a watch only the first Table has a head."""
        if self.table is None:
            return record.encoded
        head, self.headed = not self.headed, True
        return encode(self._table([record], {"resourceVersion": str(record.version)}, head=head))

    def many(self, records: Sequence[Record], metadata: Object) -> bytes:
        """A list."""
        if self.table is not None:
            return encode(self._table(records, metadata, head=True))
        head = {"kind": f"{self.kind.name}List", "apiVersion": self.kind.api_version, "metadata": metadata}
        custom = self.kind.custom
        items = b",".join([record.encoded if custom else record.encoded_item for record in records])
        return encode(head)[:-1] + b',"items":[' + items + b"]}"

    def _table(self, records: Sequence[Record], metadata: Object, *, head: bool) -> Object:
        table = self.table or ()
        names = [
            {
                "name": c.name,
                "type": c.type,
                "format": "name" if c is _NAME else "",
                "description": c.name,
                "priority": int(c.wide),
            }
            for c in table
        ]
        rows = [{"cells": [c.cell(r.object) for c in table], "object": self._included(r.object)} for r in records]
        return {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "columnDefinitions": names if head else None,
            "rows": rows,
        }

    def _included(self, obj: Object) -> Object | None:
        if self.include == "None":
            return None
        if self.include == "Object":
            return obj
        return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


def rendering(kind: Kind, accept: str, query: Mapping[str, str]) -> Rendering:
    """The rendering that the `Accept` header asks for, the first that this server has."""
    for media_type in accept.split(","):
        parameters = {part.strip() for part in media_type.split(";")}
        if {"as=Table", "g=meta.k8s.io", "v=v1", "application/json"} <= parameters:
            return Rendering(kind, columns(kind), query.get("includeObject", "Metadata"))
        if parameters == {"application/json"}:
            break
    return Rendering(kind)
