"""What comes of one attempt: delivered, tried again and when, or given up; and what it means for its endpoint. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from http import HTTPStatus

SPREAD = 0.2
"""Part of a delay by which it may be shorter or longer, so that what failed together is not tried together."""

_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 60.0
_LONGEST_RETRY_AFTER_SECONDS = 86_400.0
_MOST_DOUBLINGS = 10


class DeliveryState(StrEnum):
    """Where a message to one endpoint is."""

    PENDING = "pending"
    DELIVERED = "delivered"
    DEAD = "dead"


class DisabledReason(StrEnum):
    """Why the service turned an endpoint off."""

    GONE = "Gone"
    FAILING = "Failing"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one attempt brought: a status, or an error that kept one from coming."""

    status: int | None = None
    error: str | None = None
    retry_after_seconds: float | None = None

    @property
    def succeeded(self) -> bool:
        """Whether the endpoint took the message: any status of 200 to 299, as the specification says."""
        return self.status is not None and HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES


@dataclass(frozen=True, slots=True)
class Past:
    """What was before an attempt.

    Attributes:
        attempts: made of this message.
        failures: attempts at this endpoint, of any message, that failed in a row.
        failing_seconds: since the first of these.
    """

    attempts: int = 0
    failures: int = 0
    failing_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Rules:
    """How often and how long is tried.

    Attributes:
        schedule: seconds between attempts of a message; there is one attempt more than that.
        disable_seconds: how long an endpoint may fail before it is turned off.
    """

    schedule: Sequence[float]
    disable_seconds: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be written after an attempt.

    Attributes:
        state: of the message from now on.
        delay_seconds: until its next attempt; None when there is none.
        pause_seconds: for how long nothing at all is sent to the endpoint.
        disable: why the endpoint is to be turned off, if it is.
    """

    state: DeliveryState
    delay_seconds: float | None = None
    pause_seconds: float = 0.0
    disable: DisabledReason | None = None


def judge(outcome: Outcome, past: Past, rules: Rules, *, luck: float) -> Verdict:
    """Judge one attempt; `luck` from 0 to 1 places the next one within its spread."""
    if outcome.succeeded:
        return Verdict(DeliveryState.DELIVERED)
    if outcome.status == HTTPStatus.GONE:
        return Verdict(DeliveryState.DEAD, disable=DisabledReason.GONE)
    wait = outcome.retry_after_seconds or 0.0
    pause = max(_pause(past.failures + 1), wait)
    disable = DisabledReason.FAILING if past.failing_seconds >= rules.disable_seconds else None
    if past.attempts >= len(rules.schedule):
        return Verdict(DeliveryState.DEAD, None, pause, disable)
    delay = rules.schedule[past.attempts] * (1 - SPREAD + 2 * SPREAD * luck)
    return Verdict(DeliveryState.PENDING, max(delay, wait), pause, disable)


def _pause(failures: int) -> float:
    """How long an endpoint is left alone: not after one failure, which may be the message's own, then ever longer."""
    if failures <= 1:
        return 0.0
    doublings = min(failures - 2, _MOST_DOUBLINGS)
    return min(_FIRST_PAUSE_SECONDS * float(2**doublings), _LONGEST_PAUSE_SECONDS)


def retry_after(value: str | None, now: datetime) -> float | None:
    """Seconds that a Retry-After header asks for (RFC 9110, 10.2.3), a day at most; None when it is missing or is none.

    Raises nothing: what a stranger writes there must not matter.
    """
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:_MOST_DIGITS]), _LONGEST_RETRY_AFTER_SECONDS)
    try:
        moment = parsedate_to_datetime(text)
        aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return min(max((aware - now).total_seconds(), 0.0), _LONGEST_RETRY_AFTER_SECONDS)
    except (ValueError, OverflowError):
        return None


_MOST_DIGITS = 12
