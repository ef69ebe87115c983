"""From a job's spec to the Volcano Job that runs it. Pure: the same input gives the same object, byte for byte."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Protocol, Self
from uuid import UUID

from app import quantity
from app.cluster.names import INSTALLATION_LABEL, JOB_ID_LABEL, RECORDED_FINALIZER, TEAM_LABEL
from app.jobs import charges, gang
from app.jobs.annotations import for_pods
from app.jobs.schemas import JobCreate, Resources, RetryPolicy, Task, Toleration

Object = dict[str, Any]

API_VERSION = "batch.volcano.sh/v1alpha1"
SCHEDULER = "volcano"
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
        "spec": _without_none(_job_spec(job, labels)),
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
    return _without_none(
        {
            "name": name,
            "replicas": task.replicas,
            "minAvailable": gang.task_min_available(task),
            "dependsOn": {"name": list(task.depends_on)} if task.depends_on else None,
            "template": {
                "metadata": {"labels": dict(labels), "annotations": for_pods(spec.annotations)},
                "spec": _pod_spec(task, name),
            },
        }
    )


def _pod_spec(task: Task, name: str) -> Object:
    claims = list(dict.fromkeys(volume.claim for volume in task.volumes))
    return _without_none(
        {
            # the kubelet must not restart what Volcano counts as a run (volcano-sh/volcano#1075)
            "restartPolicy": "Never",
            "schedulerName": SCHEDULER,
            "automountServiceAccountToken": False,
            "nodeSelector": dict(task.node_selector) or None,
            "tolerations": [_toleration(toleration) for toleration in task.tolerations] or None,
            "volumes": [
                {"name": f"volume-{index}", "persistentVolumeClaim": {"claimName": claim}}
                for index, claim in enumerate(claims)
            ]
            or None,
            "containers": [_container(task, name, claims)],
        }
    )


def _container(task: Task, name: str, claims: list[str]) -> Object:
    return _without_none(
        {
            "name": name,
            "image": task.image,
            "command": list(task.command) or None,
            "args": list(task.args) or None,
            "env": _environment(task) or None,
            "resources": _resources(task.resources),
            "volumeMounts": [
                _without_none(
                    {
                        "name": f"volume-{claims.index(volume.claim)}",
                        "mountPath": volume.path,
                        "readOnly": volume.read_only or None,
                    }
                )
                for volume in task.volumes
            ]
            or None,
        }
    )


def _environment(task: Task) -> list[Object]:
    """Secrets first, then plain values by name: JSONB does not keep the order of members, and this one is always so."""
    secrets = [
        {"name": name, "valueFrom": {"secretKeyRef": {"name": source.secret, "key": source.key}}}
        for name, source in sorted(task.secret_env.items())
    ]
    return secrets + [{"name": name, "value": value} for name, value in sorted(task.env.items())]


def _resources(resources: Resources) -> Object:
    """Requests and limits.

    GPUs stand in both: Volcano's enqueue check counts requests only, and Kubernetes wants them equal. Memory stands in
    both, so that a job that outgrows its share is ended itself and not its neighbours. CPU is a request only: a limit
    would throttle the feeding of a GPU while cores idle.
    """
    gpus = {resource: str(amount) for resource, amount in charges.per_replica(resources).items()}
    memory = _amount("memory", resources.memory)
    return _without_none(
        {"requests": {**_amount("cpu", resources.cpu), **memory, **gpus} or None, "limits": {**memory, **gpus} or None}
    )


def _amount(resource: str, text: str) -> dict[str, str]:
    return {} if quantity.parse(text) == Decimal(0) else {resource: text}


def _toleration(toleration: Toleration) -> Object:
    return _without_none(
        {
            "key": toleration.key,
            "operator": toleration.operator,
            "value": toleration.value,
            "effect": toleration.effect,
            "tolerationSeconds": toleration.toleration_seconds,
        }
    )


def _without_none(members: Object) -> Object:
    return {name: value for name, value in members.items() if value is not None}
