"""What the Job controller knows of Jobs and their pods (`pkg/controllers/cache`)."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from app.simulator.objects import Object
from app.simulator.volcano import names
from app.simulator.volcano.departed import Departed
from app.simulator.volcano.informer import version_of

DEFAULT_RETRIES = 3


@dataclass(slots=True)
class JobInfo:
    """A Job and its pods, by task and name. Pods may be known before their Job is."""

    job: Object | None = None
    pods: dict[str, dict[str, Object]] = field(default_factory=dict)

    def all_pods(self) -> list[Object]:
        """Pods of all tasks."""
        return [pod for pods in self.pods.values() for pod in pods.values()]

    def by_name(self) -> dict[str, Object]:
        """All pods by name."""
        return {pod["metadata"]["name"]: pod for pod in self.all_pods()}


def is_job_pod(pod: Object) -> bool:
    """Whether a pod belongs to a Volcano Job: its controller and three annotations say so."""
    owner = names.controller_of(pod)
    if owner is None or owner.get("kind") != "Job" or not str(owner.get("apiVersion")).startswith("batch.volcano.sh/"):
        return False
    needed = (names.JOB_NAME, names.TASK_SPEC, names.JOB_VERSION)
    return all(names.annotation(pod, key) is not None for key in needed)


def job_key_of(pod: Object) -> str:
    """`namespace/name` of the Job that a pod belongs to."""
    return f"{pod['metadata']['namespace']}/{names.annotation(pod, names.JOB_NAME)}"


class JobCache:
    """Jobs by `namespace/name`. Older versions never replace newer ones."""

    def __init__(self) -> None:
        self._jobs: dict[str, JobInfo] = {}
        self._departed = Departed()

    def get(self, key: str) -> JobInfo | None:
        """A Job with its pods; None when only pods are known."""
        info = self._jobs.get(key)
        return info if info is not None and info.job is not None else None

    def put_job(self, job: Object) -> None:
        """Add or replace a Job, unless it is known to be gone."""
        if job in self._departed:
            return
        info = self._jobs.setdefault(names.key_of(job), JobInfo())
        if info.job is None or version_of(info.job) <= version_of(job):
            info.job = job

    def remove_job(self, job: Object) -> None:
        """Forget a Job; its pods are kept until they are gone themselves."""
        self._departed.add(job)
        key = names.key_of(job)
        info = self._jobs.get(key)
        if info is None or info.job is None or info.job["metadata"]["uid"] != job["metadata"]["uid"]:
            return
        info.job = None
        self._drop_if_empty(key)

    def put_pod(self, pod: Object) -> None:
        """Add or replace a pod, unless it is known to be gone."""
        if pod in self._departed:
            return
        info = self._jobs.setdefault(job_key_of(pod), JobInfo())
        pods = info.pods.setdefault(str(names.annotation(pod, names.TASK_SPEC)), {})
        known = pods.get(pod["metadata"]["name"])
        if known is None or version_of(known) <= version_of(pod):
            pods[pod["metadata"]["name"]] = pod

    def remove_pod(self, pod: Object) -> None:
        """Forget a pod, unless its name belongs to a newer one already."""
        self._departed.add(pod)
        key = job_key_of(pod)
        info = self._jobs.get(key)
        task = str(names.annotation(pod, names.TASK_SPEC))
        pods = info.pods.get(task, {}) if info else {}
        known = pods.get(pod["metadata"]["name"])
        if known is None or known["metadata"]["uid"] != pod["metadata"]["uid"]:
            return
        del pods[pod["metadata"]["name"]]
        self._drop_if_empty(key)

    def has_pod(self, pod: Object) -> bool:
        """Whether a pod of this name is known."""
        info = self._jobs.get(job_key_of(pod))
        task = str(names.annotation(pod, names.TASK_SPEC))
        return info is not None and pod["metadata"]["name"] in info.pods.get(task, {})

    def task_completed(self, key: str, task_name: str) -> bool:
        """Whether all replicas of a task have succeeded (volcano-facts 2.4)."""
        task, pods = self._task(key, task_name)
        replicas = int(task.get("replicas", 0)) if task else 0
        return 0 < replicas <= sum(_phase(pod) == "Succeeded" for pod in pods)

    def task_failed(self, key: str, task_name: str) -> bool:
        """Whether the containers of a task were restarted as often as its maxRetry allows (volcano-facts 2.4)."""
        task, pods = self._task(key, task_name)
        if not task or not task.get("replicas") or task.get("maxRetry") == -1:
            return False
        restarts = sum(_restarts(pod) for pod in pods if _phase(pod) in ("Running", "Pending"))
        return restarts >= (task.get("maxRetry") or DEFAULT_RETRIES)

    def _task(self, key: str, name: str) -> tuple[Object | None, Iterable[Object]]:
        info = self.get(key)
        if info is None or info.job is None:
            return None, ()
        task = next((task for task in info.job["spec"]["tasks"] if task["name"] == name), None)
        return task, info.pods.get(name, {}).values()

    def _drop_if_empty(self, key: str) -> None:
        info = self._jobs[key]
        if info.job is None and not info.all_pods():
            del self._jobs[key]


def _phase(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def _restarts(pod: Object) -> int:
    status = pod.get("status") or {}
    every = [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
    return sum(int(container.get("restartCount", 0)) for container in every)
