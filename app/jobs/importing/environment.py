"""A container's variables, whose order counts in Kubernetes and not here. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from app.jobs.faults import Place
from app.jobs.importing.draft import Draft, Section
from app.jobs.importing.known import SECRET_KEY, VALUE_FROM, VARIABLE
from app.jobs.syntax import OWN_VARIABLES

_REFERENCE = re.compile(r"\$(\$|\(([-._a-zA-Z0-9]+)\))")
"""`$(NAME)`, or `$$`, which stands for one `$` (Kubernetes, "Define dependent environment variables")."""

_MASK = "***"


def translate_environment(
    draft: Draft, task: Section, container: Mapping[str, Any], place: Place, *, masked: bool
) -> None:
    """Read the variables of a container whose own place is `place`.

    Args:
        draft: where faults go.
        task: that gets `env` and `secret_env`.
        container: the container.
        place: of the container.
        masked: the document is our own, and may have been read where values are hidden.
    """
    here = (*place, "env")
    task.set("env", here, {})
    task.set("secret_env", here, {})
    places: dict[str, int] = {}
    for index, entry in enumerate(draft.sequence(container.get("env"), here)):
        where = (*here, index)
        variable = draft.mapping(entry, where)
        draft.check(variable, where, VARIABLE)
        name = variable.get("name")
        if not isinstance(name, str):
            draft.fault((*where, "name"), "This has to be a text", "string-type")
        elif masked and name in OWN_VARIABLES and isinstance(variable.get("value"), str):
            continue  # we put it there, and shall put it there again
        elif name in places:
            draft.fault((*where, "name"), f"The variable stands twice, first at env/{places[name]}", "duplicate")
        else:
            places[name] = index
            _variable(draft, task, name, variable, where, masked=masked)
    _order(draft, task, here, places)


def _variable(
    draft: Draft, task: Section, name: str, variable: Mapping[str, Any], where: Place, *, masked: bool
) -> None:
    member = "secret_env" if variable.get("valueFrom") is not None else "env"
    draft.came_from((*task.target, member, name), where)
    if member == "secret_env":
        if variable.get("value") not in (None, ""):
            draft.fault(where, "A variable has either a value or valueFrom", "variable")
        task.values[member][name] = _secret(draft, task, name, variable["valueFrom"], (*where, "valueFrom"))
        return
    value = variable.get("value")
    if value is not None and not isinstance(value, str):
        draft.fault((*where, "value"), "This has to be a text; put it in quotes", "string-type")
        value = None
    if masked and value == _MASK:
        draft.fault((*where, "value"), "The value was hidden when this Job was read; put the real one in", "masked")
    task.values[member][name] = value or ""


def _secret(draft: Draft, task: Section, name: str, source: Any, where: Place) -> dict[str, Any]:
    given = draft.mapping(source, where)
    draft.check(given, where, VALUE_FROM)
    here = (*where, "secretKeyRef")
    reference = draft.mapping(given.get("secretKeyRef"), here)
    draft.check(reference, here, SECRET_KEY)
    section = Section(draft, (*task.target, "secret_env", name))
    section.set("secret", (*here, "name"), reference.get("name"))
    section.set("key", (*here, "key"), reference.get("key"))
    return section.values


def _order(draft: Draft, task: Section, here: Place, places: Mapping[str, int]) -> None:
    """Refuse a reference to a variable that would mean something else in the order that we give them.

    Kubernetes puts a value in for `$(NAME)` when NAME stands before it. Here those of Secrets stand first, and then all
    others by name.
    """
    rank = {name: (name in task.values["env"], name) for name in places}
    for name, value in task.values["env"].items():
        for _, other in _REFERENCE.findall(value):
            if other in places and (places[other] < places[name]) != (rank[other] < rank[name]):
                words = (
                    "A value can refer to variables of Secrets, and to those whose names sort before its own; write "
                    "the value out, or choose other names"
                )
                draft.fault((*here, places[name], "value"), words, "variable-order")
