"""Kubernetes quantities as exact numbers (k8s.io/apimachinery/pkg/api/resource)."""

import re
from decimal import Decimal

_FORM = re.compile(r"^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E))?$")
_SUFFIXES = {
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", start=1)},
    **{letter: Decimal(1000) ** power for power, letter in enumerate("kMGTPE", start=1)},
    "m": Decimal("0.001"),
    "u": Decimal("0.000001"),
    "n": Decimal("0.000000001"),
}


def number(quantity: str | float) -> Decimal | None:
    """The value of a quantity (`500m` is 0.5, `1Gi` is 1073741824), or None when it is not one."""
    found = _FORM.match(str(quantity))
    if found is None:
        return None
    digits, exponent, suffix = found.groups()
    return Decimal(digits + (exponent or "")) * _SUFFIXES.get(suffix, Decimal(1))
