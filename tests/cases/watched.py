"""What holds for every answer of every case, whatever else it is about."""

import re

import httpx

from tests.fixtures.api import Api

INTERNAL = re.compile(r"Traceback|postgresql|asyncpg|sqlalchemy|Bearer|127\.0\.0\.1|localhost|\.py\b", re.IGNORECASE)


async def _is_sound(answer: httpx.Response) -> None:
    """No answer is a 500, and no text tells of what is behind it."""
    await answer.aread()
    shown = (str(answer.request.url), answer.status_code, answer.text[:500])
    assert answer.status_code < 500 or (answer.status_code == 503 and int(answer.headers["Retry-After"]) > 0), shown
    assert not INTERNAL.search(answer.text), shown


class WatchedApi(Api):
    """Clients whose answers are looked at."""

    def client(self, token: str | None) -> httpx.AsyncClient:
        """A client with this token, or with none."""
        client = super().client(token)
        client.event_hooks = {"response": [_is_sound]}
        return client
