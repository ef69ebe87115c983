"""Quantities as Kubernetes adds and prints them (apimachinery `resource.Quantity`).

`app.quantity` reads the amounts; this module adds what Volcano's texts need: a sign, and the canonical form, which
keeps `Gi` for amounts that were written in binary units.
"""

import re
from dataclasses import dataclass
from decimal import Decimal

from app import quantity

REFUSAL = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_BINARY_SUFFIX = re.compile(r"[KMGTPE]i$")
_BINARY_UNITS = ((60, "Ei"), (50, "Pi"), (40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki"))
_DECIMAL_UNITS = ((18, "E"), (15, "P"), (12, "T"), (9, "G"), (6, "M"), (3, "k"), (0, ""), (-3, "m"), (-6, "u"))


@dataclass(frozen=True, slots=True)
class Amount:
    """An exact amount and whether it is printed in binary units."""

    value: Decimal
    binary: bool = False

    def __add__(self, other: "Amount") -> "Amount":
        """Sum; the form is that of the first amount that is not zero."""
        return Amount(self.value + other.value, self.binary if self.value else other.binary)

    def times(self, count: int) -> "Amount":
        """The amount of `count` pods."""
        return Amount(self.value * count, self.binary)

    def __str__(self) -> str:
        """Kubernetes' canonical form: the largest unit that needs no fraction."""
        if self.value == 0:
            return "0"
        if self.binary and self.value == self.value.to_integral_value():
            return _binary(int(self.value))
        for exponent, suffix in _DECIMAL_UNITS:
            mantissa = self.value.scaleb(-exponent)
            if mantissa == mantissa.to_integral_value():
                return f"{int(mantissa)}{suffix}"
        return f"{int(self.value.scaleb(9))}n"


def _binary(value: int) -> str:
    for shift, suffix in _BINARY_UNITS:
        if value % (1 << shift) == 0:
            return f"{value >> shift}{suffix}"
    return str(value)


def parse(text: object) -> Amount:
    """Read a quantity that may be negative.

    Raises:
        ValueError: it is no quantity; the message is Kubernetes' own.
    """
    sign = 1
    if isinstance(text, int) and not isinstance(text, bool) and text < 0:
        text, sign = -text, -1
    if isinstance(text, str) and text.startswith("-"):
        text, sign = text[1:], -1
    if isinstance(text, float):
        text = format(Decimal(str(text)), "f")
    try:
        value = quantity.parse(text)
    except quantity.QuantityError as error:
        raise ValueError(REFUSAL) from error
    return Amount(value * sign, isinstance(text, str) and _BINARY_SUFFIX.search(text) is not None)
