"""What a submission says about other jobs, made into links to them. Pure, but for `read`."""

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from app.errors import Invalid, ValidationError
from app.jobs import dependency_store
from app.jobs.dependencies import Link
from app.jobs.dependency_store import Parent
from app.jobs.schemas import After, JobCreate
from app.prepared import Driver
from app.validation import invalid


async def read(driver: Driver, team: str, spec: JobCreate) -> list[Link]:
    """Links to the jobs that a submission names, none of which can end unseen until the transaction ends.

    Raises:
        ValidationError: see `links_of`.
    """
    if not spec.after:
        return []
    return links_of(spec.after, await dependency_store.read_parents(driver, team, {one.job for one in spec.after}))


def links_of(after: Sequence[After], parents: Mapping[UUID, Parent]) -> list[Link]:
    """Links to the jobs that are named.

    Raises:
        ValidationError: some are not among `parents`; whether another team has them is not said.
    """
    faults = list(_unknown(after, parents))
    if faults:
        raise ValidationError(faults)
    return [
        Link(place, one.job, parents[one.job].name, parents[one.job].state, one.condition, one.otherwise)
        for place, one in enumerate(after)
    ]


def _unknown(after: Sequence[After], parents: Mapping[UUID, Parent]) -> Iterator[Invalid]:
    for place, one in enumerate(after):
        if one.job not in parents:
            yield invalid(("after", place, "job"), "The team has no such job", "unknown-job")
