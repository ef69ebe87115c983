"""Bodies about teams and their quotas."""

from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, Field
from pydantic_core import PydanticCustomError

from app.names import DnsLabel, DnsSubdomain, fault_in_extended_resource
from app.schema_base import RequestBody, ResponseBody, Whole
from app.teams.quota import Limit, OnOverQuota, Quota

_RESERVED_TEAMS = frozenset({"admin", "me", "default", "root", "all", "none", "null", "pumice", "volcano"})
_RESERVED_BEGINNINGS = ("system", "kube-")
_FOREIGN_NAMESPACES = frozenset({"volcano-system", "volcano-monitoring"})

MAX_QUEUES = 100
MAX_RESOURCES = 64
MAX_AMOUNT = 2**31 - 1


def _free_team_name(name: str) -> str:
    if name in _RESERVED_TEAMS or name.startswith(_RESERVED_BEGINNINGS):
        raise PydanticCustomError("reserved-name", "This name is reserved")
    return name


def _free_namespace(namespace: str) -> str:
    if namespace.startswith("kube-") or namespace in _FOREIGN_NAMESPACES:
        raise PydanticCustomError("reserved-name", "This namespace belongs to Kubernetes or Volcano")
    return namespace


def _once(names: list[str]) -> list[str]:
    if len(set(names)) != len(names):
        raise PydanticCustomError("duplicate", "A queue stands here twice")
    return names


def _resource(name: str) -> str:
    fault = fault_in_extended_resource(name)
    if fault is not None:
        raise PydanticCustomError("resource-name", "{fault}", {"fault": fault})
    return name


TeamName = Annotated[DnsLabel, AfterValidator(_free_team_name)]
Namespace = Annotated[DnsLabel, AfterValidator(_free_namespace)]
QueueNames = Annotated[list[DnsSubdomain], Field(max_length=MAX_QUEUES), AfterValidator(_once)]
Amount = Annotated[Whole, Field(ge=0, le=MAX_AMOUNT)]
ResourceName = Annotated[str, AfterValidator(_resource)]


class TeamCreate(RequestBody):
    """A team to be made."""

    name: TeamName
    namespace: Namespace = Field(description="Kubernetes namespace of the team's jobs; no two teams share one")
    queues: QueueNames = Field(default_factory=list, description="Queues that the team may use")
    default_queue: DnsSubdomain | None = Field(
        default=None, description="Queue of jobs that name none; the only queue when there is one"
    )


class TeamPatch(RequestBody):
    """Changes of a team. What is left out stays as it is."""

    queues: QueueNames | None = Field(default=None, description="All queues that the team may use from now on")
    default_queue: DnsSubdomain | None = Field(default=None, description="Null for the only queue, or none")


class TeamRead(ResponseBody):
    """A team."""

    name: str
    namespace: str
    queues: list[str]
    default_queue: str | None
    created_at: AwareDatetime
    updated_at: AwareDatetime


class LimitBody(RequestBody):
    """Limits on one resource, in whole pieces; null is no limit."""

    per_job: Amount | None = Field(default=None, description="Of one job, over all its replicas")
    outstanding: Amount | None = Field(default=None, description="Of all the team's jobs that have not ended")


class QuotaPut(RequestBody):
    """A team's whole quota. A resource without an entry is not allowed."""

    limits: Annotated[dict[ResourceName, LimitBody], Field(max_length=MAX_RESOURCES)] = Field(default_factory=dict)
    max_jobs: Amount | None = Field(default=None, description="Jobs that have not ended")
    on_over_quota: OnOverQuota = OnOverQuota.REJECT

    def quota(self) -> Quota:
        """The same as the arithmetic takes it."""
        limits = {name: Limit(limit.per_job, limit.outstanding) for name, limit in self.limits.items()}
        return Quota(limits, self.max_jobs, self.on_over_quota)


class LimitRead(ResponseBody):
    """Limits on one resource; null is no limit."""

    per_job: int | None
    outstanding: int | None


class Usage(ResponseBody):
    """What is left of a limit; without a limit, `limit` and `available` are null. `available` is never negative."""

    limit: int | None
    used: int
    available: int | None


class QuotaRead(ResponseBody):
    """A team's quota, and what is in use of it."""

    limits: dict[str, LimitRead]
    max_jobs: int | None
    on_over_quota: OnOverQuota
    usage: dict[str, Usage] = Field(description="Every resource that has a limit or is in use")
    jobs: Usage
    as_of: AwareDatetime
    updated_at: AwareDatetime | None = Field(description="Null until a quota is first put")
    updated_by: str | None
