import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from app.simulator.history import History
from app.simulator.journal import Journal
from app.simulator.kinds import CONFIG_MAP, JOB
from app.simulator.objects import ApiError
from app.simulator.pod_checks import number
from app.simulator.store import Store


def config_map(name: str, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "n", "uid": f"uid-{name}", **metadata},
    }


def test_versions_count_over_all_kinds() -> None:
    store = Store(version=10)
    first = store.put(CONFIG_MAP, config_map("a"))
    second = store.put(JOB, config_map("b"))
    assert (first.version, second.version, store.version) == (11, 12, 12)
    assert first.object["metadata"]["resourceVersion"] == "11"


def test_a_removal_has_a_version_of_its_own() -> None:
    store = Store(version=10)
    kept = store.put(CONFIG_MAP, config_map("a"))
    last = store.remove(CONFIG_MAP, ("n", "a"))
    assert last.object["metadata"]["resourceVersion"] == "12"
    assert kept.object["metadata"]["resourceVersion"] == "11"


def test_an_object_is_encoded_once() -> None:
    record = Store().put(CONFIG_MAP, config_map("a"))
    assert record.encoded is record.encoded
    assert json.loads(record.encoded) == record.object


def test_dependents_follow_the_owner_references() -> None:
    store = Store()
    owner = [{"uid": "uid-owner"}]
    store.put(CONFIG_MAP, config_map("a", ownerReferences=owner))
    store.put(CONFIG_MAP, config_map("b", ownerReferences=owner))
    assert [record.object["metadata"]["name"] for _, record in store.dependents("uid-owner")] == ["a", "b"]
    store.put(CONFIG_MAP, config_map("a"))
    store.remove(CONFIG_MAP, ("n", "b"))
    assert store.dependents("uid-owner") == []
    assert store.find("uid-b") is None


async def test_a_watcher_has_no_gap() -> None:
    store = Store(version=0)
    store.put(CONFIG_MAP, config_map("a"))
    store.put(CONFIG_MAP, config_map("b"))
    with store.history(CONFIG_MAP).follow(1) as watcher:
        store.put(CONFIG_MAP, config_map("c"))
        async with asyncio.timeout(5):
            assert [(await watcher.take()).record.version for _ in range(2)] == [2, 3]


def test_the_ring_forgets_the_oldest() -> None:
    store = Store(version=0)
    history = History(0, length=2)
    store.listen(lambda _, change: history.append(change))
    for name in "abc":
        store.put(CONFIG_MAP, config_map(name))
    assert [change.record.version for change in history.since(1)] == [2, 3]
    with pytest.raises(ApiError) as refusal:
        history.since(0)
    assert (refusal.value.code, refusal.value.message) == (410, "too old resource version: 0 (1)")


def test_a_compaction_forgets_everything_before() -> None:
    store = Store(version=0)
    store.put(CONFIG_MAP, config_map("a"))
    store.compact()
    assert store.history(CONFIG_MAP).since(1) == []
    with pytest.raises(ApiError):
        store.history(JOB).since(0)


def names(store: Store) -> list[str]:
    return [record.object["metadata"]["name"] for record in store.records(CONFIG_MAP)]


def test_a_journal_brings_the_store_back(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    store = journal.open()
    for name in "abc":
        store.put(CONFIG_MAP, config_map(name))
    store.remove(CONFIG_MAP, ("n", "b"))
    journal.close()
    again = Journal(tmp_path)
    restored = again.open()
    assert names(restored) == ["a", "c"]
    assert restored.version >= store.version
    assert restored.find("uid-c") is not None
    again.close()


def test_a_killed_process_loses_nothing_but_a_torn_line(tmp_path: Path) -> None:
    killed = Journal(tmp_path)
    store = killed.open()
    store.put(CONFIG_MAP, config_map("a"))
    store.put(CONFIG_MAP, config_map("b"))
    with (tmp_path / "changes.jsonl").open("ab") as file:
        file.write(b'{"type":"ADDED","object":{"apiVer')
    journal = Journal(tmp_path)
    restored = journal.open()
    assert names(restored) == ["a", "b"]
    with pytest.raises(ApiError) as refusal:
        restored.history(CONFIG_MAP).since(store.version)
    assert refusal.value.code == 410
    journal.close()
    killed.close()


@pytest.mark.parametrize(
    ("quantity", "value"),
    [("500m", "0.5"), ("1Gi", "1073741824"), ("1e3", "1000"), ("1E", "1000000000000000000"), ("-1", "-1"), (2, "2")],
)
def test_quantities(quantity: Any, value: str) -> None:
    assert str(number(quantity).normalize().__format__("f")) == value  # type: ignore[union-attr]


@pytest.mark.parametrize("quantity", ["", "one", "1 Gi", "1Zi", "1e", "--1"])
def test_what_is_no_quantity(quantity: str) -> None:
    assert number(quantity) is None
