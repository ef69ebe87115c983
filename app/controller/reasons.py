"""One word and one sentence about why a job waits, failed or does not go. Pure."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from app.controller.facts import Counts, JobFacts, PodFacts, Situation

MAXIMUM_MESSAGE_LENGTH = 1024
NOT_PICKED_UP = timedelta(seconds=60)
"""After this long without a status or a PodGroup the owner is told that Volcano has not looked at the job."""

_NAMED_PODS = 3
_COMMANDS_THAT_MAY_BE_LOST = 3

Why = tuple[str | None, str | None]
"""Reason and message."""


def why_pending(situation: Situation, counts: Counts) -> Why:
    """Say why nothing of a submitted job runs yet; the most specific cause that can be seen."""
    for rule in _RULES:
        why = rule(situation, counts)
        if why is not None:
            return why
    return None, None


def _queue_not_open(situation: Situation, _: Counts) -> Why | None:
    if situation.queue_state in {None, "Open"}:
        return None
    state = situation.queue_state or "not open yet"
    return "QueueNotOpen", f"The queue {situation.job.queue} is {state} in Volcano."


def _stuck_pod(situation: Situation, _: Counts) -> Why | None:
    """A pod that has a node and whose containers do not start, for example because of their image."""
    stuck = [pod for pod in situation.pods if pod.alive and pod.phase == "Pending" and pod.node and pod.reason]
    if not stuck:
        return None
    first = min(stuck, key=lambda pod: pod.name)
    return first.reason, _cut(first.message or f"Pod {first.name} does not start: {first.reason}.")


def _unschedulable(situation: Situation, _: Counts) -> Why | None:
    group = situation.pod_group
    if group is None or group.condition != "Unschedulable":
        return None
    return "Unschedulable", _cut(group.message)


def _by_phase(situation: Situation, counts: Counts) -> Why | None:
    phase = situation.volcano_job.phase if situation.volcano_job else ""
    if phase == "Restarting":
        return "Restarting", "Volcano starts the job again."
    if phase == "Running" and counts.pending:
        return "PodsPending", f"Volcano calls the job Running, and all of its {counts.pending} pods are pending."
    return None


def _overlooked(situation: Situation, _: Counts) -> Why | None:
    volcano_job = situation.volcano_job
    if volcano_job is None or situation.pods or (volcano_job.phase and situation.pod_group is not None):
        return None
    created_at = volcano_job.created_at
    if created_at is None or situation.now - created_at < NOT_PICKED_UP:
        return None
    return "NotPickedUp", f"Volcano has not picked the job up for more than {NOT_PICKED_UP.seconds} seconds."


def _waiting_for_queue(situation: Situation, _: Counts) -> Why | None:
    if situation.pod_group is None or situation.pod_group.phase != "Pending":
        return None
    return "WaitingForQueue", f"The job waits for room in the queue {situation.job.queue}."


def _unseen_pods(situation: Situation, _: Counts) -> Why | None:
    """Pods that wait and that no scheduler has said anything of (trace 17: their `schedulerName` is another's)."""
    waiting = [pod for pod in situation.pods if pod.alive]
    if not waiting or any(pod.phase != "Pending" or pod.node or pod.reason for pod in waiting):
        return None
    if situation.now - max(pod.created_at for pod in waiting) < NOT_PICKED_UP:
        return None
    return "NotPickedUp", (
        f"No scheduler has looked at the job's pods for more than {NOT_PICKED_UP.seconds} seconds: Volcano's may be"
        " down, or the pods may name another one."
    )


_RULES = (
    *(_queue_not_open, _stuck_pod, _unschedulable, _by_phase, _overlooked, _waiting_for_queue),
    _unseen_pods,
)


def why_failed(pods: Sequence[PodFacts], phase: str) -> Why:
    """Say why Volcano ended a job without success: the pod that failed first, of the last attempt that had one."""
    failed = [pod for pod in pods if pod.phase == "Failed"]
    if phase in {"Terminated", "Aborted"}:
        return phase, _stopped_message(phase)
    if not failed:
        return "Failed", "Volcano ended the job as Failed; no failed pod was seen."
    last = max(pod.attempt for pod in failed)
    first = min((pod for pod in failed if pod.attempt == last), key=_end_of)
    return first.reason or "Error", _cut(_pod_message(first))


def why_again(pods: Sequence[PodFacts]) -> str:
    """Say what failed and that it runs again."""
    first = min(pods, key=_end_of)
    more = f" So did {len(pods) - 1} more." if len(pods) > 1 else ""
    return _cut(f"{_pod_message(first)}{more} It runs again.")


def partial_success(counts: Counts, job: JobFacts) -> Why:
    """Say that some replicas failed although Volcano calls the job Completed."""
    return (
        "PartialSuccess",
        f"{counts.succeeded} of {job.replicas} replicas succeeded and {counts.failed} failed.",
    )


def why_not_gone(pods: Iterable[PodFacts]) -> str | None:
    """Name the pods of a stopped job that are still there, and their nodes."""
    alive = sorted((pod for pod in pods if pod.alive), key=lambda pod: pod.name)
    if not alive:
        return None
    named = ", ".join(f"{pod.name} on {pod.node}" if pod.node else pod.name for pod in alive[:_NAMED_PODS])
    more = f" and {len(alive) - _NAMED_PODS} more" if len(alive) > _NAMED_PODS else ""
    return f"Waits for {len(alive)} pods to go: {named}{more}."


def why_not_stopped(commands: int) -> str | None:
    """Say that Volcano does not carry out what it was asked, once that was more often than a lost Command explains."""
    if commands < _COMMANDS_THAT_MAY_BE_LOST:
        return None
    return f"Volcano has not stopped the job after {commands} requests; its controllers may be down."


def _stopped_message(phase: str) -> str:
    if phase == "Aborted":
        return "The job was aborted in Volcano, outside this service."
    return "Volcano terminated the job: by a Command, a policy, or because it could not carry the job out many times."


def _end_of(pod: PodFacts) -> tuple[bool, float, str]:
    at = pod.ended_at
    return at is None, at.timestamp() if at else 0.0, pod.name


def _pod_message(pod: PodFacts) -> str:
    where = f" on {pod.node}" if pod.node else ""
    code = f" with exit code {pod.exit_code}" if pod.exit_code is not None else ""
    words = f": {pod.message}" if pod.message else "."
    return f"Pod {pod.name}{where} failed{code}{words}"


def _cut(text: str) -> str:
    return text[:MAXIMUM_MESSAGE_LENGTH]
