"""A job body that is right, two teams, and what tests ask about jobs."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

BASE: dict[str, Any] = {
    "name": "bulk-score",
    "tasks": [
        {
            "name": "worker",
            "replicas": 1,
            "image": "registry.test/llm:1",
            "command": ["score"],
            "resources": {"cpu": "4", "memory": "16Gi", "gpus": 1},
        }
    ],
}


@pytest.fixture
def body() -> Callable[..., dict[str, Any]]:
    """BASE with job fields, with fields of its task under `task`, and with `gpus` for each replica."""

    def make(*, task: dict[str, Any] | None = None, gpus: Any = None, **job: Any) -> dict[str, Any]:
        made = copy.deepcopy(BASE)
        made["tasks"][0] |= task or {}
        if gpus is not None:
            made["tasks"][0]["resources"]["gpus"] = gpus
        return made | job

    return make


class Member:
    """A member of a team who submits and looks at jobs."""

    def __init__(self, api: Any, client: Any, team: str) -> None:
        self.api = api
        self.client = client
        self.team = team

    async def submit(self, body: dict[str, Any], **headers: str) -> Any:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.post(f"/v1/teams/{self.team}/jobs", json=body, headers=sent)

    async def accepted(self, body: dict[str, Any], **headers: str) -> dict[str, Any]:
        answer = await self.submit(body, **headers)
        assert answer.status_code == 201, answer.text
        job: dict[str, Any] = answer.json()
        return job

    async def refused(self, body: dict[str, Any], status: int, kind: str, **headers: str) -> dict[str, Any]:
        """The problem of a refused submission, after which nothing is left behind."""
        before = await self.names()
        answer = await self.submit(body, **headers)
        assert (answer.status_code, answer.json()["type"]) == (status, kind), answer.text
        assert await self.names() == before
        problem: dict[str, Any] = answer.json()
        return problem

    async def names(self) -> list[str]:
        return [job["name"] for job in await self.listed()]

    async def listed(self, **filters: Any) -> list[dict[str, Any]]:
        answer = await self.client.get("/v1/jobs", params=filters)
        assert answer.status_code == 200, answer.text
        items: list[dict[str, Any]] = answer.json()["items"]
        return items

    async def used(self, resource: str = "nvidia.com/gpu") -> int:
        quota = (await self.client.get(f"/v1/teams/{self.team}/quota")).json()
        used: int = quota["usage"].get(resource, {}).get("used", 0)
        return used

    async def put_quota(self, limits: dict[str, Any], **fields: Any) -> None:
        entries = {name: limit if isinstance(limit, dict) else {"outstanding": limit} for name, limit in limits.items()}
        path = f"/v1/teams/{self.team}/quota"
        version = (await self.api.admin.get(path)).headers.get("ETag")
        headers = {} if version is None else {"If-Match": version}
        answer = await self.api.admin.put(path, json={"limits": entries, **fields}, headers=headers)
        assert answer.status_code == 200, answer.text

    async def cancel(self, job_id: str) -> Any:
        return await self.client.post(f"/v1/jobs/{job_id}/cancel")


@pytest.fixture
async def nlp(api: Any) -> Member:
    """A submitter of the team nlp: queue of 8 GPUs, quota of 8."""
    await api.make_team("nlp")
    return Member(api, await api.member("nlp"), "nlp")


@pytest.fixture
async def vision(api: Any) -> Member:
    """A submitter of the team vision: quota of 4 GPUs and 2 MIG slices, a queue without bounds."""
    await api.make_queue("q-vision", capability={})
    await api.make_team("vision", queues=["q-vision"], gpus=None)
    member = Member(api, await api.member("vision"), "vision")
    await member.put_quota({"nvidia.com/gpu": 4, "nvidia.com/mig-1g.5gb": 2})
    return member
