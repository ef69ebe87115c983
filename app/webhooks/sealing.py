"""How secrets of webhooks stand in Postgres: they must be readable to sign, and need not be to everyone who reads rows.

With `PUMICE_WEBHOOK_KEYS` they are encrypted (Fernet: AES-128-CBC with an HMAC); without, they stand as they are, and
whoever can read the table can sign.
"""

from collections.abc import Iterable

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from pydantic import SecretStr

from app.webhooks.signing import SECRET_PREFIX


class Unreadable(Exception):
    """A stored secret was encrypted with a key that is not among those of the settings."""


class SecretBox:
    """Seals secrets for storing and opens them for signing."""

    def __init__(self, keys: Iterable[SecretStr]) -> None:
        """The first key encrypts; all of them decrypt, so that keys can be changed without a stop."""
        given = [Fernet(key.get_secret_value()) for key in keys]
        self._fernet = MultiFernet(given) if given else None

    def seal(self, secret: str) -> str:
        """The form to store."""
        return secret if self._fernet is None else self._fernet.encrypt(secret.encode()).decode()

    def open(self, stored: str) -> str:
        """The secret itself, or raise `Unreadable`."""
        if stored.startswith(SECRET_PREFIX):
            return stored
        if self._fernet is None:
            raise Unreadable
        try:
            return self._fernet.decrypt(stored).decode()
        except InvalidToken as error:
            raise Unreadable from error
