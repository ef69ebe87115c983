"""How fast held jobs reach the cluster, against a plain client that creates the same objects on the same API server."""

import asyncio
import time
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import psutil

from bench.load import Measured, closed_loop
from bench.processes import free_port, pumice, wait_until_answers
from bench.world import QUEUE_MANIFEST

IN_FLIGHT = 16
LIMIT_SECONDS = 180.0

_JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/jobs"
_QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"


async def plain_creates(scratch: Path, queue: str, manifests: list[dict[str, Any]]) -> Measured:
    """POST all manifests to a fresh simulated cluster, sixteen in flight."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with pumice(
        "simulate", "--port", str(port), "--nodes", "100x8", environment={}, log=scratch / "simulate.log"
    ) as one:
        wait_until_answers(f"{url}/readyz", one)
        async with aiohttp.ClientSession(url, connector=aiohttp.TCPConnector(limit=IN_FLIGHT)) as session:
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


async def released_jobs(scratch: Path, database_url: str, dsn: str, jobs: int) -> tuple[float, float]:
    """Let a controller hand all held jobs to a fresh simulated cluster.

    Returns jobs per second from the first claim to the last recorded submission, and the controller's resident memory
    in MB with all of them live.
    """
    port = free_port()
    kubeconfig = scratch / "kubeconfig"
    arguments = ("--port", str(port), "--nodes", "100x8", "--kubeconfig-out", str(kubeconfig))
    with pumice("simulate", *arguments, environment={}, log=scratch / "simulate.log") as cluster:
        wait_until_answers(f"http://127.0.0.1:{port}/readyz", cluster)
        environment = {
            "PUMICE_DATABASE_URL": database_url,
            "PUMICE_KUBECONFIG": str(kubeconfig),
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
