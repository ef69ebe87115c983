"""Watches: versions, bookmarks, 410, selectors, long lines."""

import asyncio
from typing import Any

import pytest

LIMIT_SECONDS = 15


async def take(events: Any, count: int) -> list[dict[str, Any]]:
    async with asyncio.timeout(LIMIT_SECONDS):
        taken = []
        async for event in events:
            taken.append(event)
            if len(taken) == count:
                break
        return taken


def seen(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"]["name"]) for event in events]


async def version(api: Any, path: str) -> str:
    return (await api.get(path))[1]["metadata"]["resourceVersion"]


async def test_a_watch_goes_on_from_a_version(api: Any, config_maps: str) -> None:
    await api.post(config_maps, {"metadata": {"name": "before"}})
    start = await version(api, config_maps)
    await api.post(config_maps, {"metadata": {"name": "a"}})
    await api.merge(f"{config_maps}/a", {"data": {"k": "1"}})
    async with api.watch(config_maps, resourceVersion=start) as events:
        assert seen(await take(events, 2)) == [("ADDED", "a"), ("MODIFIED", "a")]
        await api.delete(f"{config_maps}/a")
        (deleted,) = await take(events, 1)
    assert deleted["type"] == "DELETED"
    assert deleted["object"]["data"] == {"k": "1"}
    assert int(deleted["object"]["metadata"]["resourceVersion"]) > int(start) + 2 - 1


async def test_a_watch_without_a_version_begins_with_what_is_there(api: Any, config_maps: str) -> None:
    for name in ("a", "b"):
        await api.post(config_maps, {"metadata": {"name": name, "labels": {"mine": "yes"}}})
    async with api.watch(config_maps, labelSelector="mine") as events:
        assert sorted(seen(await take(events, 2))) == [("ADDED", "a"), ("ADDED", "b")]
        await api.merge(f"{config_maps}/b", {"data": {"k": "1"}})
        assert seen(await take(events, 1)) == [("MODIFIED", "b")]


async def test_coming_into_a_selector_is_added_and_leaving_it_deleted(api: Any, config_maps: str) -> None:
    start = await version(api, config_maps)
    async with api.watch(config_maps, resourceVersion=start, labelSelector="on=yes") as events:
        await api.post(config_maps, {"metadata": {"name": "a"}})
        await api.merge(f"{config_maps}/a", {"metadata": {"labels": {"on": "yes"}}})
        await api.merge(f"{config_maps}/a", {"data": {"k": "1"}})
        await api.merge(f"{config_maps}/a", {"metadata": {"labels": {"on": "no"}}})
        await api.merge(f"{config_maps}/a", {"data": {"k": "2"}})
        await api.post(config_maps, {"metadata": {"name": "end", "labels": {"on": "yes"}}})
        expected = [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a"), ("ADDED", "end")]
        assert seen(await take(events, 4)) == expected


async def test_a_watch_of_one_object(api: Any, config_maps: str) -> None:
    start = await version(api, config_maps)
    async with api.watch(config_maps, resourceVersion=start, fieldSelector="metadata.name=b") as events:
        for name in ("a", "b"):
            await api.post(config_maps, {"metadata": {"name": name}})
        assert seen(await take(events, 1)) == [("ADDED", "b")]


async def test_a_watch_ends_at_its_time_and_tells_how_far_it_came(api: Any, config_maps: str) -> None:
    start = await version(api, config_maps)
    elsewhere = {"metadata": {"name": config_maps.split("/")[-2], "namespace": "default"}}
    # A kube-apiserver sends the bookmark two seconds before the end, to watches that are long enough for it, and only
    # when the kind has changed since the watch began, though not for this watch.
    async with api.watch(config_maps, resourceVersion=start, timeoutSeconds=5, allowWatchBookmarks="true") as events:
        assert (await api.post("/api/v1/namespaces/default/configmaps", elsewhere))[0] == 201
        async with asyncio.timeout(LIMIT_SECONDS):
            received = [event async for event in events]
    await api.delete(f"/api/v1/namespaces/default/configmaps/{elsewhere['metadata']['name']}")
    assert received[-1]["type"] == "BOOKMARK"
    assert received[-1]["object"]["kind"] == "ConfigMap"
    assert int(received[-1]["object"]["metadata"]["resourceVersion"]) >= int(start)


async def test_kubernetes_asyncio_writes_watch_with_a_capital(api: Any, config_maps: str) -> None:
    start = await version(api, config_maps)
    query = {"watch": "True", "resourceVersion": start, "timeoutSeconds": "1"}
    async with api.session.get(api.url + config_maps, params=query) as answer:
        assert answer.status == 200
        assert await answer.read() == b""


async def test_a_version_before_the_compaction_is_410(api: Any, config_maps: str) -> None:
    start = await version(api, config_maps)
    await api.post(config_maps, {"metadata": {"name": "a"}})
    await api.forget_the_past()
    async with api.watch(config_maps, resourceVersion=start) as events:
        (event,) = await take(events, 1)
    assert event["type"] == "ERROR"
    assert event["object"]["kind"] == "Status"
    assert (event["object"]["code"], event["object"]["reason"]) == (410, "Expired")
    assert event["object"]["message"].startswith(f"too old resource version: {start} (")
    present = await version(api, config_maps)
    async with api.watch(config_maps, resourceVersion=present) as events:
        await api.post(config_maps, {"metadata": {"name": "b"}})
        assert seen(await take(events, 1)) == [("ADDED", "b")]


@pytest.mark.parametrize("size", [70 * 1024, 1000 * 1024])
async def test_lines_of_any_length(api: Any, config_maps: str, size: int) -> None:
    start = await version(api, config_maps)
    text = '"' * (size // 2) + "x" * (size - size // 2)  # a quote takes two bytes as JSON
    async with api.watch(config_maps, resourceVersion=start) as events:
        status, _ = await api.post(config_maps, {"metadata": {"name": "long"}, "data": {"text": text}})
        assert status == 201
        (event,) = await take(events, 1)
    assert event["object"]["data"]["text"] == text


async def test_streaming_lists_are_refused_as_by_a_server_without_them(
    api: Any, config_maps: str, cluster: Any
) -> None:
    query = {"watch": "1", "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    status, answer = await api.get(config_maps, **query)
    assert (status, answer["reason"]) == (422, "Invalid")


async def test_two_watches_see_the_same(api: Any, jobs: str) -> None:
    start = await version(api, jobs)
    container = {"name": "main", "image": "registry.test/llm:1"}
    tasks = [{"name": "worker", "replicas": 1, "template": {"spec": {"containers": [container]}}}]
    async with api.watch(jobs, resourceVersion=start) as one, api.watch(jobs, resourceVersion=start) as two:
        for number in range(20):
            head = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": f"j{number}"}}
            assert (await api.post(jobs, {**head, "spec": {"tasks": tasks}}))[0] == 201
        first, second = await take(one, 20), await take(two, 20)
    assert first == second
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in first]
    assert versions == sorted(versions)


async def test_a_watch_from_a_version_to_come_is_silent_until_then(api: Any, config_maps: str) -> None:
    later = int(await version(api, config_maps)) + 2**40
    async with api.watch(config_maps, resourceVersion=later, timeoutSeconds=1) as events:
        await api.post(config_maps, {"metadata": {"name": "a"}})
        async with asyncio.timeout(LIMIT_SECONDS):
            assert [event async for event in events] == []
