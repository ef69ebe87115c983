"""From a job's spec to the Volcano Job that runs it. Pure: the same input gives the same object, byte for byte."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self
from uuid import UUID

from app.cluster.names import INSTALLATION_LABEL, JOB_ID_LABEL, RECORDED_FINALIZER, TEAM_LABEL
from app.cluster.pod_template import SCHEDULER, Object, pod_spec, without_none
from app.cluster.run_part import PartTask, RunIndices, min_available, min_success, part_of
from app.jobs.annotations import for_pods
from app.jobs.schemas import JobCreate
from app.jobs.syntax import JOB_ID_VARIABLE, TASK_VARIABLE

API_VERSION = "batch.volcano.sh/v1alpha1"
MASK = "***"


class StoredJob(Protocol):
    """What `ManifestInput.of` reads of a job's row."""

    @property
    def id(self) -> UUID:
        """UUIDv7 of the job."""

    @property
    def team(self) -> str:
        """Name of the team."""

    @property
    def queue(self) -> str:
        """Name of the Volcano queue."""

    @property
    def priority(self) -> str:
        """One of the operator's names."""

    @property
    def k8s_namespace(self) -> str:
        """The team's namespace."""

    @property
    def k8s_name(self) -> str:
        """Name of the Volcano Job."""

    @property
    def spec(self) -> dict[str, Any]:
        """The `JobCreate` as stored."""

    @property
    def run_indices(self) -> dict[str, list[int]] | None:
        """What the present run is of; None is everything."""

    @property
    def counts(self) -> dict[str, int]:
        """Pods by what they do; those that succeeded in earlier runs among them."""


@dataclass(frozen=True, slots=True)
class ManifestInput:
    """Everything that a manifest is made of.

    Attributes:
        priority_class: None leaves the class to the cluster's default.
        run_indices: what the run is of; None is everything.
        succeeded: pods that succeeded in earlier runs.
    """

    job_id: UUID
    installation_id: UUID | None
    team: str
    namespace: str
    name: str
    queue: str
    priority_class: str | None
    ttl_seconds: int
    spec: JobCreate
    run_indices: RunIndices | None = None
    succeeded: int = 0

    @classmethod
    def of(
        cls, job: StoredJob, *, installation_id: UUID | None, priorities: Mapping[str, str | None], ttl_seconds: int
    ) -> Self:
        """Read a stored job.

        Args:
            job: a row of `jobs`.
            installation_id: this Pumice among those that share the cluster; None before its controller first ran.
            priorities: the setting of this name, from a job's priority to its PriorityClass.
            ttl_seconds: when Volcano may collect the finished Job.
        """
        return cls(
            job_id=job.id,
            installation_id=installation_id,
            team=job.team,
            namespace=job.k8s_namespace,
            name=job.k8s_name,
            queue=job.queue,
            priority_class=priorities.get(job.priority),
            ttl_seconds=ttl_seconds,
            spec=JobCreate.model_validate(job.spec),
            run_indices=job.run_indices,
            succeeded=job.counts.get("succeeded", 0),
        )


def render(job: ManifestInput) -> Object:
    """Return the Volcano Job (`batch.volcano.sh/v1alpha1`) that runs a job.

    Nothing is left to defaults that Volcano's webhooks would fill in: queue, gang size and number of runs are explicit.
    """
    labels = {**job.spec.labels, **_own_labels(job)}
    return {
        "apiVersion": API_VERSION,
        "kind": "Job",
        "metadata": {
            "name": job.name,
            "namespace": job.namespace,
            "labels": labels,
            "annotations": dict(job.spec.annotations),
            "finalizers": [RECORDED_FINALIZER],
        },
        "spec": without_none(_job_spec(job, labels)),
    }


def render_masked(job: ManifestInput) -> Object:
    """Return the same object with every value of `env` as `***`, for people to read."""
    tasks = [task.model_copy(update={"env": dict.fromkeys(task.env, MASK)}) for task in job.spec.tasks]
    spec = job.spec.model_copy(update={"tasks": tasks})
    return render(replace(job, spec=spec))


def _own_labels(job: ManifestInput) -> dict[str, str]:
    labels = {JOB_ID_LABEL: str(job.job_id), TEAM_LABEL: job.team}
    if job.installation_id is not None:
        labels[INSTALLATION_LABEL] = str(job.installation_id)
    return labels


def _job_spec(job: ManifestInput, labels: dict[str, str]) -> Object:
    part = part_of(job.spec, job.run_indices)
    return {
        "schedulerName": SCHEDULER,
        "queue": job.queue,
        "minAvailable": min_available(job.spec, part),
        "minSuccess": min_success(job.spec, part, job.succeeded),
        # no policies and one run: what runs again is decided here, by cause and by index (ADR 0016). Volcano counts
        # runs, and its webhook turns 0 into 3 (volcano-facts 2.6, v1.15.1)
        "maxRetry": 1,
        "ttlSecondsAfterFinished": job.ttl_seconds,
        "priorityClassName": job.priority_class,
        # gives each pod VC_TASK_INDEX, by which it finds its share of the work; where Volcano's number is not the
        # pod's index, the template has the variable itself
        "plugins": {} if any(each.numbered for each in part) else {"env": []},
        "tasks": [_task(job.spec, each, labels) for each in part],
    }


def _task(spec: JobCreate, part: PartTask, labels: dict[str, str]) -> Object:
    return without_none(
        {
            "name": part.name,
            "replicas": part.replicas,
            "minAvailable": part.min_available,
            "dependsOn": {"name": list(part.depends_on)} if part.depends_on else None,
            "template": {
                "metadata": {"labels": dict(labels), "annotations": for_pods(spec.annotations)},
                "spec": pod_spec(part, {JOB_ID_VARIABLE: labels[JOB_ID_LABEL], TASK_VARIABLE: part.name}),
            },
        }
    )
