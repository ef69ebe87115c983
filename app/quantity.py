"""Kubernetes quantities: exact numbers out of texts such as `500m`, `16Gi` and `1e3`.

The grammar is that of Kubernetes' `apimachinery/pkg/api/resource` (`Quantity`): a number, then one suffix, either a
binary one (`Ki` ... `Ei`), a decimal one (`n u m k M G T P E`) or an exponent (`e3`, `E3`). Three things differ on
purpose: amounts below zero are refused, since no request, limit or quota can be negative; an amount finer than one
billionth is refused, where Kubernetes rounds it up in silence; and the size of the result is known before it is
computed, so that no text takes long to read (kubernetes/kubernetes#131063).
"""

import re
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from functools import lru_cache

MAXIMUM = 2**63 - 1
"""The largest amount: Kubernetes and PostgreSQL's bigint both end there."""

MAXIMUM_LENGTH = 64
"""Characters. Nothing that a person or a program writes for an amount up to `MAXIMUM` is longer."""

_MAXIMUM_EXPONENT = 99
_ECHO_LENGTH = 24
_FINEST = -9
"""Kubernetes keeps amounts down to 10**-9."""

_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}

# Only ASCII digits: `\d` and Python's own number parsers also take digits of other scripts and underscores.
_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
    r"(?:(?P<binary>[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]+)|(?P<decimal>[numkMGTPE]?))"
)

# 64 digits times 10**99 fit into 300 digits: within these bounds nothing is ever rounded, and the traps prove it.
_EXACT = Context(prec=300, Emax=999, Emin=-999, traps=[Inexact, InvalidOperation, Overflow])


class QuantityError(ValueError):
    """A text is not a quantity, or its amount is out of bounds. The message is one sentence."""


def parse(quantity: object) -> Decimal:
    """Return the exact amount of a quantity.

    Args:
        quantity: the text, or a whole number as JSON and YAML may hold it. Anything else is refused.

    Returns:
        The amount in the resource's base unit (cores, bytes, cards), from 0 to `MAXIMUM`.

    Raises:
        QuantityError: it is no quantity, is negative, is finer than 10**-9 or is larger than `MAXIMUM`.
    """
    if isinstance(quantity, bool) or not isinstance(quantity, str | int):
        raise QuantityError("A quantity is a text or a whole number.")
    return _bounded_whole(quantity) if isinstance(quantity, int) else _read(quantity)


@lru_cache(maxsize=4096)  # a job names each of its amounts several times, and most jobs name the same few
def _read(text: str) -> Decimal:
    match = _match(text)
    if match["sign"] == "-":
        raise QuantityError(f"{_echo(text)} is negative; a quantity is zero or more.")
    value = _amount(match, text)
    if value > MAXIMUM:
        raise QuantityError(f"{_echo(text)} is larger than {MAXIMUM}, the largest quantity.")
    if _last_place(value) < _FINEST:
        raise QuantityError(f"{_echo(text)} is finer than one billionth, the smallest step of a quantity.")
    return value


def whole(quantity: object) -> int:
    """Return the count of a resource that comes in whole pieces, as every extended resource does.

    Kubernetes refuses fractions of extended resources (docs, "Extended resources"): `1`, `1000m`, `1e0` and `0.001k`
    are all 1, while `500m` is an error.

    Raises:
        QuantityError: as `parse` does, or the amount is a fraction.
    """
    value = parse(quantity)
    if value != value.to_integral_value():
        raise QuantityError(f"{_echo(str(quantity))} is a fraction; this resource comes in whole pieces.")
    return int(value)


def canonical(value: Decimal) -> str:
    """Write an amount in one fixed way, so that equal amounts are equal texts.

    Whole numbers are plain digits, thousandths are written with `m` (`500m`), and anything finer is decimal text.

    Args:
        value: an amount as `parse` returns it.
    """
    if value == value.to_integral_value():
        return str(int(value))
    thousandths = _EXACT.multiply(value, Decimal(1000))
    if thousandths == thousandths.to_integral_value():
        return f"{int(thousandths)}m"
    return format(value.normalize(_EXACT), "f")


def _match(text: str) -> re.Match[str]:
    if len(text) > MAXIMUM_LENGTH:
        raise QuantityError(f"A quantity has at most {MAXIMUM_LENGTH} characters, this text has {len(text)}.")
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise QuantityError(
            f"{_echo(text)} is not a quantity: write a number and at most one unit of "
            "n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei, or an exponent such as e3."
        )
    return match


def _amount(match: re.Match[str], text: str) -> Decimal:
    """Compute the amount; every factor is within bounds already, so this is exact and quick."""
    number = _EXACT.create_decimal(match["number"])
    if match["binary"]:
        return _tidy(_EXACT.multiply(number, Decimal(_BINARY[match["binary"]])))
    exponent = _DECIMAL[match["decimal"]] if match["exponent"] is None else _exponent(match["exponent"], text)
    return _tidy(_EXACT.multiply(number, Decimal((0, (1,), exponent))))


def _exponent(digits: str, text: str) -> int:
    exponent = int(digits)  # at most 64 characters, so this is quick
    if abs(exponent) > _MAXIMUM_EXPONENT:
        raise QuantityError(f"{_echo(text)} has an exponent beyond {_MAXIMUM_EXPONENT}.")
    return exponent


def _tidy(value: Decimal) -> Decimal:
    """Drop trailing zeros: `1.0` and `0.001k` have the same digits and exponent as `1`."""
    plain = value.normalize(_EXACT)
    return plain.quantize(Decimal(1), context=_EXACT) if _last_place(plain) > 0 else plain


def _last_place(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    if isinstance(exponent, str):  # only NaN and infinity have a letter there, and the grammar has neither
        raise QuantityError("A quantity is a finite number.")
    return exponent


def _bounded_whole(number: int) -> Decimal:
    if number < 0:
        raise QuantityError("The number is negative; a quantity is zero or more.")
    if number > MAXIMUM:
        raise QuantityError(f"The number is larger than {MAXIMUM}, the largest quantity.")
    return Decimal(number)


def _echo(text: str) -> str:
    """Quote a short text; a long or unprintable one is named by its length, so that no message grows with the input."""
    if len(text) <= _ECHO_LENGTH and text.isprintable():
        return f'"{text}"'
    return f"A text of {len(text)} characters"
