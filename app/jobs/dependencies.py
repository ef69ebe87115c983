"""What becomes of a job that waits for others, from what these have come to. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from app.jobs.states import TERMINAL, JobState

WAITING_FOR_DEPENDENCIES = "WaitingForDependencies"
DEPENDENCY_FAILED = "DependencyFailed"


class Condition(StrEnum):
    """What a job asks of another one before it runs."""

    SUCCEEDED = "succeeded"
    FINISHED = "finished"  # in whichever way


class Otherwise(StrEnum):
    """What becomes of a job when another one did not meet its condition."""

    FAIL = "fail"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Link:
    """One job that another one waits for, as it is now."""

    place: int
    parent_id: UUID
    parent_name: str
    parent_state: JobState
    condition: Condition
    otherwise: Otherwise

    @property
    def open(self) -> bool:
        """Whether the parent has not ended."""
        return self.parent_state not in TERMINAL

    @property
    def broken(self) -> bool:
        """Whether the parent has ended, and not as it was to: this can never be mended, as an end never changes."""
        return not self.open and self.condition is Condition.SUCCEEDED and self.parent_state is not JobState.SUCCEEDED


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the jobs that one waits for make of it.

    Attributes:
        open: how many of them have not ended.
        end: the state in which it ends because of them; None while it may still run.
        reason: one word, None when nothing keeps it.
    """

    open: int = 0
    end: JobState | None = None
    reason: str | None = None
    message: str | None = None


FREE = Verdict()
"""Of a job that waits for no other."""

_ENDS = {Otherwise.FAIL: JobState.FAILED, Otherwise.CANCEL: JobState.CANCELLED}


def judge(links: Sequence[Link]) -> Verdict:
    """Decide about a job.

    Args:
        links: in the order of its `after`; those that were met before may be left out. Of several that are broken the
            first decides.
    """
    open_links = [link for link in links if link.open]
    for link in links:
        if link.broken:
            return Verdict(len(open_links), _ENDS[link.otherwise], DEPENDENCY_FAILED, _why_ended(link))
    if open_links:
        return Verdict(len(open_links), None, WAITING_FOR_DEPENDENCIES, _why_waiting(open_links))
    return FREE


def still_waiting(open_parents: int) -> str:
    """Why a job waits, as far as its own row tells."""
    jobs = "a job that has" if open_parents == 1 else f"{open_parents} jobs that have"
    return f"The job waits for {jobs} not ended."


def _why_ended(link: Link) -> str:
    return (
        f"The job {link.parent_name} ({link.parent_id}) ended as {link.parent_state}; "
        "this one was to run only after its success."
    )


def _why_waiting(open_links: Sequence[Link]) -> str:
    first = open_links[0]
    named = f"{first.parent_name} ({first.parent_id})"
    if len(open_links) == 1:
        return f"The job waits for the job {named}."
    return f"The job waits for {len(open_links)} jobs that have not ended; the first is {named}."
