"""From watch events to requests (volcano-facts 2.1)."""

from app.simulator.objects import Object
from app.simulator.volcano import names
from app.simulator.volcano.job_cache import JobCache, job_key_of
from app.simulator.volcano.job_status import phase_of
from app.simulator.volcano.pod_groups import phase_of as pod_group_phase
from app.simulator.volcano.policies import Request


def job_request(old: Object | None, job: Object) -> Request | None:
    """A new Job, a changed spec or a changed phase; other updates are the controller's own."""
    same = old is not None and old["metadata"].get("uid") == job["metadata"].get("uid")
    if old is not None and same and old["spec"] == job["spec"] and phase_of(old) == phase_of(job):
        return None
    return Request(job["metadata"]["namespace"], job["metadata"]["name"], event="OutOfSync")


def pod_request(change: str, old: Object | None, pod: Object, cache: JobCache) -> Request:
    """What a pod's change means for its Job. To be called before a removed pod leaves the cache."""
    event, exit_code = _pod_event(change, old, pod, cache)
    if names.annotation(pod, names.OUT_OF_SYNC) is not None:
        event = "OutOfSync"
    owner = names.controller_of(pod) or {}
    return Request(
        namespace=pod["metadata"]["namespace"],
        job=str(names.annotation(pod, names.JOB_NAME)),
        event=event,
        job_uid=str(owner.get("uid", "")),
        job_version=_number(names.annotation(pod, names.JOB_VERSION)),
        task=str(names.annotation(pod, names.TASK_SPEC)),
        pod=pod["metadata"]["name"],
        pod_uid=str(pod["metadata"].get("uid", "")),
        partition=str((pod["metadata"].get("labels") or {}).get(names.PARTITION_ID, "")),
        exit_code=exit_code,
    )


def _pod_event(change: str, old: Object | None, pod: Object, cache: JobCache) -> tuple[str, int]:
    if change == "DELETED":
        return ("PodEvicted" if cache.has_pod(pod) else "OutOfSync"), 0
    if change == "ADDED" or old is None:
        return "PodPending", 0
    now = _phase(pod)
    if now == _phase(old):
        failed = now in ("Running", "Pending") and cache.task_failed(*_task_of(pod))
        return ("TaskFailed" if failed else "OutOfSync"), 0
    if now == "Failed":
        return "PodFailed", _exit_code(pod)
    if now == "Succeeded":
        return ("TaskCompleted" if cache.task_completed(*_task_of(pod)) else "OutOfSync"), 0
    return (f"Pod{now}" if now in ("Running", "Pending") else "OutOfSync"), 0


def _task_of(pod: Object) -> tuple[str, str]:
    return job_key_of(pod), str(names.annotation(pod, names.TASK_SPEC))


def pod_group_request(old: Object | None, pod_group: Object) -> Request | None:
    """A PodGroup's changed phase; a changed condition alone wakes nobody."""
    if old is None or pod_group_phase(old) == pod_group_phase(pod_group):
        return None
    owner = names.controller_of(pod_group) or {}
    name = owner.get("name") if owner.get("kind") == "Job" else pod_group["metadata"]["name"]
    event = "Unknown" if pod_group_phase(pod_group) == "Unknown" else ""
    return Request(pod_group["metadata"]["namespace"], str(name), event=event)


def _phase(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def _exit_code(pod: Object) -> int:
    """Only the first container counts."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or [{}]
    return int(((statuses[0].get("state") or {}).get("terminated") or {}).get("exitCode", 0))


def _number(text: str | None) -> int:
    return int(text) if text and text.lstrip("-").isdigit() else 0
