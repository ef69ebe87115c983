"""Signatures and secrets in the form of Standard Webhooks 1.0.0 (standardwebhooks.com). Pure."""

import base64
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime

from standardwebhooks import Webhook

SECRET_PREFIX = "whsec_"  # noqa: S105 - what every secret begins with
_SECRET_BYTES = 32
"""The specification asks for 24 to 64 random bytes."""


def new_secret() -> str:
    """A secret as receivers take it: `whsec_` and 256 random bits in base64."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def signed_headers(message_id: str, at: datetime, body: str, keys: Iterable[str]) -> dict[str, str]:
    """The headers of one attempt.

    Args:
        message_id: the same for all attempts of a message; holds no full stop, which parts what is signed.
        at: the moment of the attempt, aware.
        body: as it is sent.
        keys: the present secret, and during a rotation the previous one: each gives one signature.
    """
    moment = at.astimezone(UTC)
    signatures = [Webhook(key).sign(message_id, moment, body) for key in keys]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
