"""`pumice api` and `pumice controller` as real processes, killed at every failpoint and started again.

All failpoints are reached: the two of accepting in the API, two of cancelling by a cancelled job, and the others on a
job's way to its end. A job that stays is there all the while, so that the quota's usage is a number to be recounted.
"""

import asyncio
import json
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from app import failpoints
from app.cluster.kinds import COMMAND, JOB
from app.controller.leader import leases
from app.jobs.transitions import jobs
from app.teams.quota import JOB_COUNT

ROOT = Path(__file__).resolve().parents[2]
FOREIGN = ("PUMICE_", "KUBECONFIG", "KUBERNETES_")
TOKEN = "of-the-test"
GPU = "nvidia.com/gpu"
START_SECONDS = 40.0
SHORT = ("lease_seconds", "create_timeout_seconds", "sweep_seconds", "work_poll_seconds", "retention_seconds")

OF_THE_API = (failpoints.ACCEPT_BEFORE_COMMIT, failpoints.ACCEPT_COMMITTED)
WHILE_CANCELLING = (failpoints.CANCEL_COMMANDED, failpoints.CANCEL_RECORDED)
TO_THE_END = tuple(name for name in failpoints.ALL if name not in {*OF_THE_API, *WHILE_CANCELLING})


class Part:
    """One process of the service."""

    def __init__(self, process: asyncio.subprocess.Process, output: Path) -> None:
        self.process = process
        self.output = output

    async def dies(self) -> None:
        """Wait until its failpoint has killed it."""
        code = await asyncio.wait_for(self.process.wait(), START_SECONDS)
        assert code == -signal.SIGKILL, self.output.read_text()[-4000:]

    async def close(self) -> None:
        """Stop it; it must not have ended by itself."""
        if self.process.returncode is None:
            self.process.terminate()
            assert await asyncio.wait_for(self.process.wait(), START_SECONDS) == 0, self.output.read_text()[-4000:]


class Service:
    """The processes of one test, over the world's database and cluster."""

    def __init__(self, world: Any, directory: Path) -> None:
        self.world = world
        self._directory = directory
        self._parts: list[Part] = []
        self._kubeconfig = world.cluster.kubeconfig(directory / "kubeconfig")
        self._url = ""

    def _environment(self, names: list[str]) -> dict[str, str]:
        settings = self.world.settings
        kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        ours = {
            "database_url": settings.database_url.get_secret_value(),
            "kubeconfig": self._kubeconfig,
            "admin_token": TOKEN,
            "database_pool_size": 5,
            "controller_port": 0,
            "leader_lease_seconds": 1.5,
            "failpoints": json.dumps(names),
        } | {name: getattr(settings, name) for name in SHORT}
        given = {f"PUMICE_{name.upper()}": str(value) for name, value in ours.items()}
        return kept | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "default"} | given

    async def start(self, *arguments: str, failpoint: str | None = None) -> Part:
        output = self._directory / f"output-{len(self._parts)}"
        with output.open("wb") as stream:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "app.cli", *arguments),
                cwd=self._directory,
                env=self._environment([failpoint] if failpoint else []),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
            )
        self._parts.append(Part(process, output))
        return self._parts[-1]

    async def controller(self, failpoint: str | None = None) -> Part:
        return await self.start("controller", failpoint=failpoint)

    async def api(self, failpoint: str | None = None) -> Part:
        part = await self.start("api", "--port", "0", failpoint=failpoint)
        self._url = await self.printed(part, "API")
        return part

    async def printed(self, part: Part, name: str) -> str:
        """The address that a part prints for what it serves."""

        async def address() -> str | None:
            found = re.search(rf"^{name} at (\S+)$", part.output.read_text(), re.MULTILINE)
            return found and found[1]

        return await self.world.until(address, START_SECONDS)

    async def call(self, path: str, body: Any = None, **headers: str) -> Any:
        """POST and return the answer's body; None when the connection broke before the answer."""
        credentials = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx.AsyncClient(base_url=self._url, timeout=15, trust_env=False) as http:
            try:
                answer = await http.post(path, json=body, headers=credentials | headers)
            except httpx.TransportError:
                return None
        assert answer.is_success, answer.text
        return answer.json()

    async def submit(self, name: str, *command: str) -> UUID | None:
        task = {"replicas": 2, "image": "registry.test/llm:1", "command": command, "resources": {"gpus": 1}}
        body = {"name": name, "tasks": [task]}
        made = await self.call("/v1/teams/nlp/jobs", body, **{"Idempotency-Key": name})
        return made and UUID(made["id"])

    async def close(self) -> None:
        for part in self._parts:
            await part.close()


@pytest.fixture
async def service(world: Any, tmp_path: Path) -> AsyncIterator[Service]:
    service = Service(world, tmp_path)
    await world.make_team()
    try:
        yield service
    finally:
        await service.close()


