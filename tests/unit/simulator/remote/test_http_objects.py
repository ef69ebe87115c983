"""`Objects` over HTTP behaves as `Objects` in memory does, and bears what a network does."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from app.simulator.cluster import SimulatedCluster
from app.simulator.faults import Fault
from app.simulator.kinds import CONFIG_MAP, JOB, NODE, POD, QUEUE
from app.simulator.objects import ApiError, Object
from app.simulator.remote import http_objects
from app.simulator.remote.connection import NoCluster, open_connection
from app.simulator.remote.http_objects import HttpObjects


def config_map(name: str, **data: str) -> Object:
    return {"metadata": {"name": name, "namespace": "team", "labels": {"app": name}}, "data": data}


async def refusal(call: Any) -> ApiError:
    with pytest.raises(ApiError) as refused:
        await call
    return refused.value


async def test_a_list_of_many_pages_is_whole(objects: HttpObjects, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_objects, "PAGE", 3)
    for number in range(8):
        await objects.create(CONFIG_MAP, config_map(f"map-{number}"))
    found = await objects.list(CONFIG_MAP, "team")
    assert [each["metadata"]["name"] for each in found] == [f"map-{number}" for number in range(8)]
    assert {(each["apiVersion"], each["kind"]) for each in found} == {("v1", "ConfigMap")}
    assert len(await objects.list(CONFIG_MAP, None, "app in (map-1,map-2)")) == 2


async def test_writes_and_their_conflicts(objects: HttpObjects) -> None:
    first = await objects.create(CONFIG_MAP, config_map("one", a="1"))
    assert (await refusal(objects.create(CONFIG_MAP, config_map("one")))).reason == "AlreadyExists"
    changed = await objects.patch(CONFIG_MAP, "team", "one", {"data": {"b": "2", "a": None}})
    assert changed["data"] == {"b": "2"}
    stale = await refusal(objects.replace(CONFIG_MAP, first))
    assert (stale.code, stale.reason) == (409, "Conflict")
    assert (await objects.replace(CONFIG_MAP, {**changed, "data": {}})).get("data", {}) == {}
    other = await refusal(objects.delete(CONFIG_MAP, "team", "one", uid="another"))
    assert (other.code, other.reason) == (409, "Conflict")
    await objects.delete(CONFIG_MAP, "team", "one", uid=first["metadata"]["uid"])
    assert (await refusal(objects.get(CONFIG_MAP, "team", "one"))).reason == "NotFound"


async def test_status_is_a_subresource(objects: HttpObjects) -> None:
    queue = await objects.create(QUEUE, {"metadata": {"name": "q"}, "spec": {"weight": 1}, "status": {"state": "Open"}})
    assert "status" not in queue
    opened = await objects.replace(QUEUE, {**queue, "status": {"state": "Open"}}, "status")
    closed = await objects.patch(QUEUE, None, "q", {"status": {"state": "Closed"}}, "status")
    assert (opened["status"]["state"], closed["status"]["state"]) == ("Open", "Closed")


async def test_a_trial_is_not_stored(objects: HttpObjects) -> None:
    await objects.create(QUEUE, {"metadata": {"name": "trial"}, "spec": {}}, dry_run=True)
    assert await objects.list(QUEUE) == []


async def test_a_pod_is_bound_once(objects: HttpObjects) -> None:
    pod = {"metadata": {"name": "p", "namespace": "team"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await objects.create(POD, pod)
    node = (await objects.list(NODE))[0]["metadata"]["name"]
    await objects.bind("team", "p", node)
    assert (await objects.get(POD, "team", "p"))["spec"]["nodeName"] == node
    assert (await refusal(objects.bind("team", "p", node))).code == 409


async def test_a_server_that_asks_to_wait_is_asked_again(objects: HttpObjects, cluster: SimulatedCluster) -> None:
    fault = Fault("answer", method="POST", plural="configmaps", status=429, reason="TooManyRequests", count=2)
    fault.retry_after_seconds = 1
    cluster.faults.add(fault)
    await objects.create(CONFIG_MAP, config_map("patient"))
    assert fault.count == 0


async def test_a_refusal_without_that_is_not_repeated(objects: HttpObjects, cluster: SimulatedCluster) -> None:
    fault = Fault("answer", plural="configmaps", status=500, reason="InternalError", count=2)
    cluster.faults.add(fault)
    refused = await refusal(objects.create(CONFIG_MAP, config_map("once")))
    assert (refused.code, refused.reason, fault.count) == (500, "InternalError", 1)


async def test_a_lost_answer_is_a_refusal(objects: HttpObjects, cluster: SimulatedCluster) -> None:
    cluster.faults.add(Fault("drop_answer", method="POST", plural="configmaps"))
    refused = await refusal(objects.create(CONFIG_MAP, config_map("lost")))
    assert (refused.code, refused.reason) == (503, "ServiceUnavailable")
    assert (await refusal(objects.create(CONFIG_MAP, config_map("lost")))).reason == "AlreadyExists"


async def test_no_change_is_missed_when_the_past_is_forgotten(objects: HttpObjects, cluster: SimulatedCluster) -> None:
    told: list[tuple[str, str]] = []
    grown = asyncio.Event()

    async def follow() -> None:
        async with aclosing(objects.watch(CONFIG_MAP)) as events:
            async for event in events:
                told.append((event.type, event.object["metadata"]["name"]))
                grown.set()

    async def until_told(*last: tuple[str, str]) -> None:
        async with asyncio.timeout(20):
            while told[-len(last) :] != list(last):
                grown.clear()
                await grown.wait()

    await objects.create(CONFIG_MAP, config_map("stays"))
    await objects.create(CONFIG_MAP, config_map("goes"))
    following = asyncio.create_task(follow())
    await until_told(("ADDED", "goes"), ("ADDED", "stays"))
    await cluster.faults.away()
    await cluster.objects.delete(CONFIG_MAP, "team", "goes")
    await cluster.objects.create(CONFIG_MAP, config_map("comes"))
    cluster.faults.compact()
    await cluster.faults.back()
    await until_told(("DELETED", "goes"), ("ADDED", "comes"))
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


@pytest.mark.parametrize("content", ["", "a: [", "clusters: []\nusers: []\ncontexts: []\n"])
async def test_a_kubeconfig_that_names_no_cluster_is_said(content: str, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(content)
    with pytest.raises(NoCluster, match="cannot be read"):
        async with open_connection(str(path)):
            pass


async def test_a_server_that_is_not_there_is_a_refusal(tmp_path: Path, cluster: SimulatedCluster) -> None:
    path = cluster.kubeconfig(tmp_path / "kubeconfig")
    path.write_text(path.read_text().replace(cluster.url, "http://127.0.0.1:1"))
    async with open_connection(str(path)) as connection:
        refused = await refusal(HttpObjects(connection).list(JOB))
    assert refused.code == 503
    assert "cannot be reached" in refused.message
