"""Bodies about queues."""

from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from app.names import DnsSubdomain
from app.schema_base import Flag, RequestBody, ResponseBody, Whole

ROOT = "root"
"""Volcano's own queue above all others."""

_RESERVED = frozenset({"default", ROOT})
_MAX_RESOURCES = 64


def _free_queue_name(name: str) -> str:
    if name in _RESERVED:
        raise PydanticCustomError("reserved-name", "This queue is Volcano's own")
    return name


def _amount(given: Any) -> Any:
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise PydanticCustomError("quantity", "A quantity is a text or a whole number")
    return given


Amount = Annotated[
    Any,
    BeforeValidator(_amount),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "A Kubernetes quantity"}),
]
Amounts = Annotated[dict[str, Amount], Field(max_length=_MAX_RESOURCES)]
Parent = Annotated[DnsSubdomain, AfterValidator(lambda name: None if name == ROOT else name)]
QueueName = Annotated[DnsSubdomain, AfterValidator(_free_queue_name)]
Weight = Annotated[Whole, Field(ge=1, le=65535)]


class QueueCreate(RequestBody):
    """A queue to be made. A resource that the capability does not name is not limited by the queue."""

    name: QueueName
    weight: Weight = Field(default=1, description="Share against other queues, when all want more than there is")
    capability: Amounts = Field(default_factory=dict, description="What the queue can never exceed")
    deserved: Amounts = Field(default_factory=dict, description="Share under the capacity plugin")
    guarantee: Amounts = Field(default_factory=dict, description="Kept free for this queue alone")
    reclaimable: Flag = Field(default=True, description="Whether other queues may take back what is above its share")
    parent: Parent | None = Field(default=None, description="Null is directly under Volcano's root")


class QueuePatch(RequestBody):
    """Changes of a queue. What is left out stays as it is; a map that is given replaces the old one."""

    weight: Weight | None = None
    capability: Amounts | None = None
    deserved: Amounts | None = None
    guarantee: Amounts | None = None
    reclaimable: Flag | None = None
    parent: Parent | None = Field(default=None, description="Null is directly under Volcano's root")


class PodGroupCounts(ResponseBody):
    """Volcano's PodGroups in the queue, by phase."""

    pending: int = 0
    inqueue: int = 0
    running: int = 0
    unknown: int = 0


class QueueObserved(ResponseBody):
    """What was last seen of the queue in the cluster."""

    state: str = Field(description="Open, Closed, Closing or Unknown, as Volcano says")
    allocated: dict[str, str] = Field(description="What its pods hold, as Volcano says")
    pod_groups: PodGroupCounts = Field(description="Counted from PodGroups; Volcano keeps no such counts since v1.11")
    drift: dict[str, Any] = Field(description="Where Volcano's `allocated` differs from the sum over the pods")
    as_of: AwareDatetime


class QueueRead(ResponseBody):
    """A queue as it is wanted, and as it was last seen."""

    name: str
    weight: int
    capability: dict[str, str]
    deserved: dict[str, str]
    guarantee: dict[str, str]
    reclaimable: bool
    parent: str | None
    generation: int = Field(description="Goes up with each change of what is wanted")
    problem: str | None = Field(description="Volcano's own words when it refused this queue")
    observed: QueueObserved | None = Field(description="Null until the queue was seen in the cluster")
    created_at: AwareDatetime
    updated_at: AwareDatetime