async def _both_once(world: Any, job_id: UUID, bystander: UUID, state: str) -> None:
    """The job has ended once and left nothing; the other runs on; the books agree."""
    row = await world.until_state(job_id, "succeeded", "failed", "lost", "cancelled")
    assert (row.state, row.attempt) == (state, 1)
    await world.until_clean(job_id)
    after = await world.row(job_id)
    assert (after.state, after.ended_at, after.recorded_at is not None) == (row.state, row.ended_at, True)
    assert (after.lock_token, after.lock_expires_at, after.due_at) == (None, None, None)
    other = await world.until_state(bystander, "running")
    assert other.attempt == 1
    shown = [job["metadata"]["uid"] for job in (await world.volcano.list_page(JOB)).items]
    assert shown == [other.k8s_uid]  # so no orphan, and no finalizer that still holds one
    assert set(world.created) == {other.k8s_uid, after.k8s_uid}
    assert len(world.created) == 2
    await _books_agree(world)
    assert (await world.usage())[GPU] == 2


async def _books_agree(world: Any) -> None:
    counted: Counter[str] = Counter()
    for row in await world.rows(jobs):
        if row.charged:
            counted.update({**row.charges, JOB_COUNT: 1})
    assert {name: used for name, used in (await world.usage()).items() if used} == dict(counted)


def test_every_failpoint_kills_some_process() -> None:
    assert sorted((*OF_THE_API, *TO_THE_END, *WHILE_CANCELLING)) == sorted(failpoints.ALL)


@pytest.mark.parametrize("name", OF_THE_API)
async def test_an_api_killed_while_it_accepts_is_asked_again_and_the_job_runs_once(service: Service, name: str) -> None:
    world = service.world
    await service.controller()
    api = await service.api(failpoint=name)
    assert await service.submit("job", "sleep", "1") is None
    await api.dies()
    accepted = [row.id for row in await world.rows(jobs)]
    assert len(accepted) == (0 if name == failpoints.ACCEPT_BEFORE_COMMIT else 1)
    await service.api()
    job_id = await service.submit("job", "sleep", "1")
    assert accepted in ([], [job_id])
    bystander = await service.submit("bystander", "sleep", "10000")
    await _both_once(world, job_id, bystander, "succeeded")


@pytest.mark.parametrize("name", TO_THE_END)
async def test_a_controller_killed_on_the_way_runs_each_job_once(service: Service, name: str) -> None:
    first = await service.controller(failpoint=name)
    await service.api()
    bystander = await service.submit("bystander", "sleep", "10000")
    job_id = await service.submit("job", "sleep", "1")
    await first.dies()
    await service.controller()
    await _both_once(service.world, job_id, bystander, "succeeded")
    pods = [(pod.phase, pod.exit_code) for pod in await service.world.pods() if pod.job_id == job_id]
    assert pods == [("Succeeded", 0)] * 2


@pytest.mark.parametrize("name", WHILE_CANCELLING)
async def test_a_controller_killed_while_it_cancels_cancels_once(service: Service, name: str) -> None:
    world = service.world
    first = await service.controller(failpoint=name)
    await service.api()
    bystander = await service.submit("bystander", "sleep", "10000")
    job_id = await service.submit("job", "sleep", "10000")
    await world.until_state(job_id, "running")
    await service.call(f"/v1/jobs/{job_id}/cancel")
    await first.dies()
    await service.controller()
    await _both_once(world, job_id, bystander, "cancelled")
    assert not (await world.volcano.list_page(COMMAND)).items


async def test_the_other_of_two_controllers_takes_over_from_a_leader_that_is_killed(service: Service) -> None:
    world = service.world
    controllers = [await service.controller() for _ in range(2)]
    await service.api()
    probes = [await service.printed(each, "probe port") for each in controllers]
    bystander = await service.submit("bystander", "sleep", "10000")
    job_id = await service.submit("job", "sleep", "15")
    await world.until_state(job_id, "running")
    assert sorted([await _leads(probe) for probe in probes]) == [False, True]
    if await _leads(probes[1]):
        controllers.reverse()
        probes.reverse()
    before = (await world.rows(leases))[0]
    controllers[0].process.send_signal(signal.SIGKILL)
    await controllers[0].dies()
    await _both_once(world, job_id, bystander, "succeeded")
    assert await _leads(probes[1])
    after = (await world.rows(leases))[0]
    assert (after.epoch > before.epoch, after.holder != before.holder) == (True, True)


async def test_a_leader_that_slept_through_its_lease_does_no_harm_when_it_wakes(service: Service) -> None:
    world = service.world
    controllers = [await service.controller() for _ in range(2)]
    await service.api()
    probes = [await service.printed(each, "probe port") for each in controllers]
    bystander = await service.submit("bystander", "sleep", "10000")
    await world.until_state(bystander, "running")
    if await _leads(probes[1]):
        controllers.reverse()
        probes.reverse()
    epoch = (await world.rows(leases))[0].epoch
    controllers[0].process.send_signal(signal.SIGSTOP)
    try:
        job_id = await service.submit("job", "sleep", "1")
        await _both_once(world, job_id, bystander, "succeeded")
    finally:
        controllers[0].process.send_signal(signal.SIGCONT)

    async def only_the_other_leads() -> bool:
        return [await _leads(probe) for probe in probes] == [False, True]

    await world.until(only_the_other_leads)
    assert (await world.rows(leases))[0].epoch > epoch
    await _books_agree(world)
    assert len(world.created) == 2


async def _leads(probe: str) -> bool:
    async with httpx.AsyncClient(trust_env=False) as http:
        return "\npumice_leader 1.0\n" in (await http.get(f"{probe}/metrics")).text
