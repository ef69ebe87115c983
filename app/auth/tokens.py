"""API tokens: how they look and what is kept of them. Pure."""

import hashlib
import re
import secrets

PREFIX = "pum_"
"""Every token begins so; scanners for leaked secrets can look for it."""

_BYTES = 32
_FORM = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}")


def new_token() -> str:
    """A token with 256 random bits."""
    return PREFIX + secrets.token_urlsafe(_BYTES)


def has_form(token: str) -> bool:
    """Whether a text can be one of our tokens at all."""
    return _FORM.fullmatch(token) is not None


def digest(token: str) -> bytes:
    """What is stored of a token: SHA-256. No salt or slow hash is needed, since nobody can guess 256 random bits."""
    return hashlib.sha256(token.encode()).digest()
