"""Versions of objects as entity tags, and `If-Match` (RFC 9110, 8.8.3 and 13.1.1)."""

import re

from app.errors import PreconditionFailed, PreconditionRequired

_TAG = re.compile(r'(?:W/)?"[!#-~]*"')


def etag_of(version: int) -> str:
    """The strong entity tag of a version."""
    return f'"{version}"'


def require_match(if_match: str | None, version: int | None) -> None:
    """Check a change against the version that the caller has seen.

    Args:
        if_match: the header. It may be left out only while nothing exists, since then nothing can be lost.
        version: the present version; None when nothing exists, which the tag `"0"` names.

    Raises:
        PreconditionRequired: something exists, and the caller does not say what it has seen.
        PreconditionFailed: it has seen another version, or its tag is weak.
    """
    if if_match is None:
        if version is not None:
            raise PreconditionRequired("Send If-Match with the ETag of the GET before, so that no change is lost.")
        return
    if if_match.strip() == "*" and version is not None:
        return
    if etag_of(version or 0) not in _TAG.findall(if_match):
        raise PreconditionFailed("The object is not the one that If-Match names; read it again and repeat the change.")
