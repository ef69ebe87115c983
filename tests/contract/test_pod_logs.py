"""The logs of pods. Nodes of the real control plane have no kubelet: what comes after it is the simulator's alone."""

import asyncio
from typing import Any

import aiohttp
import pytest

from app.simulator.objects import Object

LIMIT_SECONDS = 15


def pod(name: str, *containers: str, **spec: Any) -> dict[str, Any]:
    made = [{"name": each, "image": "registry.test/llm:1"} for each in containers or ("main",)]
    return {"metadata": {"name": name}, "spec": {"containers": made, "schedulerName": "nobody", **spec}}


async def bind(api: Any, pods: str, name: str, node: str) -> None:
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
    assert (await api.post(f"{pods}/{name}/binding", body))[0] == 201


async def test_the_log_of_a_missing_pod_is_404(api: Any, pods: str) -> None:
    status, answer = await api.get(f"{pods}/missing/log")
    assert (status, answer["reason"], answer["details"]["name"]) == (404, "NotFound", "missing")


async def test_a_pod_without_a_node_has_no_content(api: Any, pods: str) -> None:
    await api.post(pods, pod("a"))
    for query in ({}, {"follow": "true"}, {"previous": "true"}, {"tailLines": 0}, {"container": "main"}):
        assert await api.get(f"{pods}/a/log", **query) == (204, "")


async def test_a_container_has_to_be_chosen_among_several(api: Any, pods: str) -> None:
    first = [{"name": "first", "image": "registry.test/llm:1"}]
    await api.post(pods, pod("a", "main", "side", initContainers=first))
    status, answer = await api.get(f"{pods}/a/log")
    assert (status, answer["reason"]) == (400, "BadRequest")
    assert answer["message"] == "a container name must be specified for pod a, choose one of: [first main side]"
    assert await api.get(f"{pods}/a/log", container="first") == (204, "")
    status, answer = await api.get(f"{pods}/a/log", container="other")
    assert (status, answer["message"]) == (400, "container other is not valid for pod a")


@pytest.mark.parametrize(
    ("query", "field", "message"),
    [
        ({"tailLines": "-1"}, "tailLines", "Invalid value: -1: must be greater than or equal to 0"),
        ({"limitBytes": "0"}, "limitBytes", "Invalid value: 0: must be greater than 0"),
        ({"sinceSeconds": "0"}, "sinceSeconds", "Invalid value: 0: must be greater than 0"),
        (
            {"sinceSeconds": "1", "sinceTime": "2026-01-01T00:00:00Z"},
            "[]",
            "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
        ),
    ],
)
async def test_options_that_cannot_be_are_422(api: Any, pods: str, query: Any, field: str, message: str) -> None:
    await api.post(pods, pod("a"))
    status, answer = await api.get(f"{pods}/a/log", **query)
    assert (status, answer["reason"]) == (422, "Invalid")
    assert answer["message"] == f'PodLogOptions "a" is invalid: {field}: {message}'
    assert [(each["field"], each["message"]) for each in answer["details"]["causes"]] == [(field, message)]


async def test_options_that_cannot_be_read_are_400(api: Any, pods: str) -> None:
    await api.post(pods, pod("a"))
    for query in ({"tailLines": "abc"}, {"sinceTime": "yesterday"}):
        status, answer = await api.get(f"{pods}/a/log", **query)
        assert (status, answer["reason"]) == (400, "BadRequest")


async def test_a_node_that_is_not_there_is_404(api: Any, pods: str) -> None:
    await api.post(pods, pod("a"))
    await bind(api, pods, "a", "nowhere-1")
    status, answer = await api.get(f"{pods}/a/log")
    assert (status, answer["message"]) == (404, 'pods "nowhere-1" not found')


async def test_a_log_is_only_read(api: Any, pods: str) -> None:
    await api.post(pods, pod("a"))
    assert (await api.post(f"{pods}/a/log", {}))[0] == 405


