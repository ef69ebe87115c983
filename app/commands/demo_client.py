"""The demo's only way to the service: its public HTTP API."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from app.commands.failure import CommandFailed

_REQUEST_SECONDS = 10.0
_POLL_SECONDS = 0.1


class DemoClient:
    """Calls with one token. An answer that was not expected ends the demo with the problem's own sentence."""

    def __init__(self, http: httpx.AsyncClient, token: str) -> None:
        self._http = http
        self._authorization = {"Authorization": f"Bearer {token}"}

    def as_holder_of(self, token: str) -> "DemoClient":
        """The same service with another token."""
        return DemoClient(self._http, token)

    async def get(self, path: str) -> Any:
        """Read; anything but 200 fails."""
        return (await self.call("GET", path, expected={200})).json()

    async def call(
        self, method: str, path: str, body: Any = None, *, expected: set[int], headers: dict[str, str] | None = None
    ) -> httpx.Response:
        """Make one call.

        Raises:
            CommandFailed: the service does not answer, or with a status that is not expected.
        """
        try:
            response = await self._http.request(
                method, path, json=body, headers={**self._authorization, **(headers or {})}
            )
        except httpx.HTTPError as error:
            raise CommandFailed(f"{method} {path} got no answer ({type(error).__name__}).") from error
        if response.status_code not in expected:
            raise CommandFailed(f"{method} {path} answered {response.status_code}: {_detail(response)}")
        return response

    async def until(self, path: str, ready: Any, *, seconds: float) -> Any:
        """Read until `ready` says so of the answer.

        Raises:
            CommandFailed: not within the time.
        """
        deadline = asyncio.get_running_loop().time() + seconds
        while not ready(answer := await self.get(path)):
            if asyncio.get_running_loop().time() > deadline:
                raise CommandFailed(f"GET {path} did not show what the demo waits for within {seconds:g} s.")
            await asyncio.sleep(_POLL_SECONDS)
        return answer


@asynccontextmanager
async def open_client(url: str, token: str) -> AsyncIterator[DemoClient]:
    """A client for the service at this address."""
    # the proxies of the environment are for other hosts than a service on this machine
    local = httpx.URL(url).host in {"127.0.0.1", "::1", "localhost"}
    async with httpx.AsyncClient(base_url=url, timeout=_REQUEST_SECONDS, trust_env=not local) as http:
        yield DemoClient(http, token)


def _detail(response: httpx.Response) -> str:
    try:
        return str(response.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return "no problem document."
