"""Scheduling gates of pods: what may be created, what may change, what is told of it, and our own verbs on them."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.cluster.client import ClusterSettings, open_client
from app.cluster.pods import PodReference, Pods

GATE, OTHER = "pumice.dev/turn", "example.com/quota"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
INDEX = {"fieldRef": {"fieldPath": "metadata.annotations['pumice.dev/index']"}}


def gated(*names: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "registry.test/llm:1", "env": [{"name": "INDEX", "valueFrom": INDEX}]}
    gates = [{"name": name} for name in names]
    spec = {"containers": [container], "schedulerName": "nobody", "schedulingGates": gates, **spec}
    return {"metadata": {"name": "p"}, "spec": spec}


def gates_of(pod: dict[str, Any]) -> list[str]:
    return [gate["name"] for gate in pod["spec"].get("schedulingGates", ())]


def causes(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(cause["field"], cause["message"]) for cause in answer["details"]["causes"]]


async def test_a_new_pod_with_gates_says_so(api: Any, pods: str) -> None:
    status, created = await api.post(pods, gated(GATE, OTHER))
    assert status == 201
    assert gates_of(created) == [GATE, OTHER]
    assert created["status"]["phase"] == "Pending"
    [condition] = created["status"]["conditions"]
    assert condition["lastTransitionTime"]
    assert {name: condition[name] for name in ("type", "status", "reason", "message")} == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }


async def test_a_pod_without_gates_has_no_condition_yet(api: Any, pods: str) -> None:
    for body in (gated(), {**gated(), "spec": {**gated()["spec"], "schedulingGates": None}}):
        _, created = await api.post(pods, body)
        assert "conditions" not in created["status"]
        await api.delete(f"{pods}/p")


@pytest.mark.parametrize(
    ("names", "field", "words"),
    [
        ((GATE, OTHER, GATE), "spec.schedulingGates[2]", f'Duplicate value: "{GATE}"'),
        (("",), "spec.schedulingGates[0]", 'Invalid value: "": name part must be non-empty'),
        (("a b",), "spec.schedulingGates[0]", 'Invalid value: "a b": name part must consist of'),
        (("a/b/c",), "spec.schedulingGates[0]", 'Invalid value: "a/b/c": a'),
        (("/b",), "spec.schedulingGates[0]", 'Invalid value: "/b": prefix part must be non-empty'),
    ],
)
async def test_gates_have_names_of_their_own(
    api: Any, pods: str, names: tuple[str, ...], field: str, words: str
) -> None:
    status, answer = await api.post(pods, gated(*names))
    assert (status, answer["reason"]) == (422, "Invalid")
    assert [text for at, text in causes(answer) if at == field and text.startswith(words)]


async def test_a_pod_with_gates_has_no_node(api: Any, pods: str) -> None:
    status, answer = await api.post(pods, gated(GATE, nodeName="nowhere-1"))
    assert status == 422
    text = "Forbidden: cannot be set until all schedulingGates have been cleared"
    assert causes(answer) == [("spec.nodeName", text)]
    await api.post(pods, gated(GATE))
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "nowhere-1"}}
    status, answer = await api.post(f"{pods}/p/binding", binding)
    assert (status, answer["reason"]) == (409, "Conflict")
    assert answer["message"].endswith("pod p has non-empty .spec.schedulingGates")
    await api.merge(f"{pods}/p", {"spec": {"schedulingGates": None}})
    assert (await api.post(f"{pods}/p/binding", binding))[0] == 201


@pytest.mark.parametrize("form", [JSON_PATCH, STRATEGIC, "application/merge-patch+json", "PUT"])
async def test_a_gate_is_taken_off_and_others_stay(api: Any, pods: str, form: str) -> None:
    _, created = await api.post(pods, gated(OTHER, GATE))
    if form == JSON_PATCH:
        test = {"op": "test", "path": "/spec/schedulingGates/1/name", "value": GATE}
        status, changed = await api.call("PATCH", f"{pods}/p", [test, {**test, "op": "remove"}], form)
        assert status == 422, changed  # the name alone cannot go
        remove = {"op": "remove", "path": "/spec/schedulingGates/1"}
        status, changed = await api.call("PATCH", f"{pods}/p", [test, remove], form)
    elif form == STRATEGIC:
        patch = {"spec": {"schedulingGates": [{"$patch": "delete", "name": GATE}]}}
        status, changed = await api.call("PATCH", f"{pods}/p", patch, form)
    elif form == "PUT":
        created["spec"]["schedulingGates"].pop()
        status, changed = await api.put(f"{pods}/p", created)
    else:
        status, changed = await api.merge(f"{pods}/p", {"spec": {"schedulingGates": [{"name": OTHER}]}})
    assert status == 200, changed
    assert gates_of(changed) == [OTHER]


async def test_taking_the_last_gate_off_leaves_its_condition_to_the_scheduler(api: Any, pods: str) -> None:
    await api.post(pods, gated(GATE))
    status, changed = await api.merge(f"{pods}/p", {"spec": {"schedulingGates": []}})
    assert (status, gates_of(changed)) == (200, [])
    assert [condition["reason"] for condition in changed["status"]["conditions"]] == ["SchedulingGated"]


async def test_no_gate_is_added_later(api: Any, pods: str) -> None:
    await api.post(pods, gated(GATE))
    text = f"Forbidden: only deletion is allowed, but found new scheduling gate '{OTHER}'"
    for names, place in (([GATE, OTHER], 1), ([OTHER], 0)):
        patch = {"spec": {"schedulingGates": [{"name": name} for name in names]}}
        status, answer = await api.merge(f"{pods}/p", patch)
        assert status == 422
        assert causes(answer) == [(f"spec.schedulingGates[{place}].name", text)]
    await api.merge(f"{pods}/p", {"spec": {"schedulingGates": None}})
    status, _ = await api.merge(f"{pods}/p", {"spec": {"schedulingGates": [{"name": GATE}]}})
    assert status == 422


async def test_a_gate_is_not_there_twice_after_a_change(api: Any, pods: str) -> None:
    await api.post(pods, gated(GATE))
    status, answer = await api.merge(f"{pods}/p", {"spec": {"schedulingGates": [{"name": GATE}, {"name": GATE}]}})
    assert status == 422
    assert ("spec.schedulingGates[1]", f'Duplicate value: "{GATE}"') in causes(answer)


async def test_the_nodes_of_a_gated_pod_may_become_fewer(api: Any, pods: str) -> None:
    await api.post(pods, gated(GATE, nodeSelector={"zone": "a"}))
    status, changed = await api.merge(f"{pods}/p", {"spec": {"nodeSelector": {"model": "h100"}}})
    assert (status, changed["spec"]["nodeSelector"]) == (200, {"zone": "a", "model": "h100"})
    status, answer = await api.merge(f"{pods}/p", {"spec": {"nodeSelector": {"zone": "b"}}})
    assert status == 422
    [(field, text)] = causes(answer)
    assert field == "spec.nodeSelector"
    assert text.endswith(": only additions to spec.nodeSelector are allowed (no mutations or deletions)")
    await api.merge(f"{pods}/p", {"spec": {"schedulingGates": None}})
    assert (await api.merge(f"{pods}/p", {"spec": {"nodeSelector": {"rack": "1"}}}))[0] == 422


async def test_everything_else_of_a_gated_pod_stays(api: Any, pods: str) -> None:
    await api.post(pods, gated(GATE))
    status, answer = await api.merge(f"{pods}/p", {"spec": {"schedulingGates": None, "priority": 7}})
    assert status == 422
    assert "pod updates may not change fields other than" in answer["message"]
    assert gates_of((await api.get(f"{pods}/p"))[1]) == [GATE]


async def test_kubectl_shows_a_gated_pod_as_such(api: Any, pods: str) -> None:
    await api.post(pods, gated(GATE))
    async with api.session.get(f"{api.url}{pods}", headers={"Accept": TABLE}) as answer:
        table = await answer.json()
    names = [column["name"] for column in table["columnDefinitions"]]
    [row] = table["rows"]
    assert row["cells"][names.index("Status")] == "SchedulingGated"


class Turns:
    """The service's own verbs on the test's pod."""

    def __init__(self, verbs: Pods, path: str, uid: str) -> None:
        self._verbs = verbs
        self._namespace = path.split("/")[4]
        self.uid = uid

    async def admit(self, *gates: str, index: int, uid: str | None = None) -> bool:
        return await self._verbs.admit_pod(PodReference(self._namespace, "p", uid or self.uid), gates, index)

    async def delete(self, uid: str | None = None) -> bool:
        return await self._verbs.delete_pod(PodReference(self._namespace, "p", uid or self.uid))


@pytest.fixture
async def turns(api: Any, pods: str) -> AsyncIterator[Turns]:
    body = gated(OTHER, GATE)
    body["metadata"]["annotations"] = {"volcano.sh/task-index": "0"}
    _, created = await api.post(pods, body)
    _, _, token = api.session.headers.get("Authorization", "").partition(" ")
    authority = Path(api.authority) if api.authority else None
    where = ClusterSettings(url=api.url, token=token or None, certificate_authority=authority)
    async with open_client(where) as client:
        yield Turns(Pods(client), pods, created["metadata"]["uid"])


async def test_a_turn_gives_the_index_and_takes_only_our_gate(api: Any, pods: str, turns: Turns) -> None:
    assert await turns.admit(OTHER, GATE, index=4)
    _, changed = await api.get(f"{pods}/p")
    assert gates_of(changed) == [OTHER]
    assert changed["metadata"]["annotations"] == {"volcano.sh/task-index": "0", "pumice.dev/index": "4"}


async def test_a_turn_is_given_once(api: Any, pods: str, turns: Turns) -> None:
    assert await turns.admit(OTHER, GATE, index=4)
    assert not await turns.admit(OTHER, GATE, index=5)
    assert not await turns.admit(GATE, index=5)
    _, changed = await api.get(f"{pods}/p")
    assert changed["metadata"]["annotations"]["pumice.dev/index"] == "4"


async def test_a_turn_waits_until_the_gates_are_known(api: Any, pods: str, turns: Turns) -> None:
    await api.merge(f"{pods}/p", {"spec": {"schedulingGates": [{"name": GATE}]}})
    assert not await turns.admit(OTHER, GATE, index=4)
    assert "pumice.dev/index" not in (await api.get(f"{pods}/p"))[1]["metadata"]["annotations"]
    assert await turns.admit(GATE, index=4)


async def test_only_the_pod_that_is_meant_is_touched(api: Any, pods: str, turns: Turns) -> None:
    other = "00000000-0000-0000-0000-000000000000"
    assert not await turns.admit(OTHER, GATE, index=4, uid=other)
    assert not await turns.delete(uid=other)
    assert gates_of((await api.get(f"{pods}/p"))[1]) == [OTHER, GATE]
    assert await turns.delete()
    assert not await turns.delete()
    assert not await turns.admit(OTHER, GATE, index=4)
