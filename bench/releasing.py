"""How fast held jobs reach the cluster, against a plain client that creates the same objects on the same API server."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import httpx
import psutil

from bench.load import Measured, closed_loop
from bench.processes import free_port, pumice, wait_until_answers
from bench.world import QUEUE_MANIFEST

IN_FLIGHT = 16
LIMIT_SECONDS = 180.0

_JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/jobs"
_QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A fresh simulated cluster in a process of its own."""

    url: str
    kubeconfig: Path


@contextmanager
def fresh_cluster(scratch: Path, create_seconds: float) -> Iterator[Cluster]:
    """Start one with 100 nodes of 8 GPUs, whose creates of Jobs each take so much longer."""
    port = free_port()
    cluster = Cluster(f"http://127.0.0.1:{port}", scratch / "kubeconfig")
    arguments = ("--port", str(port), "--nodes", "100x8", "--kubeconfig-out", str(cluster.kubeconfig))
    with pumice("simulate", *arguments, environment={}, log=scratch / "simulate.log") as process:
        wait_until_answers(f"{cluster.url}/readyz", process)
        if create_seconds:
            slow = {"effect": "delay_before", "method": "POST", "plural": "jobs", "seconds": create_seconds}
            httpx.post(f"{cluster.url}/simulator/faults", json={**slow, "count": 1_000_000}).raise_for_status()
        yield cluster


async def plain_creates(cluster: Cluster, queue: str, manifests: list[dict[str, Any]]) -> Measured:
    """POST all manifests, sixteen in flight."""
    async with aiohttp.ClientSession(cluster.url, connector=aiohttp.TCPConnector(limit=IN_FLIGHT)) as session:
        await _prepare(session, queue, manifests[0]["metadata"]["namespace"])

        async def call(number: int) -> None:
            manifest = manifests[number]
            path = _JOBS.format(namespace=manifest["metadata"]["namespace"])
            async with session.post(path, json=manifest) as answer:
                if answer.status != 201:
                    raise RuntimeError(f"Create answered {answer.status}: {await answer.text()}")
                await answer.read()

        return await closed_loop([call] * IN_FLIGHT, total=len(manifests))


async def _prepare(session: aiohttp.ClientSession, queue: str, namespace: str) -> None:
    await session.post("/api/v1/namespaces", json={"metadata": {"name": namespace}})
    await session.post(_QUEUES, json=QUEUE_MANIFEST | {"metadata": {"name": queue}})
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        async with session.get(f"{_QUEUES}/{queue}") as answer:
            if (await answer.json()).get("status", {}).get("state") == "Open":
                return
        await asyncio.sleep(0.05)
    raise RuntimeError("The queue did not open within 30 s.")


async def released_jobs(cluster: Cluster, scratch: Path, database_url: str, dsn: str, jobs: int) -> tuple[float, float]:
    """Let a controller hand all held jobs to a cluster.

    Returns jobs per second from the first claim to the last recorded submission, and the controller's resident memory
    in MB with all of them live.
    """
    environment = {
        "PUMICE_DATABASE_URL": database_url,
        "PUMICE_KUBECONFIG": str(cluster.kubeconfig),
        "PUMICE_RELEASE_WINDOW": "off",
        "PUMICE_SUBMIT_CONCURRENCY": str(IN_FLIGHT),
    }
    with pumice("controller", environment=environment, log=scratch / "controller.log") as controller:
        rate = await _until_submitted(dsn, jobs)
        return rate, psutil.Process(controller.pid).memory_info().rss / 1e6


async def _until_submitted(dsn: str, jobs: int) -> float:
    connection = await asyncpg.connect(dsn)
    try:
        deadline = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < deadline:
            row = await connection.fetchrow(
                "SELECT count(submitted_at) AS done, extract(epoch FROM max(submitted_at) - min(attempted_at)) AS took"
                " FROM jobs WHERE ended_at IS NULL"
            )
            if row["done"] >= jobs:
                return jobs / float(row["took"])
            await asyncio.sleep(0.5)
        raise RuntimeError(f"Only {row['done']} of {jobs} jobs were submitted within {LIMIT_SECONDS:.0f} s.")
    finally:
        await connection.close()
