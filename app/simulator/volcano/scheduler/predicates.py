"""Which nodes a pod may use, and why not (Volcano v1.15.1, `plugins/predicates` over kube-scheduler's filters).

Built: unschedulable nodes, taints, node selector, required node affinity, number of pods. Not built: host ports, pod
affinity, topology spread, volumes, dynamic resources.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from app.simulator.volcano.scheduler.facts import NodeFacts
from app.simulator.volcano.scheduler.model import Node
from app.simulator.volcano.scheduler.resources import PODS, Resources, first_missing

UNSCHEDULABLE = "node(s) were unschedulable"
SELECTOR = "node(s) didn't match Pod's node affinity/selector"
TAINT = "node(s) had untolerated taint(s)"
POD_NUMBER = "node(s) pod number exceeded"

_UNSCHEDULABLE_TAINT = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_BLOCKING_EFFECTS = ("NoSchedule", "NoExecute")


class Predicates:
    """Answers for one session; a pod's constraints are judged once a node.

    Without the predicates plugin only resources are looked at (`enabled` False).
    """

    def __init__(self, *, enabled: bool = True) -> None:
        self._enabled = enabled
        self._static: dict[tuple[str, str], str | None] = {}

    def reason(self, constraints: str, request: Resources, node: Node) -> str | None:
        """Why a pod cannot be put on a node, now or once what is being deleted is gone; None when it can.

        Resources are looked at first, and only the first missing one is named.
        """
        missing = first_missing(request, node.future)
        if missing is not None:
            return f"Insufficient {missing}"
        return self.reason_without_resources(constraints, node)

    def reason_without_resources(self, constraints: str, node: Node) -> str | None:
        """The same for a pod that asks for nothing."""
        if self._enabled and node.pods >= node.facts.allocatable.get(PODS, 0.0):
            return POD_NUMBER
        return self.lasting_reason(constraints, node)

    def lasting_reason(self, constraints: str, node: Node) -> str | None:
        """Why a pod cannot be put on a node whoever leaves it ("unschedulable and unresolvable" in kube-scheduler)."""
        if not self._enabled:
            return None
        key = constraints, node.facts.name
        if key not in self._static:
            self._static[key] = static_reason(constraints, node.facts)
        return self._static[key]


def static_reason(constraints: str, node: NodeFacts) -> str | None:
    """The first of kube-scheduler's node filters that a pod's constraints fail, in Volcano's order."""
    wanted = json.loads(constraints)
    tolerations = wanted["tolerations"] or []
    if node.unschedulable and not _tolerated(_UNSCHEDULABLE_TAINT, tolerations):
        return UNSCHEDULABLE
    if not _selected(wanted, node):
        return SELECTOR
    blocking = (taint for taint in node.taints if taint.get("effect") in _BLOCKING_EFFECTS)
    return None if all(_tolerated(taint, tolerations) for taint in blocking) else TAINT


def _tolerated(taint: Mapping[str, Any], tolerations: list[dict[str, Any]]) -> bool:
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    """Kubernetes, "Taints and Tolerations": an empty key with Exists tolerates all, an empty effect every effect."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("operator") == "Exists":
        return not toleration.get("key") or toleration["key"] == taint.get("key")
    return toleration.get("key") == taint.get("key") and (toleration.get("value") or "") == (taint.get("value") or "")


def _selected(wanted: Mapping[str, Any], node: NodeFacts) -> bool:
    selector = wanted["selector"] or {}
    if any(node.labels.get(name) != value for name, value in selector.items()):
        return False
    if wanted["terms"] is None:
        return True
    return any(_term_matches(term, node) for term in wanted["terms"].get("nodeSelectorTerms") or ())


def _term_matches(term: Mapping[str, Any], node: NodeFacts) -> bool:
    """All expressions of a term must hold; a term without any matches nothing."""
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not fields:
        return False
    own = {"metadata.name": node.name}
    return all(_holds(item, node.labels) for item in expressions) and all(_holds(item, own) for item in fields)


_OPERATORS: dict[str, Callable[[str | None, list[str]], bool]] = {
    "In": lambda label, values: label is not None and label in values,
    "NotIn": lambda label, values: label is None or label not in values,
    "Exists": lambda label, _: label is not None,
    "DoesNotExist": lambda label, _: label is None,
    "Gt": lambda label, values: _compared(label, values) > 0,
    "Lt": lambda label, values: _compared(label, values) < 0,
}


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    operator = _OPERATORS.get(str(expression.get("operator")))
    return operator is not None and operator(labels.get(expression["key"]), expression.get("values") or [])


def _compared(label: str | None, values: list[str]) -> int:
    """The sign of label minus value; 0, which matches neither, when one of them is no whole number."""
    try:
        left, right = int(str(label)), int(values[0])
    except (ValueError, IndexError):
        return 0
    return (left > right) - (left < right)
