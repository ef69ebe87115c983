"""`dependsOn` between the tasks of a Job (volcano-facts 2.5)."""

from collections.abc import Mapping

from app.simulator.objects import Object
from app.simulator.volcano.pod_builder import pod_name


def may_start(job: Object, task: Object, pods: Mapping[str, Object]) -> bool:
    """Whether the tasks that `task` waits for are far enough.

    Args:
        job: the Job.
        task: one of its tasks.
        pods: the Job's pods by name.
    """
    depends = task.get("dependsOn") or {}
    awaited = depends.get("name") or []
    if len(awaited) > 1 and depends.get("iteration") == "any":
        return any(_ready(job, name, pods) for name in awaited)
    return all(_ready(job, name, pods) for name in awaited)


def _ready(job: Object, name: str, pods: Mapping[str, Object]) -> bool:
    task = next(task for task in job["spec"]["tasks"] if task["name"] == name)
    if task.get("minAvailable") is None:
        return True
    names = (pod_name(job["metadata"]["name"], name, index) for index in range(task.get("replicas", 0)))
    ready = sum(_runs(pods[pod]) for pod in names if pod in pods)
    return ready >= int(task["minAvailable"])


def _runs(pod: Object) -> bool:
    """Succeeded, or Running with all containers ready."""
    status = pod.get("status") or {}
    if status.get("phase") == "Succeeded":
        return True
    return status.get("phase") == "Running" and all(c.get("ready") for c in status.get("containerStatuses") or [])
