"""The service under test: `pumice api` and `pumice controller` as processes, and HTTP to the API."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.cluster.processes import Process

TOKEN = "e2e-admin"
RETENTION_SECONDS = 5
TTL_SECONDS = 60


class Service:
    """Started once for all tests; tests stop, kill and start its controller."""

    def __init__(self, directory: Path, database_url: str, kubeconfig: Path, priorities: dict[str, str | None]) -> None:
        self._directory = directory
        self._for_api = {
            "PUMICE_DATABASE_URL": database_url,
            "PUMICE_ADMIN_TOKEN": TOKEN,
            "PUMICE_PRIORITIES": json.dumps(priorities),
            "PUMICE_DATABASE_POOL_SIZE": "5",
        }
        self._for_controller = self._for_api | {
            "PUMICE_KUBECONFIG": str(kubeconfig),
            "PUMICE_CONTROLLER_PORT": "0",
            "PUMICE_LEADER_LEASE_SECONDS": "3",
            "PUMICE_LEASE_SECONDS": "30",
            "PUMICE_SWEEP_SECONDS": "10",
            "PUMICE_RETENTION_SECONDS": str(RETENTION_SECONDS),
            "PUMICE_JOB_TTL_SECONDS": str(TTL_SECONDS),
        }
        self._api: Process | None = None
        self._http: httpx.AsyncClient | None = None
        self.controller: Process | None = None

    async def start(self) -> None:
        """Start both processes and wait until the controller leads and its watches are complete."""
        self._api = await Process.start(self._directory, "api", "--port", "0", environment=self._for_api)
        await self.start_controller()
        url = await self._api.printed(r"^API at (\S+)$")
        credentials = {"Authorization": f"Bearer {TOKEN}"}
        self._http = httpx.AsyncClient(base_url=url, timeout=30, trust_env=False, headers=credentials)
        await self.until_ready()

    async def start_controller(self) -> None:
        """Start a controller."""
        self.controller = await Process.start(self._directory, "controller", environment=self._for_controller)
        await self.controller.printed(r"^probe port at (\S+)$")

    async def stop_controller(self) -> None:
        """Stop the controller as an operator does."""
        assert self.controller is not None
        await self.controller.stop()

    async def kill_controller(self) -> None:
        """Kill the controller: nothing that it has begun gets finished."""
        assert self.controller is not None
        await self.controller.kill()

    async def ensure_controller(self) -> None:
        """Start a controller if a test has left none."""
        if self.controller is None or self.controller.ended:
            await self.start_controller()
            await self.until_ready()

    async def until_ready(self, seconds: float = 60.0) -> None:
        """Wait until a controller leads and has seen the whole cluster."""
        deadline = time.monotonic() + seconds
        while not _follows_the_cluster(seen := (await self.call("GET", "/readyz")).json()):
            log = self.controller.tail() if self.controller else ""
            assert time.monotonic() < deadline, f"/readyz still says {seen}; the controller's log ends:\n{log}"
            await asyncio.sleep(0.2)

    async def stop(self) -> None:
        """Stop everything."""
        if self._http is not None:
            await self._http.aclose()
        for process in (self.controller, self._api):
            if process is not None:
                await process.stop()

    async def call(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """One request of the service's admin."""
        assert self._http is not None
        return await self._http.request(method, path, json=body)

    async def made(self, method: str, path: str, body: Any = None) -> Any:
        """A request that must succeed."""
        answer = await self.call(method, path, body)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    async def get(self, path: str) -> Any:
        """Read something that must be there."""
        return await self.made("GET", path)


def _follows_the_cluster(readiness: Any) -> bool:
    controller = readiness.get("controller") or {}
    watches = controller.get("watches") or {}
    return bool(controller.get("leading") and watches and all(watch["synced"] for watch in watches.values()))
