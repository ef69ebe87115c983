import pytest

from app.jobs.states import LIVE, MOVES, TERMINAL, JobState, after_cancel, after_suspend, can_move, sources_of

# the diagram of docs/architecture.md, one line an arrow
ARROWS = """
held submitting
held suspended
held cancelled
held failed
submitting held
submitting pending
submitting running
submitting succeeded
submitting failed
submitting lost
submitting cancelling
submitting suspending
pending held
pending running
pending succeeded
pending failed
pending lost
pending cancelling
pending suspending
running held
running pending
running succeeded
running failed
running lost
running cancelling
running suspending
suspending suspended
suspending cancelling
suspending succeeded
suspending failed
suspending lost
suspended held
suspended cancelling
suspended cancelled
suspended failed
cancelling cancelled
"""


def test_the_moves_are_exactly_those_of_the_diagram() -> None:
    drawn = {tuple(map(JobState, line.split())) for line in ARROWS.split("\n") if line}
    assert {(source, target) for source, targets in MOVES.items() for target in targets} == drawn


def test_every_state_has_a_line_and_is_live_or_terminal() -> None:
    assert set(MOVES) == set(JobState) == LIVE | TERMINAL
    assert not LIVE & TERMINAL


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_terminal_states_never_change(state: JobState) -> None:
    assert not any(can_move(state, target) for target in JobState)


@pytest.mark.parametrize("state", sorted(LIVE))
def test_every_live_state_can_be_cancelled_or_is_being(state: JobState) -> None:
    assert state is JobState.CANCELLING or can_move(state, after_cancel(state))


@pytest.mark.parametrize("target", sorted(JobState))
def test_sources_are_the_moves_read_backwards(target: JobState) -> None:
    assert sources_of(target) == {source for source in JobState if can_move(source, target)}


@pytest.mark.parametrize(
    ("state", "target"),
    [
        *((state, JobState.SUSPENDED) for state in (JobState.HELD, JobState.SUSPENDED)),
        *((state, JobState.SUSPENDING) for state in (JobState.SUBMITTING, JobState.PENDING, JobState.RUNNING)),
    ],
)
def test_what_never_reached_the_cluster_is_suspended_at_once(state: JobState, target: JobState) -> None:
    assert after_suspend(state) is target
    assert state is target or can_move(state, target)
