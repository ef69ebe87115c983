"""`pumice settings`: `.env.example` out of `settings.py`, so that the two never differ."""

import json
import textwrap
from typing import Any

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from app.settings import Settings

_WIDTH = 110
_HEAD = """\
# Settings of Pumice, each with its default. Copy to .env and uncomment what you change; the environment goes first.
# Generated from app/settings.py by `pumice settings`; `make check` fails when the two differ.
"""


def render_settings() -> str:
    """The text of `.env.example`."""
    fields = [_render(name, field) for name, field in Settings.model_fields.items() if not field.exclude]
    return "\n".join([_HEAD, *fields])


def _render(name: str, field: FieldInfo) -> str:
    words = textwrap.fill(field.description or "", _WIDTH, initial_indent="# ", subsequent_indent="# ")
    return (
        f"{words}\n# PUMICE_{name.upper()}={_text(field.get_default(call_default_factory=True, validated_data={}))}\n"
    )


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, dict | list):
        return json.dumps(value)
    return str(value)
