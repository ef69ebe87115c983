"""What holds of every decision, whatever the row and the cluster say."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from app.cluster.observed import Counts as StatusCounts
from app.cluster.observed import ObservedJob, ObservedPodGroup
from app.controller.decide import decide
from app.controller.facts import KNOWN_PHASES, Absence, Action, Counts, JobFacts, PodFacts, Situation
from app.controller.plan import JobPlan, Rule, TaskPlan
from app.jobs.states import LIVE, TERMINAL, Desired, Ending, JobState, can_move

NOW = datetime(2030, 1, 1, tzinfo=UTC)
REPLICAS = 3

times = st.integers(-200, 60).map(lambda seconds: NOW + timedelta(seconds=seconds))
past = st.integers(-200, 0).map(lambda seconds: NOW + timedelta(seconds=seconds))
small = st.integers(0, 4)
texts = st.sampled_from([None, "OOMKilled", "Evicted", "Killed", "words"])


@st.composite
def counts(draw: Any) -> Counts:
    left, drawn = REPLICAS, []
    for _ in range(4):
        drawn.append(draw(st.integers(0, left)))
        left -= drawn[-1]
    return Counts(*drawn)


plans = st.builds(
    JobPlan,
    tasks=st.builds(lambda at_a_time: (TaskPlan("worker", range(REPLICAS), at_a_time),), st.integers(1, REPLICAS)),
    independent=st.booleans(),
    retries=st.integers(0, 2),
    rules=st.sampled_from(
        [
            (),
            (Rule(frozenset({1}), frozenset(), "restart_task"),),
            (Rule(frozenset(), frozenset({"OOMKilled"}), "restart_job"),),
            (Rule(frozenset(), frozenset({"Disrupted", "Error"}), "fail"),),
        ]
    ),
    run_timeout_seconds=st.sampled_from([None, 1, 10_000]),
)


@st.composite
def jobs(draw: Any) -> JobFacts:
    state = draw(st.sampled_from(JobState))
    desired = Desired.CANCEL if state is JobState.CANCELLING else Desired.RUN
    if state in {JobState.SUSPENDING, JobState.SUSPENDED}:
        desired = draw(st.sampled_from([Desired.SUSPEND, Desired.RUN]))
    ending = st.sampled_from([None, None, *Ending]) if state in {JobState.PENDING, JobState.RUNNING} else st.none()
    return JobFacts(
        id=UUID(int=1),
        team="t",
        queue="q",
        k8s_namespace="n",
        k8s_name="a",
        desired=desired,
        state=state,
        reason=draw(texts),
        message=draw(texts),
        counts=draw(counts()),
        replicas=REPLICAS,
        min_available=draw(st.integers(1, REPLICAS)),
        min_success=draw(st.sampled_from([None, 1, 3])),
        attempt=draw(small),
        k8s_uid=draw(st.sampled_from([None, "uid"])),
        lock_expires_at=draw(st.none() | times),
        submitted_at=draw(st.none() | past),
        started_at=draw(st.none() | past),
        ended_at=draw(past) if state in TERMINAL else None,
        recorded_at=None,
        cleaned_at=draw(st.none() | past),
        plan=draw(plans),
        attempt_base=draw(st.integers(0, 2)),
        run_indices=draw(st.sampled_from([None, {"worker": [0, 2]}])),
        ending=draw(ending),
        retries=draw(st.integers(0, 2)),
        run_started_at=draw(st.none() | past),
        ran_seconds=draw(st.sampled_from([0.0, 50.0])),
        queue_deadline_at=draw(st.none() | times),
    )


volcano_jobs = st.builds(
    ObservedJob,
    uid=st.just("uid"),
    phase=st.sampled_from([*sorted(KNOWN_PHASES), "Strange"]),
    retry_count=small,
    counts=st.builds(StatusCounts, succeeded=small, failed=small),
    finalizers=st.sampled_from([(), ("pumice.dev/recorded",)]),
    created_at=st.none() | times,
    last_transition_at=st.none(),
)
pods = st.builds(
    PodFacts,
    uid=st.uuids().map(str),
    name=st.integers(0, REPLICAS).map(lambda index: f"a-worker-{index}"),
    task=st.just("worker"),
    index=st.integers(0, REPLICAS - 1),
    exit_code=st.sampled_from([None, 1, 137]),
    gates=st.sampled_from([(), ("pumice.dev/turn",)]),
    phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "Unknown", ""]),
    attempt=st.integers(1, 4),
    created_at=times,
    started_at=st.none() | times,
    ended_at=st.none() | times,
    reason=texts,
    message=texts,
    resources=st.just({}),
)
situations = st.builds(
    Situation,
    job=jobs(),
    now=st.just(NOW),
    volcano_job=st.none() | volcano_jobs,
    absence=st.sampled_from(Absence),
    pods=st.lists(pods, max_size=5).map(tuple),
    pods_complete=st.booleans(),
    pod_group=st.none()
    | st.builds(ObservedPodGroup, phase=st.sampled_from(["", "Pending", "Running"]), condition_at=st.none()),
    queue_state=st.sampled_from([None, "", "Open", "Closed"]),
    commanded_at=st.none() | past,
    commands=st.integers(0, 40),
    retention_seconds=st.sampled_from([0.0, 600.0]),
)


@given(situations)
def test_a_terminal_state_and_all_that_was_said_with_it_never_change(situation: Situation) -> None:
    decision = decide(situation)
    if situation.job.ended:
        said = ("state", "reason", "message", "counts", "attempt", "started_at", "ended_at")
        assert {name: getattr(decision, name) for name in said} == {name: getattr(situation.job, name) for name in said}


@given(situations)
def test_every_move_is_one_of_the_table(situation: Situation) -> None:
    decision = decide(situation)
    assert decision.state == situation.job.state or can_move(situation.job.state, decision.state)


@given(situations)
def test_counts_never_fall_for_succeeded_and_never_exceed_the_replicas(situation: Situation) -> None:
    decision = decide(situation)
    assert decision.counts.succeeded >= situation.job.counts.succeeded
    assert sum(decision.counts.as_dict().values()) <= REPLICAS
    assert decision.attempt >= situation.job.attempt


@given(situations)
def test_an_end_has_its_time_and_no_duration_is_negative(situation: Situation) -> None:
    decision = decide(situation)
    assert (decision.state in TERMINAL) == (decision.ended_at is not None)
    if situation.job.state in LIVE and decision.ended_at and decision.started_at:
        assert decision.started_at <= decision.ended_at


@given(situations)
def test_nothing_is_lost_without_proof(situation: Situation) -> None:
    decision = decide(situation)
    if decision.state is JobState.LOST and not situation.job.ended:
        shown = situation.volcano_job
        assert shown.deleting if shown else situation.absence is Absence.CONFIRMED


@given(situations)
def test_only_an_end_that_is_committed_lets_the_job_go(situation: Situation) -> None:
    actions, job = set(decide(situation).actions), situation.job
    over = job.ended or job.ending is not None or job.state in {JobState.SUSPENDING, JobState.SUSPENDED}
    if Action.DELETE in actions:
        assert over
    if Action.RELEASE_FINALIZER in actions:
        assert over or job.state is JobState.CANCELLING


@given(situations)
def test_another_run_begins_only_when_nothing_is_left_of_the_one_before(situation: Situation) -> None:
    decision, job = decide(situation), situation.job
    if decision.next_run is None:
        return
    assert situation.volcano_job is None
    assert situation.absence is Absence.CONFIRMED
    assert not any(pod.alive for pod in situation.pods)
    assert (decision.state, decision.k8s_uid, decision.ending) in {
        (JobState.HELD, None, None),
        (JobState.SUSPENDED, None, None),
    }
    assert job.ending is not None or job.state is JobState.SUSPENDING
    assert decision.next_run.ran_seconds >= job.ran_seconds


@given(situations)
def test_only_failed_pods_are_removed_and_only_gated_ones_let_go(situation: Situation) -> None:
    decision, job = decide(situation), situation.job
    assert all(pod.phase == "Failed" and not pod.gone for pod in decision.to_delete)
    assert all(pod.gated and pod.alive for pod in decision.to_admit)
    assert not decision.to_delete or job.plan.independent
    alive = sum(pod.alive and not pod.gated for pod in situation.pods)
    assert not decision.to_admit or alive + len(decision.to_admit) <= job.plan.tasks[0].at_a_time
    assert not (decision.to_admit or decision.to_delete) or decision.ending is None


@given(situations)
def test_deciding_on_what_was_decided_comes_to_rest(situation: Situation) -> None:
    decision = decide(situation)
    if decision.ending != situation.job.ending:
        return  # it only says that the run is brought to an end, which begins with the next look
    names = {field.name for field in fields(JobFacts)} & {field.name for field in fields(decision)}
    job = situation.job
    settled = JobFacts(
        **{field.name: getattr(decision if field.name in names else job, field.name) for field in fields(JobFacts)}
    )
    again = decide(Situation(**{**{f.name: getattr(situation, f.name) for f in fields(Situation)}, "job": settled}))
    assert again.state == decision.state
    assert again.counts == decision.counts
