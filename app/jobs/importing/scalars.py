"""What a plain YAML scalar stands for, where all readers of YAML agree. Pure.

People's manifests went through kubectl, whose reader follows YAML 1.1; many tools follow YAML 1.2. `on`, `0777` and
`1_000` are a boolean and two numbers to the one, and two texts and another number to the other. No guess is right
there, so these have to be written in quotes. Sources: yaml.org 1.1 types "bool", "int", "float"; YAML 1.2.2, 10.3.2.
"""

import math
import re
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | bool | None

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {text: text.lower() == "true" for text in ("true", "True", "TRUE", "false", "False", "FALSE")}
_UNSURE = re.compile(
    r"y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF"
    r"|[-+]?0[0-9_]+|[-+]?0[oO][0-7_]+|[-+]?0[bB][01_]+|[-+]?0[xX][0-9a-fA-F_]*_[0-9a-fA-F_]*"
    r"|[-+]?[0-9][0-9_]*_[0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?"
)
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_WHOLE = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")

_LONGEST_NUMBER = 64
"""Digits and signs. Python refuses to read a number of more than some thousand, and nobody means one."""


class Unreadable(ValueError):
    """A scalar that cannot be taken. The message is a sentence without its full stop."""


def plain(text: str) -> Scalar:
    """The value of a scalar that stands without quotes.

    Raises:
        Unreadable: readers differ about it, or it is a number that JSON does not have.
    """
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _UNSURE.fullmatch(text):
        raise Unreadable(
            "YAML readers differ about what this means without quotes; put a text in quotes, and write booleans as "
            "true or false and numbers in plain digits"
        )
    if _NOT_FINITE.fullmatch(text):
        raise Unreadable("NaN and infinity are no numbers here; put a text in quotes")
    return _number(text) if _NUMBER.fullmatch(text) or _HEXADECIMAL.fullmatch(text) else text


def _number(text: str) -> int | float:
    if len(text) > _LONGEST_NUMBER:
        raise Unreadable(f"A number has at most {_LONGEST_NUMBER} characters; put a text in quotes")
    if _HEXADECIMAL.fullmatch(text):
        return int(text, 16)
    if _WHOLE.fullmatch(text):
        return int(text)
    number = float(text)
    if not math.isfinite(number):
        raise Unreadable("The number is too large; put a text in quotes")
    return number
