"""Volcano's maxRetry and lifecycle policies as our retries. Pure.

In Volcano only a policy makes a failed pod run again; `maxRetry` is how often, and counts runs (volcano-facts 2.2 and
2.6). Our `retries.max` counts further runs. Without such a policy maxRetry has no effect there, and gives no retries.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.jobs import gang
from app.jobs.faults import Place
from app.jobs.importing.draft import Draft, Section
from app.jobs.importing.known import POLICY
from app.jobs.schemas import JobCreate, RetryRule

_DEFAULT_RUNS = 3
"""What Volcano's webhook writes for a maxRetry of 0 or none."""

_ACTIONS = {"RestartTask": "restart_task", "RestartJob": "restart_job"}
_RESTARTS = frozenset({"RestartTask", "RestartJob", "RestartPod"})

_FORM = (
    "Here pods run again after PodFailed, or after some exit codes, by RestartJob or RestartTask; leave any other "
    "policy out"
)


@dataclass(frozen=True, slots=True)
class _Policy:
    """One event or one exit code, and what is done."""

    event: str | None
    exit_code: Any
    action: str
    place: Place


def translate_retries(draft: Draft, body: Section, spec: Mapping[str, Any], *, single_task: bool) -> None:
    """Read when and how often the job runs again.

    Args:
        draft: where faults go.
        body: that gets `retries`.
        spec: of the Job.
        single_task: whether it has one task, whose own policies are then those of the job.
    """
    policies = list(_policies(draft, spec.get("policies"), ("spec", "policies")))
    for index, task in enumerate(spec.get("tasks") or ()):
        own = list(_policies(draft, task.get("policies"), ("spec", "tasks", index, "policies")))
        if own and (policies or not single_task):
            words = "Policies of one task among several are not supported; write them at the Job"
            draft.fault(("spec", "tasks", index, "policies"), words, "unsupported-field")
        policies += own
    _retries(draft, body, spec, list(_restarting(draft, policies, single_task=single_task)))


def _policies(draft: Draft, value: Any, place: Place) -> Iterator[_Policy]:
    for index, entry in enumerate(draft.sequence(value, place)):
        where = (*place, index)
        given = draft.mapping(entry, where)
        draft.check(given, where, POLICY)
        action = given.get("action")
        events = draft.sequence(given.get("events"), (*where, "events"))
        events = [*([given["event"]] if given.get("event") else []), *events]
        if not isinstance(action, str):
            draft.fault((*where, "action"), "This has to be a text", "string-type")
        elif bool(events) == (given.get("exitCode") is not None):
            draft.fault(where, "A policy has either an event or an exit code", "policy")
        elif events:
            yield from (_Policy(str(event), None, action, where) for event in events)
        else:
            yield _Policy(None, given["exitCode"], action, where)


def _restarting(draft: Draft, policies: list[_Policy], *, single_task: bool) -> Iterator[_Policy]:
    """The policies that decide about retries; faults for those that say what we cannot do."""
    seen: set[str] = set()
    for policy in policies:
        if policy.event is not None and policy.event in seen:
            draft.fault(policy.place, "The event stands twice", "duplicate")
        elif policy.exit_code is not None or policy.event == "PodFailed":
            yield policy
        elif not _is_usual(policy, single_task=single_task):
            draft.fault(policy.place, _FORM, "policy")
        seen |= {policy.event} if policy.event is not None else set()


def _is_usual(policy: _Policy, *, single_task: bool) -> bool:
    """Whether a policy asks for what happens anyway.

    An evicted pod is made again without using up retries. A job of one task is complete when that is.
    """
    if policy.event == "PodEvicted":
        return policy.action in _RESTARTS
    return single_task and policy.event == "TaskCompleted" and policy.action == "CompleteJob"


def _retries(draft: Draft, body: Section, spec: Mapping[str, Any], policies: list[_Policy]) -> None:
    section = Section(draft, ("retries",))
    body.set("retries", ("spec", "policies"), section.values)
    runs = spec.get("maxRetry")
    source: Place = ("spec", "maxRetry")
    if runs is not None and (not isinstance(runs, int) or isinstance(runs, bool) or runs < 0):
        draft.fault(source, "This has to be a whole number of at least 0", "int-type")
        return
    section.set("max", source, (runs or _DEFAULT_RUNS) - 1 if policies else None)
    rules: list[dict[str, Any]] = []
    section.set("on", ("spec", "policies"), rules)
    by_event = [policy for policy in policies if policy.event is not None]
    for policy in policies:
        unclear = bool(by_event) and len(policies) > 1
        if unclear or policy.action not in (_ACTIONS if policy.event is None else _RESTARTS):
            draft.fault((*policy.place, "action"), _FORM, "policy")
        elif policy.event is None:
            _rule(draft, rules, policy)


def for_all_pods(spec: JobCreate, policies: Any) -> JobCreate:
    """The job with a rule that says what RestartJob after PodFailed says, where that is not so without one.

    Without rules a pod that failed runs again by itself where pods do not need each other, and all of the job where
    they do.
    """
    whole = any(
        policy.get("action") == "RestartJob" and "PodFailed" in (policy.get("event"), *(policy.get("events") or ()))
        for policy in policies
    )
    if not whole or not spec.retries.max or not gang.is_independent(spec):
        return spec
    rule = RetryRule(causes=["Error", "OOMKilled"], action="restart_job")
    return spec.model_copy(update={"retries": spec.retries.model_copy(update={"on": [rule]})})


def _rule(draft: Draft, rules: list[dict[str, Any]], policy: _Policy) -> None:
    action = _ACTIONS[policy.action]
    if not rules or rules[-1]["action"] != action:
        rules.append({"exit_codes": [], "action": action})
    codes = rules[-1]["exit_codes"]
    target = ("retries", "on", len(rules) - 1, "exit_codes", len(codes))
    draft.came_from(target, (*policy.place, "exitCode"))
    codes.append(policy.exit_code)
