"""A team with a webhook, jobs that make events, and a dispatcher that sends them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from httpx import AsyncClient
from sqlalchemy import func, update

from app.db import Sessions
from app.settings import Settings
from app.telemetry import REGISTRY
from app.webhooks.dispatch import send_for_ever
from app.webhooks.store import deliveries, webhooks
from tests.api.conftest import Api
from tests.api.webhooks.receiver import LIMIT_SECONDS, Receiver, receiving

HOOKS = "/v1/teams/nlp/webhooks"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Loopback may be called, and a message that failed is due again at once: five times."""
    changes = {
        "webhook_allow": ["127.0.0.1"],
        "webhook_allow_http": True,
        "webhook_retry_seconds": [0.0] * 4,
        "work_poll_seconds": 0.02,
    }
    return settings.model_copy(update=changes)


class Hooks:
    """What a test does with the team's webhooks."""

    def __init__(self, client: AsyncClient, settings: Settings, sessions: Sessions) -> None:
        self.client = client
        self.settings = settings
        self.sessions = sessions
        self._jobs = 0

    async def add(self, url: str, *events: str, **fields: Any) -> dict[str, Any]:
        answer = await self.client.post(HOOKS, json={"url": url, "events": list(events), **fields})
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def call(self, method: str, hook: dict[str, Any], path: str = "", **options: Any) -> Any:
        answer = await self.client.request(method, f"{HOOKS}/{hook['id']}{path}", **options)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    async def read(self, hook: dict[str, Any]) -> dict[str, Any]:
        return await self.call("GET", hook)

    async def deliveries(self, hook: dict[str, Any], state: str | None = None) -> list[dict[str, Any]]:
        query = {} if state is None else {"state": state}
        return (await self.call("GET", hook, "/deliveries", params=query))["items"]

    async def submit(self, name: str | None = None) -> dict[str, Any]:
        self._jobs += 1
        task = {"replicas": 1, "image": "registry.test/llm:1", "resources": {"gpus": 0}, "env": {"TOKEN": "hunter2"}}
        body = {"name": name or f"job-{self._jobs}", "tasks": [task]}
        answer = await self.client.post("/v1/teams/nlp/jobs", json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def cancel(self, job: dict[str, Any]) -> None:
        answer = await self.client.post(f"/v1/jobs/{job['id']}/cancel", json={"reason": "not needed"})
        assert answer.status_code == 202, answer.text

    @asynccontextmanager
    async def sending(self, **changes: Any) -> AsyncIterator[None]:
        """A dispatcher that works meanwhile, as in a leader's term."""
        task = asyncio.create_task(send_for_ever(self.settings.model_copy(update=changes), self.sessions))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def let_pauses_pass(self, hook: dict[str, Any]) -> None:
        """Time goes on: the endpoint's pause and every wait of its messages are over."""
        await self._write(hook, paused_until=None)
        async with self.sessions.begin() as session:
            await session.execute(
                update(deliveries)
                .where(deliveries.c.webhook_id == hook["id"], deliveries.c.state == "pending")
                .values(next_at=deliveries.c.created_at)
            )

    async def let_the_previous_secret_end(self, hook: dict[str, Any]) -> None:
        await self._write(hook, previous_until=func.now())

    async def let_the_lease_run_out(self, hook: dict[str, Any]) -> None:
        await self._write(hook, lock_expires_at=func.now() - timedelta(seconds=1))

    async def _write(self, hook: dict[str, Any], **values: Any) -> None:
        async with self.sessions.begin() as session:
            await session.execute(update(webhooks).where(webhooks.c.id == hook["id"]).values(**values))

    async def until(self, condition: Callable[[], Awaitable[Any]]) -> Any:
        """Wait until a condition gives something true, and return that."""
        async with asyncio.timeout(LIMIT_SECONDS):
            while True:
                found = await condition()
                if found:
                    return found
                await asyncio.sleep(0.02)

    @staticmethod
    def metric(name: str) -> float:
        return REGISTRY.get_sample_value(f"pumice_webhooks_{name}_total") or 0.0

    async def until_metric(self, name: str, value: float) -> None:
        """Counted is after it is written."""

        async def reached() -> bool:
            return self.metric(name) == value

        await self.until(reached)

    async def until_deliveries(self, hook: dict[str, Any], state: str, count: int = 1) -> list[dict[str, Any]]:
        async def there() -> list[dict[str, Any]] | None:
            found = await self.deliveries(hook, state)
            return found if len(found) >= count else None

        return await self.until(there)


@pytest.fixture
async def hooks(api: Api, settings: Settings, sessions: Sessions) -> Hooks:
    await api.make_team("nlp")
    return Hooks(await api.member("nlp", "manager"), settings, sessions)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver
