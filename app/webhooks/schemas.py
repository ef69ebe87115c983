"""Bodies about webhooks."""

from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from app.schema_base import Flag, RequestBody, ResponseBody, Whole
from app.webhooks.event_types import KNOWN_TYPES
from app.webhooks.models import WebhookDeliveryRow, WebhookRow
from app.webhooks.payload import message_id
from app.webhooks.urls import MAX_LENGTH
from app.webhooks.verdict import DeliveryState

MAX_DESCRIPTION = 500
_LARGEST_POSITION = 2**63 - 1


def _known(name: str) -> str:
    if name not in KNOWN_TYPES:
        raise PydanticCustomError("event-type", "An event type is one of {known}", {"known": ", ".join(KNOWN_TYPES)})
    return name


def _once(names: list[str]) -> list[str]:
    if len(set(names)) != len(names):
        raise PydanticCustomError("duplicate", "A type stands here twice")
    return names


Url = Annotated[str, Field(min_length=1, max_length=MAX_LENGTH, description="https:// address that takes a POST")]
EventTypes = Annotated[
    list[Annotated[str, AfterValidator(_known)]],
    Field(max_length=len(KNOWN_TYPES), description="Types to send, such as job.succeeded; none is all of them"),
    AfterValidator(_once),
]
Description = Annotated[str, Field(max_length=MAX_DESCRIPTION)]


class WebhookCreate(RequestBody):
    """An endpoint to be added."""

    url: Url
    events: EventTypes = Field(default_factory=list)
    description: Description = ""
    enabled: Flag = True


class WebhookPatch(RequestBody):
    """Changes of an endpoint. What is left out stays as it is."""

    url: Url | None = None
    events: EventTypes | None = None
    description: Description | None = None
    enabled: Flag | None = Field(
        default=None, description="Turned on again, it gets events from then on, and what was still pending"
    )


class WebhookRead(ResponseBody):
    """An endpoint, without its secret."""

    id: UUID
    team: str
    url: str
    description: str
    events: list[str]
    enabled: bool
    disabled_reason: str | None = Field(description="Why the service turned it off: `Gone` or `Failing`")
    position: int = Field(description="Id of the event up to which all were looked at")
    failing_since: datetime | None = Field(description="Since when every attempt has failed")
    paused_until: datetime | None = Field(description="Nothing is sent before that")
    previous_secret_until: datetime | None = Field(description="How long the secret before this one signs too")
    created_at: datetime
    created_by: str
    updated_at: datetime

    @classmethod
    def of(cls, row: WebhookRow) -> Self:
        """What callers see of a row."""
        shown = {name: getattr(row, name) for name in cls.model_fields if name != "previous_secret_until"}
        return cls(**shown, previous_secret_until=row.previous_until)


class WebhookCreated(WebhookRead):
    """A new endpoint; its secret is in this answer only."""

    secret: str = Field(description="`whsec_...`, for checking signatures; it cannot be read again")


class SecretRotated(ResponseBody):
    """A new secret; it is in this answer only."""

    secret: str = Field(description="`whsec_...`, signs from now on")
    previous_secret_until: datetime = Field(description="Until then the secret before it signs as well")


class ReplayRequest(RequestBody):
    """From where on to send events again."""

    after: Annotated[Whole, Field(ge=0, le=_LARGEST_POSITION)] = Field(
        description="Id of the last event that need not be sent again; 0 is before all"
    )


class DeliveryRead(ResponseBody):
    """One message to one endpoint."""

    id: UUID
    message_id: str = Field(
        description="Sent as `webhook-id`; the same event has the same one at this endpoint, always"
    )
    event_id: int | None = Field(description="Null for a ping")
    type: str
    state: DeliveryState
    attempts: int = Field(description="Attempts since it was made, sent again or replayed")
    next_at: datetime | None = Field(description="Not before that; null when it has ended")
    attempted_at: datetime | None
    last_status: int | None = Field(description="HTTP status of the last attempt; null when none came")
    last_error: str | None
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, row: WebhookDeliveryRow) -> Self:
        """What callers see of a row."""
        shown = {name: getattr(row, name) for name in cls.model_fields if name not in {"message_id", "state"}}
        return cls(**shown, state=DeliveryState(row.state), message_id=message_id(row.webhook_id, row.event_id, row.id))
