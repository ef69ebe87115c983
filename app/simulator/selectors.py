"""Label and field selectors (Kubernetes docs, "Labels and Selectors" and "Field Selectors")."""

import re
from collections.abc import Callable
from typing import Any

from app.simulator.kinds import EVENT, POD, Kind
from app.simulator.objects import Object
from app.simulator.refusals import bad_request

Match = Callable[[Object], bool]

_KEY = r"[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?"
_VALUE = r"([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?"
_SET = re.compile(rf"^(?P<key>{_KEY})\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)$")
_EQUALITY = re.compile(rf"^(?P<key>{_KEY})\s*(?P<op>==|=|!=)\s*(?P<value>{_VALUE})$")
_EXISTS = re.compile(rf"^(?P<not>!?)\s*(?P<key>{_KEY})$")
_COMMA_OUTSIDE_PARENTHESES = re.compile(r",(?![^()]*\))")

_FIELDS = {
    POD: ("spec.nodeName", "status.phase", "spec.restartPolicy", "spec.schedulerName", "status.podIP"),
    EVENT: (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "source",
        "type",
        "reportingComponent",
    ),
}
_ALWAYS = ("metadata.name", "metadata.namespace")


def label_match(selector: str | None) -> Match | None:
    """A predicate over objects, or None when everything matches.

    Raises:
        ApiError: 400 when the selector cannot be parsed.
    """
    parts = [part.strip() for part in _COMMA_OUTSIDE_PARENTHESES.split(selector or "")]
    requirements = [_requirement(part) for part in parts if part]
    if not requirements:
        return None

    def matches(obj: Object) -> bool:
        labels = obj["metadata"].get("labels") or {}
        return all(requirement(labels) for requirement in requirements)

    return matches


def _requirement(text: str) -> Callable[[dict[str, str]], bool]:
    if found := _SET.match(text):
        values = frozenset(value.strip() for value in found["values"].split(","))
        return _among(found["key"], values, negated=found["op"] == "notin")
    if found := _EQUALITY.match(text):
        return _among(found["key"], frozenset({found["value"]}), negated=found["op"] == "!=")
    if found := _EXISTS.match(text):
        key, absent = found["key"], bool(found["not"])
        return lambda labels: (key in labels) != absent
    raise bad_request(f"unable to parse requirement: {text!r} is not a label selector")


def _among(key: str, values: frozenset[str], *, negated: bool) -> Callable[[dict[str, str]], bool]:
    if negated:
        return lambda labels: labels.get(key) not in values
    return lambda labels: labels.get(key) in values


def field_match(kind: Kind, selector: str | None) -> Match | None:
    """A predicate over objects of `kind`, or None when everything matches.

    Raises:
        ApiError: 400 when the kind has no such field; Volcano's CRDs declare none (volcano-facts 1.1).
    """
    tests = [_field_test(kind, part.strip()) for part in (selector or "").split(",") if part.strip()]
    return (lambda obj: all(test(obj) for test in tests)) if tests else None


def _field_test(kind: Kind, text: str) -> Match:
    found = re.match(r"^([\w.]+)\s*(==|=|!=)(.*)$", text)
    if found is None:
        raise bad_request(f"invalid field selector: {text!r}")
    field, operator, value = found[1], found[2], found[3].strip()
    if field not in _ALWAYS and field not in _FIELDS.get(kind, ()):
        raise bad_request(_unknown_field(kind, field))
    path = ("source", "component") if field == "source" else tuple(field.split("."))
    wanted = operator != "!="
    return lambda obj: (_at(obj, path) == value) == wanted


def _unknown_field(kind: Kind, field: str) -> str:
    """Kinds with fields of their own, and custom ones, have other words than the rest."""
    if kind.custom or kind in _FIELDS:
        return f"field label not supported: {field}"
    known = ", ".join(f'"{name}"' for name in _ALWAYS)
    return f'"{field}" is not a known field selector: only {known}'


def _at(obj: Object, path: tuple[str, ...]) -> str:
    value: Any = obj
    for part in path:
        value = (value or {}).get(part)
    return str(value) if value is not None else ""


def both(first: Match | None, second: Match | None) -> Match | None:
    """The conjunction of two optional predicates."""
    if first is None or second is None:
        return first or second
    return lambda obj: first(obj) and second(obj)
