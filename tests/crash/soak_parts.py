"""The processes of a soak: two APIs, two controllers. The first of each is frozen at times and never killed."""

import asyncio
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import httpx

from app import failpoints
from tests.crash.clusters import ROOT
from tests.crash.processes import TOKEN, Part, Service

SKEW = Path(__file__).parent / "skew"
ROLES = ("api 1", "api 2", "controller 1", "controller 2")
OF_CONTROLLERS = tuple(name for name in failpoints.ALL if not name.startswith("accept"))


class Fleet(Service):
    """A service with several APIs: each request goes to one of them by chance."""

    def __init__(self, world: Any, directory: Path, kubeconfig: Path, chance: random.Random) -> None:
        super().__init__(world, directory, kubeconfig)
        self.running: dict[str, Part] = {}
        self.logs: dict[str, list[Path]] = defaultdict(list)
        self._chance = chance
        self._urls: dict[str, str] = {}

    async def launch(self, role: str, failpoint: str | None = None, *, skew_seconds: float = 0.0) -> None:
        """Start a process in the place of one that is gone."""
        before = self.url
        if role.startswith("api"):
            self.running[role] = await self.api(failpoint=failpoint)
            self._urls[role] = self.url
        else:
            more = (
                {"PYTHONPATH": f"{SKEW}:{ROOT}", "CRASH_TEST_SKEW_SECONDS": str(skew_seconds)} if skew_seconds else {}
            )
            self.running[role] = await self.controller(failpoint=failpoint, **more)
        self.url = before or self.url
        self.logs[role].append(self.running[role].output)

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response | None:
        role = self._chance.choice([role for role in self._urls if self.running[role].alive])
        credentials = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx.AsyncClient(base_url=self._urls[role], timeout=15, trust_env=False) as http:
            try:
                return await http.request(method, path, json=body, headers=credentials | headers)
            except httpx.TransportError:
                return None

    async def replaced(self, role: str, *, skew_seconds: float = 0.0) -> None:
        """`kill -9`, and another one."""
        if self.running[role].alive:
            await self.running[role].kill()
        await self.launch(role, skew_seconds=skew_seconds)

    async def dies_at(self, role: str, failpoint: str, patience_seconds: float) -> None:
        """One that is killed by a failpoint if it gets there, or by us; then another one."""
        await self.running[role].kill()
        await self.launch(role, failpoint)
        part = self.running[role]
        await asyncio.wait([asyncio.create_task(part.process.wait())], timeout=patience_seconds)
        await self.replaced(role)

    def unexpected_ends(self) -> list[str]:
        """Processes that have ended although nobody killed them."""
        return [role for role, part in self.running.items() if not part.alive]
