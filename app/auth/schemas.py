"""Bodies about API tokens."""

from typing import Annotated, Self
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, Field, model_validator

from app.auth.models import TokenRow
from app.auth.principal import Role
from app.moments import Moment
from app.schema_base import RequestBody, ResponseBody


def _printable(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise ValueError("Use printable characters, without spaces at the ends")
    return text


Label = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(_printable)]
"""A name that people gave something; it is shown, never interpreted."""


class TokenCreate(RequestBody):
    """A token to be made. One of the role admin belongs to no team, every other one to a team."""

    name: Label = Field(description="What the token is for")
    subject: Label = Field(description="Who acts with it; jobs show it as `submitted_by`")
    team: str | None = Field(default=None, max_length=63)
    role: Role
    expires_at: Moment | None = Field(default=None, description="RFC 3339 with a zone; null never expires")

    @model_validator(mode="after")
    def _team_goes_with_role(self) -> Self:
        if (self.role is Role.ADMIN) != (self.team is None):
            raise ValueError("The role admin has no team, every other role needs one")
        return self


class TokenRead(ResponseBody):
    """A token, without its text."""

    id: UUID
    name: str
    subject: str
    team: str | None
    role: Role
    created_at: AwareDatetime
    created_by: str
    expires_at: AwareDatetime | None
    revoked_at: AwareDatetime | None

    @classmethod
    def of(cls, row: TokenRow) -> Self:
        """What callers see of a row."""
        return cls.model_validate(row.model_dump(exclude={"token_hash"}))


class TokenCreated(TokenRead):
    """A new token; its text is in this answer only."""

    token: str = Field(description="Send it as `Authorization: Bearer ...`; it cannot be read again")
