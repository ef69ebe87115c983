"""Playing the scenario over HTTP: prepare queues and teams, submit the jobs, look again and again until all ended."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from app.commands.demo_client import DemoClient
from app.commands.demo_evidence import JobSeen, Sample, job_of, queue_of
from app.commands.demo_scenario import ALL_ENDED_SECONDS, JOBS, QUEUES, TEAMS, DemoQueue, DemoTeam
from app.commands.failure import CommandFailed

_SAMPLE_SECONDS = 0.25
_QUEUE_OPEN_SECONDS = 30.0


@asynccontextmanager
async def team_clients(admin: DemoClient) -> AsyncIterator[dict[str, DemoClient]]:
    """Make queues, teams, quotas and a token for each team; yields a client for each team. The tokens end with it.

    Queues and teams that are there already are used as they are when they are like the scenario's.
    """
    for queue in QUEUES:
        await _ensure_queue(admin, queue)
    for team in TEAMS:
        await _ensure_team(admin, team)
    for queue in QUEUES:
        await admin.until(f"/v1/queues/{queue.name}", _is_open, seconds=_QUEUE_OPEN_SECONDS)
    tokens = {team.name: (await admin.call("POST", "/v1/tokens", team.token, expected={201})).json() for team in TEAMS}
    try:
        yield {team: admin.as_holder_of(token["token"]) for team, token in tokens.items()}
    finally:
        for token in tokens.values():
            await admin.call("DELETE", f"/v1/tokens/{token['id']}", expected={200, 204})


async def submit_all(clients: dict[str, DemoClient], seconds: int) -> dict[str, str]:
    """Submit the four jobs, one after the other; returns their ids by name."""
    ids = {}
    for job in JOBS:
        path = f"/v1/teams/{job.team}/jobs"
        key = {"Idempotency-Key": str(uuid4())}
        created = await clients[job.team].call("POST", path, job.body(seconds), expected={201}, headers=key)
        ids[job.name] = created.json()["id"]
    return ids


async def samples(admin: DemoClient, ids: dict[str, str]) -> AsyncIterator[Sample]:
    """Look at everything four times a second until all jobs have ended and their queues are empty.

    Raises:
        CommandFailed: they have not within two minutes.
    """
    clock = asyncio.get_running_loop().time
    started = clock()
    while True:
        sample = await _sample(admin, ids, clock() - started)
        yield sample
        if sample.settled:
            return
        if sample.at > ALL_ENDED_SECONDS:
            states = ", ".join(f"{name} {job.state}" for name, job in sample.jobs.items())
            raise CommandFailed(f"The scenario has not ended within {ALL_ENDED_SECONDS:g} s: {states}.")
        await asyncio.sleep(_SAMPLE_SECONDS)


async def _sample(admin: DemoClient, ids: dict[str, str], at: float) -> Sample:
    jobs = await asyncio.gather(*(_job(admin, identity) for identity in ids.values()))
    queues = await asyncio.gather(*(admin.get(f"/v1/queues/{queue.name}") for queue in QUEUES))
    return Sample(
        at=at,
        jobs={job.name: job for job in jobs},
        queues={queue.name: queue for queue in map(queue_of, queues)},
    )


async def _job(admin: DemoClient, identity: str) -> JobSeen:
    # pods after the job, so that a job which has ended is seen with all that its pods came to
    job = await admin.get(f"/v1/jobs/{identity}")
    pods = await admin.get(f"/v1/jobs/{identity}/pods")
    return job_of(job, pods["items"])


async def _ensure_queue(admin: DemoClient, queue: DemoQueue) -> None:
    answer = await admin.call("POST", "/v1/queues", queue.body, expected={201, 409})
    if answer.status_code == HTTPStatus.CREATED:
        return
    found = await admin.get(f"/v1/queues/{queue.name}")
    if (found["weight"], queue_of(found).capability) != (queue.weight, queue.capability):
        raise CommandFailed(
            f"The queue {queue.name} is there already and is not like the demo's "
            f"(weight {queue.weight}, capability {queue.capability} GPUs)."
        )


async def _ensure_team(admin: DemoClient, team: DemoTeam) -> None:
    answer = await admin.call("POST", "/v1/teams", team.body, expected={201, 409})
    if answer.status_code == HTTPStatus.CONFLICT:
        found = await admin.get(f"/v1/teams/{team.name}")
        if team.queue not in found["queues"]:
            raise CommandFailed(f"The team {team.name} is there already without the queue {team.queue}.")
    path = f"/v1/teams/{team.name}/quota"
    if (await admin.get(path))["updated_at"] is None:  # a quota that somebody put stays as it is
        await admin.call("PUT", path, team.quota, expected={200})


def _is_open(queue: dict[str, Any]) -> bool:
    return str((queue["observed"] or {}).get("state")) == "Open"
