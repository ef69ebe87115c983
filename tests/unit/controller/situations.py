"""Situations to decide about, with what matters to a test as arguments."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from app.cluster.names import RECORDED_FINALIZER
from app.cluster.observed import Counts as StatusCounts
from app.cluster.observed import ObservedJob, ObservedPodGroup
from app.controller.facts import Counts, JobFacts, PodFacts, Situation
from app.jobs.states import Desired, JobState

NOW = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)


UID = "uid-a"


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def row(**facts: Any) -> JobFacts:
    standard = JobFacts(
        id=UUID(int=1),
        team="nlp",
        queue="q-nlp",
        k8s_namespace="team-nlp",
        k8s_name="a",
        desired=Desired.RUN,
        state=JobState.PENDING,
        reason=None,
        message=None,
        counts=Counts(),
        replicas=2,
        min_available=2,
        min_success=None,
        attempt=1,
        k8s_uid=UID,
        lock_expires_at=None,
        submitted_at=ago(100),
        started_at=None,
        ended_at=None,
        recorded_at=None,
        cleaned_at=None,
    )
    return replace(standard, **facts)


def volcano_job(phase: str = "Pending", **facts: Any) -> ObservedJob:
    standard = ObservedJob(
        uid=UID,
        namespace="team-nlp",
        name="a",
        job_id=str(UUID(int=1)),
        installation="i",
        queue="q-nlp",
        phase=phase,
        version=0,
        retry_count=0,
        min_available=2,
        counts=StatusCounts(),
        deleting=False,
        finalizers=(RECORDED_FINALIZER,),
        created_at=ago(100),
        last_transition_at=ago(1),
        resource_version="1",
    )
    return replace(standard, **facts)


def pod(index: int, phase: str = "Running", **facts: Any) -> PodFacts:
    standard = PodFacts(
        uid=f"pod-{index}-{phase}",
        name=f"a-worker-{index}",
        task="worker",
        index=index,
        attempt=1,
        phase=phase,
        created_at=ago(50),
        node="gpu-1",
        started_at=None if phase == "Pending" else ago(40),
        ended_at=ago(10) if phase in {"Succeeded", "Failed"} else None,
        exit_code={"Succeeded": 0, "Failed": 3}.get(phase),
        reason="Error" if phase == "Failed" else None,
    )
    return replace(standard, **facts)


def group(phase: str = "Pending", **facts: Any) -> ObservedPodGroup:
    standard = ObservedPodGroup(
        uid="g",
        namespace="team-nlp",
        name="a-uid-a",
        job_uid=UID,
        job_id=None,
        queue="q-nlp",
        phase=phase,
        condition="",
        reason="",
        message="",
        condition_at=None,
        min_member=2,
        running=0,
        succeeded=0,
        failed=0,
        created_at=ago(90),
        resource_version="1",
    )
    return replace(standard, **facts)


def situation(job: JobFacts, shown: ObservedJob | None = None, *pods: PodFacts, **facts: Any) -> Situation:
    return Situation(job=job, now=NOW, volcano_job=shown, pods=pods, **facts)
