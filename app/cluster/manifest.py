"""From a job's spec to the Volcano Job that runs it. Pure: the same input gives the same object, byte for byte."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self
from uuid import UUID

from app.cluster.names import INSTALLATION_LABEL, JOB_ID_LABEL, RECORDED_FINALIZER, TEAM_LABEL
from app.cluster.pod_template import SCHEDULER, Object, pod_spec, without_none
from app.jobs import gang
from app.jobs.annotations import for_pods
from app.jobs.schemas import JobCreate, RetryPolicy

API_VERSION = "batch.volcano.sh/v1alpha1"
MASK = "***"

_ACTIONS = {"restart_task": "RestartTask", "restart_job": "RestartJob"}


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


@dataclass(frozen=True, slots=True)
class ManifestInput:
    """Everything that a manifest is made of. `priority_class` None leaves the class to the cluster's default."""

    job_id: UUID
    installation_id: UUID | None
    team: str
    namespace: str
    name: str
    queue: str
    priority_class: str | None
    ttl_seconds: int
    spec: JobCreate

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
    spec = job.spec
    return {
        "schedulerName": SCHEDULER,
        "queue": job.queue,
        "minAvailable": gang.min_available(spec),
        "minSuccess": spec.min_success,
        # Volcano counts runs, and its webhook turns 0 into 3 (volcano-facts 2.6, v1.15.1)
        "maxRetry": spec.retries.max + 1,
        "ttlSecondsAfterFinished": job.ttl_seconds,
        "priorityClassName": job.priority_class,
        # gives each pod VC_TASK_INDEX, by which it finds its share of the work
        "plugins": {"env": []},
        "policies": _policies(spec.retries) or None,
        "tasks": [_task(spec, index, labels) for index in range(len(spec.tasks))],
    }


def _policies(retries: RetryPolicy) -> list[Object]:
    """Lifecycle policies; none for a single run, where a failed pod must not restart anything."""
    if retries.max == 0:
        return []
    if not retries.on:
        return [{"event": "PodFailed", "action": "RestartJob"}]
    return [{"exitCode": code, "action": _ACTIONS[rule.action]} for rule in retries.on for code in rule.exit_codes]


def _task(spec: JobCreate, index: int, labels: dict[str, str]) -> Object:
    task = spec.tasks[index]
    name = gang.task_name(spec, index)
    return without_none(
        {
            "name": name,
            "replicas": task.replicas,
            "minAvailable": gang.task_min_available(task),
            "dependsOn": {"name": list(task.depends_on)} if task.depends_on else None,
            "template": {
                "metadata": {"labels": dict(labels), "annotations": for_pods(spec.annotations)},
                "spec": pod_spec(task, name),
            },
        }
    )
