"""How much log text one api process hands on while many readers follow, and whether its memory grows with it."""

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import aiohttp
import asyncpg
import psutil

from app.simulator.cluster import SimulatedCluster, SimulatorSettings
from app.simulator.kinds import NAMESPACE, POD
from bench.processes import free_port, pumice, wait_until_answers
from bench.world import Service, job_body, make_team

FOLLOWERS = 50
LINE_BYTES = 1_000
TEAM = "logs"
_NAMESPACE = f"team-{TEAM}"
_CHUNK_BYTES = 2**16
_WARM_SECONDS = 3.0
_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Followed:
    """What was measured."""

    megabytes_per_second: float
    grown_megabytes: float
    resident_megabytes: float
    processor_seconds_per_second: float


async def followed_logs(scratch: Path, url: str, dsn: str, token: str, *, rate: int, seconds: float) -> Followed:
    """Follow fifty logs that print `rate` bytes a second together."""
    async with SimulatedCluster(SimulatorSettings(nodes=1, gpus_per_node=FOLLOWERS, volcano=False)) as cluster:
        kubeconfig = cluster.kubeconfig(scratch / "kubeconfig-logs")
        port = free_port()
        environment = {
            "PUMICE_DATABASE_URL": url,
            "PUMICE_ADMIN_TOKEN": token,
            "PUMICE_KUBECONFIG": str(kubeconfig),
            "PUMICE_LOG_MAX_PODS": "1",
        }
        with pumice("api", "--port", str(port), environment=environment, log=scratch / "api-logs.log") as api:
            service = Service(f"http://127.0.0.1:{port}", token)
            await asyncio.to_thread(wait_until_answers, f"{service.url}/readyz", api)
            jobs = await _running_jobs(cluster, service, dsn, rate // FOLLOWERS)
            return await _measure(service, jobs, api, seconds)


async def _running_jobs(cluster: SimulatedCluster, service: Service, dsn: str, rate: int) -> list[str]:
    """Jobs with a pod each that prints without an end; rows say of them what the controller would."""
    await asyncio.to_thread(make_team, service, TEAM, gpus=FOLLOWERS)
    await cluster.objects.create(NAMESPACE, {"metadata": {"name": _NAMESPACE}})
    connection = await asyncpg.connect(dsn)
    try:
        return [await _running_job(cluster, service, connection, number, rate) for number in range(FOLLOWERS)]
    finally:
        await connection.close()


async def _running_job(
    cluster: SimulatedCluster, service: Service, connection: asyncpg.Connection, number: int, rate: int
) -> str:
    async with (
        aiohttp.ClientSession(headers=service.headers) as session,
        session.post(f"{service.url}/v1/teams/{TEAM}/jobs", json=job_body(f"followed-{number}")) as answer,
    ):
        job_id: str = (await answer.json())["id"]
    made = await cluster.objects.create(POD, _pod(f"followed-{number}", rate))
    await cluster.objects.bind(_NAMESPACE, made["metadata"]["name"], "gpu-1")
    await connection.execute("UPDATE jobs SET state = 'running', attempt = 1 WHERE id = $1", UUID(job_id))
    await connection.execute(
        "INSERT INTO job_pods (uid, job_id, name, attempt, task, index, phase, restarts, resources, created_at)"
        " VALUES ($1, $2, $3, 1, 'worker', 0, 'Running', 0, '{}', now())",
        made["metadata"]["uid"],
        UUID(job_id),
        made["metadata"]["name"],
    )
    return job_id


def _pod(name: str, rate: int) -> dict[str, Any]:
    prefix = "simulator.pumice.dev/"
    printing = {"run-seconds": "86400", "log-bytes-per-second": str(rate), "log-line-bytes": str(LINE_BYTES)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": _NAMESPACE,
            "annotations": {prefix + field: value for field, value in printing.items()},
        },
        "spec": {
            "restartPolicy": "Never",
            "schedulerName": "nobody",
            "containers": [{"name": "worker", "image": "registry.test/llm:1"}],
        },
    }


async def _measure(service: Service, jobs: list[str], api: "subprocess.Popen[bytes]", seconds: float) -> Followed:
    process = psutil.Process(api.pid)
    read = [0]
    async with _followers(service, jobs, read):
        await asyncio.sleep(_WARM_SECONDS)
        before, used, began, bytes_before = process.memory_info().rss, process.cpu_times(), time.perf_counter(), read[0]
        most = before
        while time.perf_counter() - began < seconds:
            await asyncio.sleep(0.25)
            most = max(most, process.memory_info().rss)
        taken, now = time.perf_counter() - began, process.cpu_times()
        processor = (now.user + now.system - used.user - used.system) / taken
        return Followed(
            (read[0] - bytes_before) / taken / _MEGABYTE, (most - before) / _MEGABYTE, most / _MEGABYTE, processor
        )


@asynccontextmanager
async def _followers(service: Service, jobs: list[str], read: list[int]) -> AsyncIterator[None]:
    """Readers of all the logs, who count what they get."""
    timeout = aiohttp.ClientTimeout(total=None)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(headers=service.headers, timeout=timeout, connector=connector) as session:

        async def follow(job_id: str) -> None:
            query = {"follow": "true", "tail": "0"}
            async with session.get(f"{service.url}/v1/jobs/{job_id}/logs", params=query) as answer:
                answer.raise_for_status()
                async for chunk in answer.content.iter_chunked(_CHUNK_BYTES):
                    read[0] += len(chunk)

        tasks = [asyncio.create_task(follow(job_id)) for job_id in jobs]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        failed = sum(not isinstance(error, asyncio.CancelledError) for error in ended)
        if failed:
            raise RuntimeError(f"{failed} followers ended by themselves.")
