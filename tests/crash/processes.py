"""`pumice api` and `pumice controller` as real processes: killed, frozen and started again."""

import asyncio
import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
from sqlalchemy import select

from app.controller.leader import leases
from app.settings import Settings
from tests.controlplane import guard
from tests.crash.clusters import ROOT
from tests.crash.world import GPU

FOREIGN = ("PUMICE_", "KUBECONFIG", "KUBERNETES_")
TOKEN = "of-the-test"
START_SECONDS = 180.0
SHORT = (
    *("leader_lease_seconds", "lease_seconds", "create_timeout_seconds", "sweep_seconds", "work_poll_seconds"),
    "retention_seconds",
)


def process_settings(database_url: str, **changes: Any) -> Settings:
    """Settings of processes that are to notice things within seconds."""
    return Settings(
        database_url=database_url,
        **{
            "leader_lease_seconds": 2.0,
            "lease_seconds": 5.0,
            "create_timeout_seconds": 2.0,
            "sweep_seconds": 1.0,
            "work_poll_seconds": 0.2,
            "retention_seconds": 1.0,
        }
        | changes,
        _env_file=None,
    )


class Part:
    """One process of the service."""

    def __init__(self, process: asyncio.subprocess.Process, output: Path, arguments: tuple[str, ...]) -> None:
        self.process = process
        self.output = output
        self.arguments = arguments

    @property
    def alive(self) -> bool:
        return self.process.returncode is None

    async def kill(self) -> None:
        """`kill -9`, and wait until it is gone."""
        self.process.send_signal(signal.SIGKILL)
        await self.dies()

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    async def dies(self) -> None:
        """Wait until its failpoint has killed it."""
        code = await asyncio.wait_for(self.process.wait(), START_SECONDS)
        guard.forget(self.process.pid)
        assert code == -signal.SIGKILL, self.output.read_text()[-4000:]

    async def close(self) -> None:
        """Stop it; it must not have ended by itself."""
        if not self.alive:
            return
        self.thaw()
        self.process.terminate()
        try:
            code = await asyncio.wait_for(self.process.wait(), START_SECONDS)
        except TimeoutError:
            self.process.kill()
            raise
        guard.forget(self.process.pid)
        assert code == 0, self.output.read_text()[-4000:]


class Service:
    """The processes of one test, over the world's database and cluster."""

    def __init__(self, world: Any, directory: Path, kubeconfig: Path) -> None:
        self.world = world
        self.url = ""
        self.parts: list[Part] = []
        self._directory = directory
        self._kubeconfig = kubeconfig

    def reach(self, kubeconfig: Path) -> None:
        """Let the processes that are started from now on reach the cluster by another way."""
        self._kubeconfig = kubeconfig

    def _environment(self, names: list[str], more: dict[str, str]) -> dict[str, str]:
        settings = self.world.settings
        kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        ours = {
            "database_url": settings.database_url.get_secret_value(),
            "kubeconfig": self._kubeconfig,
            "admin_token": TOKEN,
            "database_pool_size": 5,
            "controller_port": 0,
            "failpoints": json.dumps(names),
        } | {name: getattr(settings, name) for name in SHORT}
        given = {f"PUMICE_{name.upper()}": str(value) for name, value in ours.items()}
        return kept | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "default"} | given | more

    async def start(self, *arguments: str, failpoint: str | None = None, **more: str) -> Part:
        output = self._directory / f"output-{len(self.parts)}"
        with output.open("wb") as stream:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "app.cli", *arguments),
                cwd=self._directory,
                env=self._environment([failpoint] if failpoint else [], more),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
            )
        guard.watch(process.pid)
        self.parts.append(Part(process, output, arguments))
        return self.parts[-1]

    async def controller(self, failpoint: str | None = None, **more: str) -> Part:
        return await self.start("controller", failpoint=failpoint, **more)

    async def api(self, failpoint: str | None = None) -> Part:
        part = await self.start("api", "--port", "0", failpoint=failpoint)
        self.url = await self.printed(part, "API")
        return part

    async def printed(self, part: Part, name: str) -> str:
        """The address that a part prints for what it serves."""

        async def address() -> str | None:
            found = re.search(rf"^{name} at (\S+)$", part.output.read_text(), re.MULTILINE)
            return found and found[1]

        return await self.world.until(address, START_SECONDS)

    async def leader_first(self, controllers: list[Part]) -> list[Part]:
        """The controllers, the one that leads first; waits until exactly one does."""

        async def sorted_by_lead() -> list[Part] | None:
            leads = [await self.leads(each) for each in controllers]
            return (
                [each for _, each in sorted(zip(leads, controllers, strict=True), key=lambda one: not one[0])]
                if (sum(leads) == 1)
                else None
            )

        return await self.world.until(sorted_by_lead)

    async def leads(self, controller: Part) -> bool:
        probe = await self.printed(controller, "probe port")
        async with httpx.AsyncClient(trust_env=False) as http:
            return "\npumice_leader 1.0\n" in (await http.get(f"{probe}/metrics")).text

    async def epoch(self) -> int:
        async with self.world.sessions() as session:
            return int((await session.execute(select(leases.c.epoch))).scalar_one())

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response | None:
        """The answer; None when the connection broke before it."""
        credentials = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx.AsyncClient(base_url=self.url, timeout=15, trust_env=False) as http:
            try:
                return await http.request(method, path, json=body, headers=credentials | headers)
            except httpx.TransportError:
                return None

    async def call(self, path: str, body: Any = None, **headers: str) -> Any:
        """POST and return the answer's body; None when the connection broke before the answer."""
        answer = await self.ask("POST", path, body, **headers)
        if answer is None:
            return None
        assert answer.is_success, answer.text
        return answer.json()

    def body(
        self, name: str, seconds: float, *, replicas: int = 1, gpus: int = 1, exit_code: int = 0
    ) -> dict[str, Any]:
        """A job whose pods run so long and end so, on the cluster of the test."""
        life = self.world.cluster.life(seconds, exit_code)
        task = {"replicas": replicas, "image": "registry.test/llm:1", "command": life["command"]}
        task["resources"] = {"gpus": gpus}
        return {"name": name, "annotations": life["annotations"], "tasks": [task]}

    async def submit(self, name: str, seconds: float, **shape: Any) -> UUID | None:
        """Submit a job under its name as its key, once; None when the answer got lost."""
        path = f"/v1/teams/{self.world.team}/jobs"
        made = await self.call(path, self.body(name, seconds, **shape), **{"Idempotency-Key": name})
        return made and UUID(made["id"])

    async def cancel(self, job_id: UUID) -> None:
        await self.call(f"/v1/jobs/{job_id}/cancel")

    async def usage(self) -> int:
        return (await self.world.usage()).get(GPU, 0)

    async def close(self) -> None:
        ends = await asyncio.gather(*(part.close() for part in self.parts), return_exceptions=True)
        for end in ends:
            if end is not None:
                raise end