class Running:
    """A pod on the simulated node, and its log."""

    def __init__(self, api: Any, cluster: Any, namespace: str) -> None:
        self.api, self.cluster, self.namespace = api, cluster, namespace
        self.path = f"/api/v1/namespaces/{namespace}/pods"

    async def start(self, seconds: str = "3600", **annotations: str) -> None:
        body = pod("a", "main", restartPolicy=annotations.pop("restart_policy", "Never"))
        values = {"run-seconds": seconds, **{name.replace("_", "-"): value for name, value in annotations.items()}}
        body["metadata"]["annotations"] = {f"simulator.pumice.dev/{name}": value for name, value in values.items()}
        assert (await self.api.post(self.path, body))[0] == 201
        await bind(self.api, self.path, "a", "gpu-1")

    async def until(self, state: str) -> Object:
        def reached(_: int, value: Any) -> bool:
            return any(state in each["state"] for each in value["status"].get("containerStatuses", ()))

        await self.api.until(f"{self.path}/a", reached)
        return (await self.api.get(f"{self.path}/a"))[1]

    def write(self, data: bytes) -> None:
        self.cluster.faults.logs.write(self.namespace, "a", data)

    async def read(self, **query: Any) -> bytes:
        async with self.api.session.get(f"{self.api.url}{self.path}/a/log", params=query) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.read()

    async def until_open(self, answers: int) -> None:
        while (await self.api.post("/simulator/logs/count", {}))[1] != {"logs": answers}:
            pass

    def follow(self, **query: Any) -> Any:
        return self.api.session.get(f"{self.api.url}{self.path}/a/log", params={"follow": "true", **query})


@pytest.fixture
async def running(api: Any, cluster: Any, namespace: str) -> Running:
    return Running(api, cluster, namespace)


async def test_a_container_that_waits_is_400(running: Running) -> None:
    await running.start(image_pull="ErrImagePull")
    await running.until("waiting")
    await running.api.until(f"{running.path}/a/log", lambda _, value: "ErrImagePull" in value["message"])
    status, answer = await running.api.get(f"{running.path}/a/log")
    assert (status, answer["reason"]) == (400, "BadRequest")
    assert answer["message"] == 'container "main" in pod "a" is waiting to start: ErrImagePull'


async def test_bytes_come_as_they_were_written(running: Running) -> None:
    await running.start()
    await running.until("running")
    data = b"one\n\x00\xff\xfe two\r\rthree\n" + b"x" * 1_000_000 + b"\nno end"
    running.write(data)
    assert await running.read() == data
    assert await running.read(tailLines=1) == b"no end"
    assert await running.read(tailLines=2) == b"x" * 1_000_000 + b"\nno end"
    assert await running.read(tailLines=0) == b""
    assert await running.read(limitBytes=5) == b"one\n\x00"
    stamped = (await running.read(timestamps="true", tailLines=3)).split(b"\n")[0]
    assert stamped[30:] == b" \x00\xff\xfe two\r\rthree"
    assert stamped[:2] == b"20"
    assert stamped[19:20] == b"."


async def test_a_log_is_followed_until_the_container_ends(running: Running) -> None:
    await running.start("20")  # a second at this speed
    await running.until("running")
    running.write(b"before\n")
    async with asyncio.timeout(LIMIT_SECONDS), running.follow() as answer:
        assert await answer.content.readexactly(7) == b"before\n"
        running.write(b"half ")
        assert await answer.content.readexactly(5) == b"half "
        running.write(b"a line\n")
        assert await answer.content.read() == b"a line\n"
    assert "terminated" in (await running.until("terminated"))["status"]["containerStatuses"][0]["state"]


