"""Admission of lifecycle policies (`pkg/webhooks/admission/jobs/validate/util.go`)."""

from app.simulator.objects import Object

EVENTS = ("*", "PodFailed", "PodEvicted", "PodPending", "Unknown", "TaskCompleted", "TaskFailed", "JobUpdated")
ACTIONS = (
    "AbortJob",
    "RestartJob",
    "RestartTask",
    "RestartPod",
    "RestartPartition",
    "TerminateJob",
    "CompleteJob",
    "ResumeJob",
)


def policies_problem(policies: list[Object], path: str) -> str:
    """Return what is wrong with a list of policies in Volcano's words, else an empty text.

    Volcano prints the valid events and actions in a random order; here it is fixed.
    """
    errors: list[str] = []
    seen: set[str] = set()
    codes: set[int] = set()
    for policy in policies:
        error = _problem(policy, seen, codes, path)
        if error:
            errors.append(error)
            break
    if "*" in seen and len(seen) > 1:
        errors.append("if there's * here, no other policy should be here")
    if not errors:
        return ""
    count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
    lines = "\n\t".join(f"* {error}" for error in errors)
    valid = f" valid events are [{' '.join(EVENTS)}], valid actions are [{' '.join(ACTIONS)}];"
    return f"{count} occurred:\n\t{lines}\n\n{valid}"


def _problem(policy: Object, seen: set[str], codes: set[int], path: str) -> str:
    events = list(dict.fromkeys([*(policy.get("events") or []), *([policy["event"]] if policy.get("event") else [])]))
    code = policy.get("exitCode")
    if events and code is not None:
        return "must not specify event and exitCode simultaneously"
    if events:
        return _event_problem(events, policy.get("action") or "", seen, path)
    if code is None:
        return "either event and exitCode should be specified"
    return _code_problem(code, codes)


def _event_problem(events: list[str], action: str, seen: set[str], path: str) -> str:
    for event in events:
        if event not in EVENTS:
            return f'{path}: Invalid value: "{event}": invalid policy event'
        if action not in ACTIONS:
            return f'{path}: Invalid value: "{action}": invalid policy action'
        if event in seen:
            return f"duplicate event {event}  across different policy"
        seen.add(event)
    return ""


def _code_problem(code: int, codes: set[int]) -> str:
    if code == 0:
        return "0 is not a valid error code"
    if code in codes:
        return f"duplicate exitCode {code}"
    codes.add(code)
    return ""
