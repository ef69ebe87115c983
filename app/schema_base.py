"""Bases of request and response bodies: what callers send is taken strictly, what they read always has every field."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Strict


class RequestBody(BaseModel):
    """A body that callers send. Unknown fields are refused, so that a misspelt one is never dropped in silence."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ResponseBody(BaseModel):
    """A body that callers read. Every field is there; those that can be null are declared so."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)


Whole = Annotated[int, Strict()]
"""A whole JSON number. Texts, fractions and booleans are refused, where pydantic would turn `"4"` and `4.0` into 4."""

Flag = Annotated[bool, Strict()]
"""A JSON true or false, nothing that merely looks like one."""
