"""GET: selectors, pages, versions, tables."""

from typing import Any

import pytest

LABELS = {"a": {"tier": "gold", "zone": "1"}, "b": {"tier": "iron"}, "c": {"zone": "2"}}
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@pytest.fixture
async def three(api: Any, config_maps: str) -> str:
    for name, labels in LABELS.items():
        assert (await api.post(config_maps, {"metadata": {"name": name, "labels": labels}}))[0] == 201
    return config_maps


def names(listed: dict[str, Any]) -> str:
    return "".join(item["metadata"]["name"] for item in listed["items"] if item["metadata"]["name"] in LABELS)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("tier=gold", "a"),
        ("tier==gold", "a"),
        ("tier!=gold", "bc"),
        ("tier", "ab"),
        ("!tier", "c"),
        ("tier in (gold, iron)", "ab"),
        ("tier notin (gold)", "bc"),
        ("tier in (gold,iron),zone", "a"),
        ("zone in (1,2),tier!=gold", "c"),
        ("tier=", ""),
    ],
)
async def test_label_selectors(api: Any, three: str, selector: str, expected: str) -> None:
    status, listed = await api.get(three, labelSelector=selector)
    assert status == 200
    assert names(listed) == expected


@pytest.mark.parametrize("selector", ["a b", "tier in gold", "=x", "tier in (gold", "tier=a b"])
async def test_a_broken_label_selector_is_400(api: Any, three: str, selector: str) -> None:
    status, answer = await api.get(three, labelSelector=selector)
    assert (status, answer["reason"]) == (400, "BadRequest")


async def test_field_selectors(api: Any, three: str, namespace: str) -> None:
    assert names((await api.get(three, fieldSelector="metadata.name=b"))[1]) == "b"
    assert names((await api.get(three, fieldSelector="metadata.name!=b"))[1]) == "ac"
    _, listed = await api.get("/api/v1/configmaps", fieldSelector=f"metadata.namespace={namespace}")
    assert names(listed) == "abc"


async def test_an_unknown_field_is_400(api: Any, jobs: str) -> None:
    status, answer = await api.get(jobs, fieldSelector="spec.queue=default")
    assert status == 400
    assert "field label not supported: spec.queue" in answer["message"]
    status, answer = await api.get("/api/v1/configmaps", fieldSelector="data.x=1")
    assert status == 400
    assert answer["message"].startswith('"data.x" is not a known field selector: only "metadata.name"')


async def test_events_are_selected_by_their_object(api: Any, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/events"
    for name, kind in (("one", "Pod"), ("two", "Job")):
        about = {"kind": kind, "name": f"about-{name}", "namespace": namespace}
        event = {"metadata": {"name": name}, "involvedObject": about, "reason": "Tested", "type": "Normal"}
        assert (await api.post(path, event))[0] == 201
    _, listed = await api.get(path, fieldSelector="involvedObject.kind=Pod,involvedObject.name=about-one")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["one"]


async def test_a_list_has_its_kind_and_version(api: Any, jobs: str) -> None:
    status, listed = await api.get(jobs)
    assert status == 200
    assert (listed["kind"], listed["apiVersion"]) == ("JobList", "batch.volcano.sh/v1alpha1")
    assert listed["metadata"]["resourceVersion"].isdigit()
    assert listed["items"] == []


async def test_pages_show_one_moment(api: Any, three: str) -> None:
    _, first = await api.get(three, limit=2, labelSelector="tier")
    _, page = await api.get(three, limit=1)
    seen, version = [], page["metadata"]["resourceVersion"]
    await api.post(three, {"metadata": {"name": "bb"}})
    await api.delete(f"{three}/c")
    while True:
        seen += [item["metadata"]["name"] for item in page["items"]]
        assert page["metadata"]["resourceVersion"] == version
        token = page["metadata"].get("continue")
        if not token:
            break
        _, page = await api.get(three, **{"limit": 1, "continue": token})
    assert [name for name in seen if name in LABELS or name == "bb"] == ["a", "b", "c"]
    assert names(first) == "ab"


async def test_a_page_says_how_much_remains(api: Any, three: str) -> None:
    _, whole = await api.get(three)
    _, page = await api.get(three, limit=1)
    assert page["metadata"]["remainingItemCount"] == len(whole["items"]) - 1


async def test_an_expired_continue_is_410(api: Any, three: str) -> None:
    _, page = await api.get(three, limit=1)
    await api.forget_the_past()
    status, answer = await api.get(three, **{"limit": 1, "continue": page["metadata"]["continue"]})
    assert (status, answer["reason"]) == (410, "Expired")
    assert "continue parameter is too old" in answer["message"]


async def test_a_broken_continue_is_400(api: Any, three: str) -> None:
    assert (await api.get(three, **{"limit": 1, "continue": "rubbish"}))[0] == 400


@pytest.mark.parametrize("query", [{"limit": "many"}, {"resourceVersion": "new"}, {"timeoutSeconds": "x"}])
async def test_parameters_that_cannot_be_read_are_400(api: Any, three: str, query: dict[str, str]) -> None:
    assert (await api.get(three, **query))[0] == 400


async def test_whatever_is_not_false_is_true(api: Any, three: str) -> None:
    for value in ("perhaps", "yes", ""):
        async with api.watch(three, watch=value, timeoutSeconds=1) as events:
            assert (await anext(events))["type"] == "ADDED"
    for value in ("0", "false", "False"):
        assert (await api.get(three, watch=value))[1]["kind"] == "ConfigMapList"


async def test_a_version_that_is_no_number_is_500_in_a_get_and_a_watch(api: Any, three: str) -> None:
    for path, query in ((f"{three}/a", {}), (three, {"watch": "1"})):
        status, answer = await api.get(path, resourceVersion="new", **query)
        assert status == 500
        assert "reason" not in answer


@pytest.mark.parametrize(
    "query",
    [
        {"resourceVersionMatch": "Exact"},
        {"resourceVersionMatch": "Roughly", "resourceVersion": "1"},
        {"resourceVersionMatch": "Exact", "resourceVersion": "0"},
        {"sendInitialEvents": "true"},
        {"watch": "1", "resourceVersionMatch": "NotOlderThan", "resourceVersion": "1"},
        {"watch": "1", "continue": "x"},
    ],
)
async def test_parameters_that_exclude_each_other_are_422(api: Any, three: str, query: dict[str, str]) -> None:
    status, answer = await api.get(three, **query)
    assert (status, answer["reason"]) == (422, "Invalid")
    assert answer["details"]["kind"] == "ListOptions"


async def test_items_of_core_lists_do_not_say_what_they_are(api: Any, three: str, jobs: str) -> None:
    _, listed = await api.get(three)
    assert all("kind" not in item and "apiVersion" not in item for item in listed["items"])
    head = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
    await api.post(jobs, {**head, "metadata": {"name": "a"}})
    _, listed = await api.get(jobs)
    assert [{field: item[field] for field in head} for item in listed["items"]] == [head]


async def test_a_version_to_come_is_504(api: Any, three: str) -> None:
    status, answer = await api.get(three, resourceVersion=str(2**62))
    assert (status, answer["reason"]) == (504, "Timeout")


async def test_a_table_for_people(api: Any, jobs: str) -> None:
    container = {"name": "main", "image": "registry.test/llm:1"}
    tasks = [{"name": "worker", "replicas": 1, "template": {"spec": {"containers": [container]}}}]
    head = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "a"}}
    assert (await api.post(jobs, {**head, "spec": {"tasks": tasks, "queue": "q"}}))[0] == 201
    await api.merge(f"{jobs}/a/status", {"status": {"state": {"phase": "Running"}, "minAvailable": 1, "running": 1}})
    async with api.session.get(api.url + jobs, headers={"Accept": TABLE}) as answer:
        table = await answer.json()
    assert table["kind"] == "Table"
    headings = [column["name"].lower() for column in table["columnDefinitions"]]
    assert headings == ["name", "status", "minavailable", "runnings", "age", "queue"]
    assert [column["priority"] for column in table["columnDefinitions"]] == [0, 0, 0, 0, 0, 1]
    cells = table["rows"][0]["cells"]
    assert [*cells[:4], cells[5]] == ["a", "Running", 1, 1, "q"]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


async def test_access_reviews_are_answered(api: Any) -> None:
    attributes = {"verb": "list", "resource": "jobs", "group": "batch.volcano.sh"}
    review = {"spec": {"resourceAttributes": attributes}}
    status, answer = await api.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    assert status == 201
    assert answer["status"]["allowed"] is True
