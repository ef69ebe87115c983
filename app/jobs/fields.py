"""Types of single fields of a job body. Each says what is wrong in one sentence and never repeats what was sent."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from app import quantity

NAME_PATTERN = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
NAME_LENGTH = 63

KEY_PATTERN = "^[!-~]+$"
KEY_LENGTH = 255
"""Of an idempotency key, wherever it stands: visible ASCII."""

MAXIMUM_TASKS = 100
MAXIMUM_REPLICAS = 10_000
"""Of one job, over all its tasks."""

MAXIMUM_RETRIES = 100

MAXIMUM_TIMEOUT_SECONDS = 365 * 86_400
MAXIMUM_PARENTS = 100
"""Jobs that one job may wait for."""

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SECRET_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_IMAGE = re.compile(r"[!-~]{1,1024}")
_QUANTITY_RULE = (
    "A quantity is zero or more, at most 2^63-1 and no finer than one billionth, written as a number with at most one "
    "unit, such as 500m, 16Gi or 1e3."
)


def is_subdomain(text: str) -> bool:
    """Whether a text is a DNS subdomain in lower case (RFC 1123), as most names in Kubernetes are."""
    return len(text) <= 253 and _SUBDOMAIN.fullmatch(text) is not None  # noqa: PLR2004 - RFC 1035's limit


def _text(value: str) -> str:
    if "\x00" in value:
        raise PydanticCustomError("nul", "The text holds a NUL character, which no process argument can hold.")
    if not value.isascii() and _SURROGATE.search(value):
        raise PydanticCustomError("surrogate", "The text holds half of a surrogate pair, which UTF-8 cannot hold.")
    return value


def _name(value: str) -> str:
    if len(value) > NAME_LENGTH:
        raise PydanticCustomError(
            "too-long", "A name has at most {limit} characters, not {length}.", {"limit": 63, "length": len(value)}
        )
    if _NAME.fullmatch(value) is None:
        raise PydanticCustomError(
            "name", "A name matches {pattern}; {where}.", {"pattern": NAME_PATTERN, "where": _fault_in_name(value)}
        )
    return value


def _fault_in_name(value: str) -> str:
    if not value:
        return "this one is empty"
    for position, character in enumerate(value, start=1):
        if re.fullmatch("[-a-z0-9]", character) is None:
            shown = f'"{character}"' if character.isprintable() else f"U+{ord(character):04X}"
            return f"the first character that does not fit is {shown} at position {position}"
    return f'the first character that does not fit is "-" at position {1 if value[0] == "-" else len(value)}'


def _object_name(value: str) -> str:
    if not is_subdomain(value):
        raise PydanticCustomError(
            "object-name",
            'The name of a Kubernetes object holds lower-case letters, digits, "-" and ".", at most 253 characters.',
        )
    return value


def _matches(pattern: re.Pattern[str], code: str, rule: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        if pattern.fullmatch(value) is None:
            raise PydanticCustomError(code, "{rule}", {"rule": rule})
        return value

    return check


def _between(least: int, most: int) -> Callable[[int], int]:
    def check(value: int) -> int:
        if not least <= value <= most:
            raise PydanticCustomError(
                "out-of-range",
                "The number has to be at least {least} and at most {most}.",
                {"least": least, "most": most},
            )
        return value

    return check


def _path(value: str) -> str:
    if not value.startswith("/") or ":" in value or ".." in value.split("/"):
        raise PydanticCustomError("path", 'A mount path is absolute and holds neither ":" nor "..".')
    return value


def _amount(value: object) -> Decimal:
    """Read a quantity; JSON numbers are read as their shortest text, so that 0.5 is exactly one half."""
    try:
        return quantity.parse(repr(value) if isinstance(value, float) else value)
    except quantity.QuantityError as error:
        raise PydanticCustomError("quantity", "{rule}", {"rule": _QUANTITY_RULE}) from error


def _quantity_text(value: object) -> str:
    _amount(value)
    return str(value)


def _gpus(value: object) -> int | str:
    """A whole number where it is one; a fraction stays text and is refused later, with its own problem type."""
    amount = _amount(value)
    return int(amount) if amount == amount.to_integral_value() else quantity.canonical(amount)


def _range(least: int, most: int) -> dict[str, Any]:
    return {"minimum": least, "maximum": most}


_NAME_SCHEMA: dict[str, Any] = {"pattern": NAME_PATTERN, "minLength": 1, "maxLength": NAME_LENGTH}

Text = Annotated[str, AfterValidator(_text)]
Reason = Annotated[str, Field(max_length=1000), AfterValidator(_text)]
Name = Annotated[str, AfterValidator(_name), Field(json_schema_extra=_NAME_SCHEMA)]
ObjectName = Annotated[str, AfterValidator(_object_name), Field(json_schema_extra={"minLength": 1, "maxLength": 253})]
SecretKey = Annotated[
    str,
    AfterValidator(_matches(_SECRET_KEY, "secret-key", 'A key holds letters, digits, "-", "_" and ".", 1 to 253.')),
]
Image = Annotated[
    str, AfterValidator(_matches(_IMAGE, "image", "An image reference has 1 to 1024 ASCII characters without spaces."))
]
MountPath = Annotated[Text, AfterValidator(_path)]

Replicas = Annotated[
    int, AfterValidator(_between(1, MAXIMUM_REPLICAS)), Field(json_schema_extra=_range(1, MAXIMUM_REPLICAS))
]
Retries = Annotated[
    int, AfterValidator(_between(0, MAXIMUM_RETRIES)), Field(json_schema_extra=_range(0, MAXIMUM_RETRIES))
]
TimeoutSeconds = Annotated[
    int,
    AfterValidator(_between(1, MAXIMUM_TIMEOUT_SECONDS)),
    Field(json_schema_extra=_range(1, MAXIMUM_TIMEOUT_SECONDS)),
]
Index = Annotated[
    int, AfterValidator(_between(0, MAXIMUM_REPLICAS - 1)), Field(json_schema_extra=_range(0, MAXIMUM_REPLICAS - 1))
]
ExitCode = Annotated[int, AfterValidator(_between(1, 255)), Field(json_schema_extra=_range(1, 255))]

Quantity = Annotated[
    str, BeforeValidator(_quantity_text), WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "number"}]})
]
"""A Kubernetes quantity, kept as it was written."""

Gpus = Annotated[
    int | str,
    BeforeValidator(_gpus),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]}),
]
