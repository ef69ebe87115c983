"""The simulated server's own switches: what tests of the service lean on."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from app.simulator.cluster import SimulatedCluster, SimulatorSettings
from app.simulator.faults import Fault
from app.simulator.kinds import CONFIG_MAP

LIMIT_SECONDS = 15


async def take(events: Any, count: int) -> list[dict[str, Any]]:
    async with asyncio.timeout(LIMIT_SECONDS):
        return [await anext(events) for _ in range(count)]


async def version(api: Any, path: str) -> str:
    return (await api.get(path))[1]["metadata"]["resourceVersion"]


async def test_an_answer_instead_of_doing_it(api: Any, config_maps: str, cluster: Any) -> None:
    cluster.faults.add(Fault("answer", method="POST", plural="configmaps", status=429, retry_after_seconds=7, count=2))
    for _ in range(2):
        async with api.session.post(api.url + config_maps, json={"metadata": {"name": "a"}}) as answer:
            assert answer.status == 429
            assert answer.headers["Retry-After"] == "7"
            assert (await answer.json())["details"]["retryAfterSeconds"] == 7
    assert (await api.get(f"{config_maps}/a"))[0] == 404
    assert (await api.post(config_maps, {"metadata": {"name": "a"}}))[0] == 201


async def test_a_fault_hits_only_what_it_names(api: Any, config_maps: str, cluster: Any) -> None:
    cluster.faults.add(Fault("answer", name="b", status=500, reason="InternalError"))
    await api.post(config_maps, {"metadata": {"name": "a"}})
    await api.post(config_maps, {"metadata": {"name": "b"}})
    assert (await api.get(f"{config_maps}/a"))[0] == 200
    assert (await api.get(f"{config_maps}/b"))[0] == 500
    assert (await api.get(f"{config_maps}/b"))[0] == 200


async def test_a_lost_answer_of_a_create_that_was_done(api: Any, config_maps: str, cluster: Any) -> None:
    cluster.faults.add(Fault("drop_answer", method="POST"))
    with pytest.raises(aiohttp.ClientError):
        await api.post(config_maps, {"metadata": {"name": "a"}})
    assert (await api.get(f"{config_maps}/a"))[0] == 200


async def test_a_create_that_comes_late(api: Any, config_maps: str, cluster: Any) -> None:
    cluster.faults.add(Fault("delay_before", method="POST", seconds=1.0))
    late = asyncio.create_task(api.post(config_maps, {"metadata": {"name": "a"}}))
    await api.until("/simulator/faults", lambda _, value: value == {"faults": []})
    assert (await api.get(f"{config_maps}/a"))[0] == 404
    assert (await late)[0] == 201


async def test_a_late_create_is_done_though_the_client_has_gone(api: Any, config_maps: str, cluster: Any) -> None:
    cluster.faults.add(Fault("delay_before", method="POST", seconds=1.0))
    body, limit = {"metadata": {"name": "a"}}, aiohttp.ClientTimeout(total=0.05)
    with pytest.raises(TimeoutError):
        await api.session.post(api.url + config_maps, json=body, timeout=limit)
    assert (await api.get(f"{config_maps}/a"))[0] == 404
    await api.until(f"{config_maps}/a", lambda status, _: status == 200)


async def test_an_answer_that_comes_late(api: Any, config_maps: str, cluster: Any) -> None:
    cluster.faults.add(Fault("delay_after", method="POST", seconds=1.0))
    late = asyncio.create_task(api.post(config_maps, {"metadata": {"name": "a"}}))
    await api.until(f"{config_maps}/a", lambda status, _: status == 200)
    assert not late.done()
    assert (await late)[0] == 201


async def test_watches_are_cut(api: Any, config_maps: str, cluster: Any) -> None:
    start = await version(api, config_maps)
    async with api.watch(config_maps, resourceVersion=start) as events:
        assert cluster.faults.cut_watches("configmaps") == 1
        async with asyncio.timeout(LIMIT_SECONDS):
            assert [event async for event in events] == []
    async with api.watch(config_maps, resourceVersion=start) as events:
        assert cluster.faults.cut_watches(abrupt=True) == 1
        with pytest.raises(aiohttp.ClientError):
            await take(events, 1)
    await api.until("/simulator/faults", lambda *_: cluster.faults.open_watches() == 0)


async def test_a_stalled_watch_stays_open_and_silent(api: Any, config_maps: str, cluster: Any) -> None:
    start = await version(api, config_maps)
    async with api.watch(config_maps, resourceVersion=start) as events:
        cluster.faults.stall_watches()
        await api.post(config_maps, {"metadata": {"name": "a"}})
        waiting = asyncio.ensure_future(anext(events))
        await api.get(f"{config_maps}/a")
        assert not waiting.done()
        assert cluster.faults.open_watches("configmaps") == 1
        cluster.faults.stall_watches(stalled=False)
        async with asyncio.timeout(LIMIT_SECONDS):
            assert (await waiting)["object"]["metadata"]["name"] == "a"


async def test_watches_expire(api: Any, config_maps: str, cluster: Any) -> None:
    async with api.watch(config_maps, resourceVersion=await version(api, config_maps)) as events:
        cluster.faults.expire_watches()
        async with asyncio.timeout(LIMIT_SECONDS):
            (event,) = [event async for event in events]
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


async def test_lines_are_put_into_a_watch(api: Any, config_maps: str, cluster: Any) -> None:
    async with api.watch(config_maps, resourceVersion=await version(api, config_maps)) as events:
        large = {"type": "MODIFIED", "object": {"metadata": {"name": "x" * 1_400_000}}}
        for line in ({"type": "STRANGE", "object": {}}, large):
            assert cluster.faults.send_line(line) == 1
        assert await take(events, 2) == [{"type": "STRANGE", "object": {}}, large]
        cluster.faults.send_line(b"this is not JSON")
        with pytest.raises(json.JSONDecodeError):
            await take(events, 1)


async def test_an_object_vanishes_without_an_event(api: Any, config_maps: str, namespace: str, cluster: Any) -> None:
    await api.post(config_maps, {"metadata": {"name": "a"}})
    async with api.watch(config_maps, resourceVersion=await version(api, config_maps)) as events:
        cluster.faults.vanish(CONFIG_MAP, namespace, "a")
        await api.post(config_maps, {"metadata": {"name": "b"}})
        (event,) = await take(events, 1)
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "b")
    assert (await api.get(f"{config_maps}/a"))[0] == 404


async def test_the_server_goes_away_and_comes_back(api: Any, config_maps: str, cluster: Any) -> None:
    async with api.watch(config_maps, resourceVersion=await version(api, config_maps)) as events:
        await cluster.faults.away()
        with pytest.raises(aiohttp.ClientError):
            await take(events, 1)
    with pytest.raises(aiohttp.ClientConnectorError):
        await api.get(config_maps)
    await cluster.faults.back()
    assert (await api.get(config_maps))[0] == 200


async def test_the_switchboard_over_http(api: Any, config_maps: str, cluster: Any) -> None:
    assert (await api.post("/simulator/faults", {"effect": "answer", "plural": "configmaps", "status": 500}))[0] == 201
    _, listed = await api.get("/simulator/faults")
    assert [fault["effect"] for fault in listed["faults"]] == ["answer"]
    assert (await api.get(config_maps))[0] == 500
    await api.post("/simulator/faults", {"effect": "answer", "count": 9})
    assert (await api.delete("/simulator/faults"))[0] == 200
    assert (await api.get(config_maps))[0] == 200
    start = await version(api, config_maps)
    await api.post(config_maps, {"metadata": {"name": "a"}})
    assert (await api.post("/simulator/history/compact", {}))[0] == 200
    async with api.watch(config_maps, resourceVersion=start) as events:
        assert (await take(events, 1))[0]["object"]["code"] == 410
    async with api.watch(config_maps):
        assert await api.post("/simulator/watches/cut", {"plural": "configmaps"}) == (200, {"watches": 1})


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("faults", {"effect": "explode"}),
        ("faults", {"effect": "answer", "colour": "red"}),
        ("faults", {"effect": "answer", "count": "many"}),
        ("away", {"seconds": -1}),
        ("vanish", {"plural": "nothings"}),
    ],
)
async def test_a_fault_that_makes_no_sense_is_400(api: Any, cluster: Any, path: str, body: dict[str, Any]) -> None:
    assert (await api.post(f"/simulator/{path}", body))[0] == 400


async def test_a_token_is_required() -> None:
    settings = SimulatorSettings(nodes=0, volcano=False, token="right")
    async with SimulatedCluster(settings) as cluster, aiohttp.ClientSession() as session:
        for headers, expected in (({}, 401), ({"Authorization": "Bearer wrong"}, 401)):
            async with session.get(f"{cluster.url}/api/v1/nodes", headers=headers) as answer:
                assert answer.status == expected
                assert (await answer.json())["reason"] == "Unauthorized"
        async with session.get(f"{cluster.url}/api/v1/nodes", headers={"Authorization": "Bearer right"}) as answer:
            assert answer.status == 200
        async with session.get(f"{cluster.url}/healthz") as answer:
            assert answer.status == 200
