"""Whether everything that `pumice up` started really works: asked over HTTP, as a load balancer would."""

import asyncio
from typing import Any

import httpx

from app.commands.failure import CommandFailed
from app.telemetry import REGISTRY

READY_SECONDS = 60.0
_POLL_SECONDS = 0.1
_REQUEST_SECONDS = 5.0


async def until_ready(url: str) -> None:
    """Wait until /readyz is 200, this process leads, and its watches have seen the whole cluster.

    Raises:
        CommandFailed: not within a minute; the sentence says what is missing.
    """
    async with httpx.AsyncClient(base_url=url, timeout=_REQUEST_SECONDS, trust_env=False) as http:
        missing = ["an answer"]
        try:
            async with asyncio.timeout(READY_SECONDS):
                while True:
                    missing = await _missing(http)
                    if not missing:
                        return
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError:
            raise CommandFailed(f"Not ready within {READY_SECONDS:g} s; missing: {', '.join(missing)}.") from None


async def _missing(http: httpx.AsyncClient) -> list[str]:
    try:
        answer = (await http.get("/readyz")).json()
    except (httpx.HTTPError, ValueError):
        return ["the API"]
    if not answer["ready"]:
        return list(answer["missing"])
    # the lease may still be that of a process that was killed: it is ours only when our own gauge says so
    if not REGISTRY.get_sample_value("pumice_leader"):
        return ["the leadership of the controller"]
    return unsynced(answer["controller"]["watches"])


def unsynced(watches: dict[str, Any]) -> list[str]:
    """The watches that have not yet seen a complete list; all of them before the controller has said a word."""
    if not watches:
        return ["the controller's watches"]
    return [f"the watch of {kind}" for kind, watch in watches.items() if not watch["synced"]]
