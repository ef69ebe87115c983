"""Names as Kubernetes takes them, for bodies. What is wrong is said without repeating what was sent.

Sources: Kubernetes docs "Object Names and IDs", "Extended resources"; apimachinery's `IsDNS1123Label`,
`IsDNS1123Subdomain` and `IsQualifiedName`. A resource name must still be a name behind `requests.`, which is how
Kubernetes' own quotas spell it.
"""

import re
from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

LABEL_LENGTH = 63
"""Characters of a DNS label, and of the value of a Kubernetes label."""

_SUBDOMAIN_LENGTH = 253

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_PART = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")


def _checked(form: re.Pattern[str], code: str, words: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if len(text) > LABEL_LENGTH:
            raise PydanticCustomError(
                "too-long",
                "A name has at most {limit} characters, this one has {length}",
                {"limit": LABEL_LENGTH, "length": len(text)},
            )
        if form.fullmatch(text) is None:
            raise PydanticCustomError(code, "{words}", {"words": words})
        return text

    return check


def _schema(form: re.Pattern[str]) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "minLength": 1, "maxLength": LABEL_LENGTH, "pattern": f"^{form.pattern}$"})


DnsLabel = Annotated[
    str,
    AfterValidator(
        _checked(
            _LABEL, "dns-label", 'A name holds lower-case letters, digits and "-", and begins and ends without "-"'
        )
    ),
    _schema(_LABEL),
]
"""Lower-case letters, digits and dashes, at most 63 characters."""

DnsSubdomain = Annotated[
    str,
    AfterValidator(
        _checked(_SUBDOMAIN, "dns-subdomain", "A name is made of DNS labels in lower case with dots between them")
    ),
    _schema(_SUBDOMAIN),
]
"""DNS labels with dots between them; at most 63 characters, since the name also becomes the value of a label."""


def fault_in_extended_resource(name: str) -> str | None:
    """What is wrong with the name of an extended resource such as `nvidia.com/gpu`; None when nothing is."""
    domain, slash, last = name.partition("/")
    if not slash:
        return "Write the full name of an extended resource, such as nvidia.com/gpu"
    if domain.startswith(("requests.", "limits.")):
        return "Write the resource itself, without requests. or limits. in front, such as nvidia.com/gpu"
    if domain == "kubernetes.io" or domain.endswith(".kubernetes.io"):
        return "Resources under kubernetes.io are Kubernetes' own"
    good = len(domain) + len("requests.") <= _SUBDOMAIN_LENGTH and _SUBDOMAIN.fullmatch(domain) is not None
    if not good or "." not in domain or len(last) > LABEL_LENGTH or _PART.fullmatch(last) is None:
        return "An extended resource is a domain, a slash and a name, such as nvidia.com/gpu"
    return None
