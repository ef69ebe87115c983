"""Admission of PodGroups (`pkg/webhooks/admission/podgroups/validate`): their queue must be open."""

from collections.abc import Callable

from app.simulator.objects import Object
from app.simulator.volcano.admission_refusal import Refusal

TIERS = "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously"


def both_tiers(topology: Object | None) -> bool:
    """Whether a network topology names its highest tier twice."""
    given = topology or {}
    return given.get("highestTierAllowed") is not None and bool(given.get("highestTierName"))


def validate(pod_group: Object, queue_named: Callable[[str], Object | None]) -> None:
    """Refuse a new PodGroup whose queue is missing or not open.

    Raises:
        Refusal: with Volcano's words.
    """
    spec = pod_group.get("spec") or {}
    text = _queue_problem(str(spec.get("queue") or ""), queue_named)
    if both_tiers(spec.get("networkTopology")):
        text += f"{TIERS}."
    if text:
        raise Refusal(text.strip())


def _queue_problem(name: str, queue_named: Callable[[str], Object | None]) -> str:
    if not name:
        return ""
    queue = queue_named(name)
    if queue is None:
        return f'unable to find queue: queue.scheduling.volcano.sh "{name}" not found'
    state = (queue.get("status") or {}).get("state") or ""
    if state == "Open":
        return ""
    return f"can only submit PodGroup to queue with state `Open`, queue `{name}` status is `{state}`. "
