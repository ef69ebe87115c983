"""From an event to an action: the Job's lifecycle policies (volcano-facts 2.2, `applyPolicies`)."""

from dataclasses import dataclass

from app.simulator.objects import Object
from app.simulator.volcano.durations import seconds

SYNC = "SyncJob"
_INTERNAL_EVENTS = frozenset({"OutOfSync", "CommandIssued", "PodRunning"})


@dataclass(frozen=True, slots=True)
class Request:
    """Why a Job is looked at. Equal requests wait once.

    `delayed` marks an action whose timeout has run out; it was announced when it began to wait.
    """

    namespace: str
    job: str
    event: str = ""
    action: str = ""
    job_uid: str = ""
    job_version: int = 0
    task: str = ""
    pod: str = ""
    pod_uid: str = ""
    partition: str = ""
    exit_code: int = 0
    delayed: bool = False

    @property
    def key(self) -> str:
        """`namespace/name` of the Job."""
        return f"{self.namespace}/{self.job}"


@dataclass(frozen=True, slots=True)
class Decision:
    """An action, perhaps later."""

    action: str
    delay_seconds: float = 0.0


def choose_action(job: Object, request: Request) -> Decision:
    """Return what a request asks for: its own action, else that of the first policy that matches, else a sync."""
    if request.action:
        return Decision(request.action)
    if request.event in _INTERNAL_EVENTS or not _current(job, request):
        return Decision(SYNC)
    for policy in _policies(job, request.task):
        if _matches(policy, request):
            return Decision(policy.get("action", ""), seconds(policy.get("timeout")))
    return Decision(SYNC)


def _current(job: Object, request: Request) -> bool:
    """Whether the event belongs to this Job and to its present version."""
    if request.job_uid and request.job_uid != job["metadata"]["uid"]:
        return False
    return request.job_version >= int((job.get("status") or {}).get("version", 0))


def _policies(job: Object, task_name: str) -> list[Object]:
    found: list[Object] = []
    if task_name:
        for task in job["spec"]["tasks"]:
            if task["name"] == task_name:
                found += task.get("policies") or []
    return found + (job["spec"].get("policies") or [])


def _matches(policy: Object, request: Request) -> bool:
    events = list(policy.get("events") or [])
    if policy.get("event"):
        events.append(policy["event"])
    heard = bool(request.event) and (request.event in events or "*" in events)
    # A pod is Pending for a moment in every life: only a policy with a timeout means that.
    if heard and (request.event != "PodPending" or policy.get("timeout") is not None):
        return True
    return policy.get("exitCode") is not None and policy["exitCode"] == request.exit_code
