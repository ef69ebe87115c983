"""Writing an object as what changed since its last version, and reading it back (the form of RFC 7386)."""

from typing import Any

Object = dict[str, Any]


def difference(before: Object, after: Object) -> Object | None:
    """The merge patch from one version to the next; None when a null makes a patch say something else."""
    patch: Object = dict.fromkeys(name for name in before if name not in after)
    for name, value in after.items():
        if name in before and before[name] == value:
            continue
        if isinstance(value, dict) and isinstance(before.get(name), dict):
            patch[name] = difference(before[name], value)
        else:
            patch[name] = value
    return patch if applied(before, patch) == after else None


def applied(before: Object, patch: Object) -> Object:
    """The version that a patch leads to; neither of both is changed."""
    after = dict(before)
    for name, value in patch.items():
        if value is None:
            after.pop(name, None)
        elif isinstance(value, dict) and isinstance(after.get(name), dict):
            after[name] = applied(after[name], value)
        else:
            after[name] = value
    return after
