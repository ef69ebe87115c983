"""What becomes of a job that waits for others: every end of a parent under every condition."""

from uuid import UUID

import pytest

from app.jobs.dependencies import FREE, Condition, Link, Otherwise, Verdict, judge
from app.jobs.states import LIVE, TERMINAL, JobState

ID = UUID("0190a0a0-0000-7000-8000-000000000001")


def link(state: JobState, condition: str = "succeeded", otherwise: str = "fail", place: int = 0) -> Link:
    return Link(place, ID, f"parent-{place}", state, Condition(condition), Otherwise(otherwise))


def test_without_parents_nothing_keeps_it() -> None:
    assert judge([]) == FREE


@pytest.mark.parametrize("state", sorted(LIVE))
@pytest.mark.parametrize("condition", list(Condition))
def test_waits_for_a_parent_that_has_not_ended(state: JobState, condition: str) -> None:
    words = f"The job waits for the job parent-0 ({ID})."
    assert judge([link(state, condition)]) == Verdict(1, None, "WaitingForDependencies", words)


@pytest.mark.parametrize("state", sorted(TERMINAL))
@pytest.mark.parametrize("otherwise", list(Otherwise))
def test_goes_on_after_success_alone_or_any_end(state: JobState, otherwise: str) -> None:
    assert judge([link(state, "finished", otherwise)]) == FREE
    verdict = judge([link(state, "succeeded", otherwise)])
    if state is JobState.SUCCEEDED:
        assert verdict == FREE
    else:
        assert verdict.end == {"fail": "failed", "cancel": "cancelled"}[otherwise]
        assert verdict.reason == "DependencyFailed"
        assert verdict.message == (
            f"The job parent-0 ({ID}) ended as {state}; this one was to run only after its success."
        )


def test_names_the_first_of_many() -> None:
    verdict = judge([link(JobState.SUCCEEDED), link(JobState.RUNNING, place=1), link(JobState.HELD, place=2)])
    assert verdict.open == 2
    assert verdict.message == f"The job waits for 2 jobs that have not ended; the first is parent-1 ({ID})."


def test_does_not_wait_for_others_when_one_has_failed() -> None:
    verdict = judge([link(JobState.RUNNING), link(JobState.LOST, place=1)])
    assert (verdict.end, verdict.open) == (JobState.FAILED, 1)


def test_the_first_failure_decides() -> None:
    verdict = judge([link(JobState.FAILED, otherwise="cancel"), link(JobState.FAILED, place=1)])
    assert verdict.end is JobState.CANCELLED