async def test_a_tail_of_none_follows_only_what_comes(running: Running) -> None:
    await running.start()
    await running.until("running")
    running.write(b"before\n")
    async with asyncio.timeout(LIMIT_SECONDS):
        following = asyncio.create_task(running.follow(tailLines=0).__aenter__())
        await running.until_open(1)
        running.write(b"after\n")
        answer = await following  # no header comes before the first line
        assert await answer.content.readexactly(6) == b"after\n"
        answer.close()
        await running.until_open(0)


async def test_the_lines_by_the_clock_name_the_pod(running: Running) -> None:
    await running.start("20", exit_code="3")
    await running.until("terminated")
    lines = (await running.read()).splitlines()
    assert lines[0] == b"simulated: a main starts"
    assert lines[-1] == b"simulated: a main ends with exit code 3"
    assert (await running.read(tailLines=1)).splitlines() == lines[-1:]
    assert await running.read(sinceTime="2999-01-01T00:00:00Z") == b""
    assert (await running.read(sinceSeconds=3600)).splitlines() == lines


async def test_a_flood_has_numbered_lines_of_one_size(running: Running) -> None:
    await running.start(log_lines="5000", log_line_bytes="200")
    await running.until("running")
    lines = (await running.read()).splitlines(keepends=True)
    assert len(lines) == 5000
    assert {len(line) for line in lines} == {200}
    assert lines[4999].startswith(b"simulated: a main line 4999 .")
    assert (await running.read(tailLines=2)).splitlines(keepends=True) == lines[-2:]


async def test_a_restart_in_place_keeps_the_run_before(running: Running) -> None:
    await running.start("1", restart_policy="Always")
    await running.until("running")
    status, answer = await running.api.get(f"{running.path}/a/log", previous="true")
    if status == 400:  # else the first restart was faster
        assert answer["message"] == 'previous terminated container "main" in pod "a" not found'
    await running.api.until(
        f"{running.path}/a", lambda _, value: value["status"]["containerStatuses"][0]["restartCount"] > 0
    )
    assert (await running.read(previous="true")).endswith(b"simulated: a main ends with exit code 0\n")


async def test_open_answers_are_cut_and_broken(running: Running) -> None:
    await running.start()
    await running.until("running")
    running.write(b"one\n")
    async with asyncio.timeout(LIMIT_SECONDS), running.follow() as answer:
        await answer.content.readexactly(4)
        assert (await running.api.post("/simulator/logs/count", {}))[1] == {"logs": 1}
        assert (await running.api.post("/simulator/logs/cut", {}))[1] == {"logs": 1}
        assert await answer.content.read() == b""
    async with asyncio.timeout(LIMIT_SECONDS), running.follow() as answer:
        await answer.content.readexactly(4)
        assert (await running.api.post("/simulator/logs/abort", {}))[1] == {"logs": 1}
        with pytest.raises(aiohttp.ClientError):
            await answer.content.read()
    where = {"namespace": running.namespace, "name": "a"}
    assert (await running.api.post("/simulator/logs/write", where | {"base64": "//8K"}))[1] == {"logs": 3}
    assert (await running.api.post("/simulator/logs/write", where | {"base64": "!"}))[0] == 400
    assert (await running.api.post("/simulator/logs/write", where | {"container": "x"}))[0] == 400
    assert (await running.api.post("/simulator/logs/write", where | {"name": "x"}))[0] == 404
    assert (await running.api.post("/simulator/logs/other", {}))[0] == 404
    assert await running.read() == b"one\n\xff\xff\n"


async def test_a_node_that_does_not_answer_is_500(running: Running) -> None:
    await running.start()
    await running.until("running")
    await running.cluster.faults.lose_node("gpu-1")
    await running.api.until("/api/v1/nodes/gpu-1", lambda _, node: _ready(node) != "True")
    status, answer = await running.api.get(f"{running.path}/a/log")
    assert status == 500
    assert "no route to host" in answer["message"]


def _ready(node: Any) -> str:
    return next(each["status"] for each in node["status"]["conditions"] if each["type"] == "Ready")
