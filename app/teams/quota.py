"""What a team may submit, as arithmetic on whole numbers. No I/O.

Counted are extended resources (`nvidia.com/gpu`, ...) and the number of jobs. Processors and memory are not: Volcano's
queues share those out. A resource that a job asks for and the quota does not name is not allowed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from app.errors import AppError, JobNeverFits, QuotaExceeded

JOB_COUNT = "count/jobs"
"""The name under which usage counts jobs; Kubernetes' ResourceQuota writes object counts the same way."""


class OnOverQuota(StrEnum):
    """What becomes of a job that does not fit now: refused, or accepted and held until it fits."""

    REJECT = "reject"
    HOLD = "hold"


class QuotaVerdict(StrEnum):
    """Whether a job fits: now, not now, or with these limits never."""

    FITS = "fits"
    EXCEEDED = "exceeded"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Limit:
    """Limits on one resource in whole pieces; None is no limit."""

    per_job: int | None = None
    outstanding: int | None = None

    @property
    def largest_job(self) -> int | None:
        """The largest amount that one job can ever get."""
        limits = [limit for limit in (self.per_job, self.outstanding) if limit is not None]
        return min(limits, default=None)


@dataclass(frozen=True, slots=True)
class Quota:
    """A team's limits. A team without a quota has this class's defaults: no extended resource at all."""

    limits: Mapping[str, Limit] = field(default_factory=dict)
    max_jobs: int | None = None
    on_over_quota: OnOverQuota = OnOverQuota.REJECT

    @classmethod
    def stored(cls, limits: Mapping[str, Mapping[str, int | None]], max_jobs: int | None, on_over_quota: str) -> Self:
        """Read the columns of a row of `team_quotas`."""
        read = {name: Limit(limit.get("per_job"), limit.get("outstanding")) for name, limit in limits.items()}
        return cls(read, max_jobs, OnOverQuota(on_over_quota))


@dataclass(frozen=True, slots=True)
class Shortage:
    """One resource of which there is too little: the limit, what is in use of it, and what the job asks for."""

    resource: str
    limit: int
    used: int
    requested: int


@dataclass(frozen=True, slots=True)
class QuotaDecision:
    """The verdict on one job, with everything that it lacks (empty when it fits)."""

    verdict: QuotaVerdict
    shortages: tuple[Shortage, ...] = ()

    @property
    def sentence(self) -> str:
        """What is short, with the numbers; empty when the job fits."""
        if self.verdict is QuotaVerdict.NEVER:
            parts = [f"{_amount(s.requested, s.resource)}, at most {s.limit} are allowed" for s in self.shortages]
            return f"The job can never fit the team's quota: it asks for {'; and for '.join(parts)}."
        if self.verdict is QuotaVerdict.EXCEEDED:
            parts = [
                f"{_amount(s.requested, s.resource)} while {s.used} of {s.limit} are in use" for s in self.shortages
            ]
            return f"The job does not fit the team's quota now: it asks for {'; and for '.join(parts)}."
        return ""

    def refusal(self) -> AppError:
        """The error that tells the caller so; only for a job that does not fit.

        Raises:
            ValueError: the job fits.
        """
        if not self.shortages:
            raise ValueError("The job fits.")
        first = self.shortages[0]
        if self.verdict is QuotaVerdict.NEVER:
            return JobNeverFits(self.sentence, resource=first.resource, limit=first.limit, requested=first.requested)
        return QuotaExceeded(
            self.sentence, resource=first.resource, limit=first.limit, used=first.used, requested=first.requested
        )


def is_counted(resource: str) -> bool:
    """Whether quotas count a resource: extended resources have a domain (Kubernetes docs, "Extended resources")."""
    return "/" in resource


def check(quota: Quota, used: Mapping[str, int], charges: Mapping[str, int]) -> QuotaDecision:
    """Decide whether a job fits a team's quota.

    Args:
        quota: the team's limits.
        used: what the team's outstanding jobs add up to, per resource name; the number of jobs under `JOB_COUNT`.
        charges: what this job asks for over all its replicas, per resource name, in whole pieces.

    Returns:
        `never` when the job is above a limit even with nothing else outstanding, else `exceeded` when it does not fit
        beside what is outstanding, else `fits`. All resources that are short are named, in the order of their names,
        the number of jobs last.
    """
    never = tuple(_above_limits(quota, used, charges))
    if never:
        return QuotaDecision(QuotaVerdict.NEVER, never)
    exceeded = tuple(_above_room(quota, used, charges))
    if exceeded:
        return QuotaDecision(QuotaVerdict.EXCEEDED, exceeded)
    return QuotaDecision(QuotaVerdict.FITS)


def available(limit: int | None, used: int) -> int | None:
    """What is left of a limit, never below zero (a limit may be lowered below what is in use); None is no limit."""
    return None if limit is None else max(0, limit - used)


def _counted(charges: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    return ((name, amount) for name, amount in sorted(charges.items()) if amount > 0 and is_counted(name))


def _above_limits(quota: Quota, used: Mapping[str, int], charges: Mapping[str, int]) -> Iterator[Shortage]:
    for resource, requested in _counted(charges):
        entry = quota.limits.get(resource)
        largest = 0 if entry is None else entry.largest_job
        if largest is not None and requested > largest:
            yield Shortage(resource, largest, used.get(resource, 0), requested)
    if quota.max_jobs == 0:
        yield Shortage(JOB_COUNT, 0, used.get(JOB_COUNT, 0), 1)


def _above_room(quota: Quota, used: Mapping[str, int], charges: Mapping[str, int]) -> Iterator[Shortage]:
    for resource, requested in _counted(charges):
        limit = quota.limits[resource].outstanding  # a missing entry was found before
        if limit is not None and used.get(resource, 0) + requested > limit:
            yield Shortage(resource, limit, used.get(resource, 0), requested)
    jobs = used.get(JOB_COUNT, 0)
    if quota.max_jobs is not None and jobs + 1 > quota.max_jobs:
        yield Shortage(JOB_COUNT, quota.max_jobs, jobs, 1)


def _amount(count: int, resource: str) -> str:
    if resource == JOB_COUNT:
        return f"{count} more job" if count == 1 else f"{count} more jobs"
    return f"{count} {resource}"
