"""Group 8: logs at the moments when there are none, and logs that are far too long."""

import asyncio
from typing import Any

import psutil
import pytest

from app.simulator.kinds import POD
from tests.cases.conftest import LOG_MAX_BYTES
from tests.cases.stage import LONG

pytestmark = pytest.mark.usefixtures("logs")


async def read(stage: Any, job_id: str, **query: Any) -> Any:
    return await stage.nlp.client.get(f"/v1/jobs/{job_id}/logs", params=query)


async def test_l01_logs_before_the_container_has_started(stage: Any) -> None:
    job_id = await stage.submit("early", annotations={"simulator.pumice.dev/start-seconds": "20"})
    answer = await read(stage, job_id)
    assert (answer.status_code, answer.json()["type"]) == (409, "logs-not-available")
    assert "WaitingForRelease" in answer.json()["detail"]
    following = asyncio.create_task(read(stage, job_id, follow="true"))
    stage.world.start(retention_seconds=60.0)
    answer = await stage.until(lambda: _waits_for(stage, job_id, "ContainerCreating"))
    assert answer.json()["type"] == "logs-not-available"
    await stage.until_state(job_id, "succeeded")
    followed = await following
    assert followed.status_code == 200
    assert b"worker ends with exit code 0" in followed.content
    never = await stage.submit("never", LONG, annotations={"simulator.pumice.dev/start-seconds": "1000000"})
    following = asyncio.create_task(read(stage, never, follow="true"))
    await stage.until_state(never, "pending")
    await _behind_an_init_container(stage)
    answer = await stage.until(lambda: _waits_for(stage, never, "PodInitializing"))
    assert answer.json()["type"] == "logs-not-available"
    await stage.ask("cancel", never)
    await stage.until_state(never, "cancelled")
    assert ((await following).status_code, (await following).content) == (200, b"")


async def _waits_for(stage: Any, job_id: str, reason: str) -> Any:
    answer = await read(stage, job_id)
    return answer if answer.status_code == 409 and answer.json()["reason"] == reason else None


async def _behind_an_init_container(stage: Any) -> None:
    """Show the newest pod as a kubelet does whose pod has an injected init container."""

    async def creating() -> Any:
        pods = await stage.pods()
        return pods if any(pod["status"].get("containerStatuses") for pod in pods) else None

    pod = (await stage.until(creating))[-1]
    state = {"waiting": {"reason": "PodInitializing"}}
    statuses = [{**each, "state": state} for each in pod["status"]["containerStatuses"]]
    change = {"status": {"containerStatuses": statuses, "initContainerStatuses": [{"name": "istio-init"}]}}
    await stage.cluster.objects.patch(POD, "team-nlp", pod["metadata"]["name"], change, "status")


class Drain:
    """An answer of the application that is counted and let go, as a socket does; httpx would gather it."""

    def __init__(self) -> None:
        self.status = 0
        self.size = 0
        self.end = b""

    async def read(self, app: Any, path: str, authorization: str) -> "Drain":
        headers = [(b"host", b"api.test"), (b"authorization", authorization.encode())]
        scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http"}
        scope |= {"path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "headers": headers}
        asked = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> dict[str, Any]:
            return asked.pop() if asked else await asyncio.Event().wait()

        await app(scope, receive, self._take)
        return self

    async def _take(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            return
        part = message.get("body", b"")
        self.size += len(part)
        self.end = (self.end + part)[-200:]


async def test_l04_huge_logs(stage: Any, app: Any) -> None:
    lines = {"simulator.pumice.dev/log-lines": "20000000", "simulator.pumice.dev/log-line-bytes": "107"}
    job_id = await stage.submit("huge", LONG, annotations=lines)  # 2 GiB
    stage.world.start()
    await stage.until_state(job_id, "running")
    resident, path = psutil.Process().memory_info, f"/v1/jobs/{job_id}/logs"
    before = resident().rss
    drains = [Drain().read(app, path, stage.nlp.client.headers["Authorization"]) for _ in range(5)]
    for answer in await asyncio.gather(*drains):
        assert answer.status == 200
        assert LOG_MAX_BYTES < answer.size < LOG_MAX_BYTES + 200
        assert b"\n[pumice: cut after 25165824 bytes; " in answer.end
    assert resident().rss - before < 100 * 2**20
    tail = await read(stage, job_id, tail=100)
    assert len(tail.content.splitlines()) == 100
    assert (await read(stage, job_id, tail=0)).content == b""
    assert (await read(stage, job_id, since="2999-01-01T00:00:00Z")).content == b""
    for wrong in ("-1", "abc"):
        assert (await read(stage, job_id, tail=wrong)).status_code == 422
    assert (await stage.nlp.client.get("/healthz")).status_code == 200
