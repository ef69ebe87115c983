"""Group 2: names are refused as they come or kept as they are, and two jobs never share an object in the cluster."""

import re
from typing import Any

from tests.api.jobs.test_import import manifest, send

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def detail(problem: dict[str, Any], pointer: str) -> str:
    """The sentence about the only thing that is wrong."""
    (fault,) = problem["errors"]
    assert fault["pointer"] == pointer
    sentence: str = fault["detail"]
    return sentence


async def test_n01_pod_name_too_long_only_for_the_later_replicas(nlp: Any, body: Any) -> None:
    resources = {"cpu": "1", "memory": "1Gi"}
    for job, task in ((54, 6), (30, 30), (1, 59)):
        named = {"name": "t" * task, "resources": resources}
        array = {"image": "registry.test/llm:1", **named}
        await nlp.accepted(body(name="j" * job, task={**named, "replicas": 10}))
        for long in (
            body(name="k" * job, task={**named, "replicas": 11}),
            body(name="k" * job, tasks=[{**array, "array": {"size": 11, "parallelism": 2}}]),
        ):
            words = detail(await nlp.refused(long, 422, "validation-error"), "/name")
            assert "63" in words
            assert "64" in words
        await nlp.accepted(body(name="k" * job, tasks=[{**array, "array": {"size": 10, "parallelism": 2}}]))


NAMES = {
    "My_Job": '"M" at position 1',
    "my job": '" " at position 3',
    "Llama-3.1-8B": '"L" at position 1',
    "-x": '"-" at position 1',
    "x-": '"-" at position 2',
    "": "empty",
    "a" * 64: "64",
    "名前": "position 1",
    "a\n": "U+000A at position 2",
}
CLEANED_TO_NOTHING = {
    "!!!": '"!" at position 1',
    "日本語": "position 1",
    "a" * 62 + "-b": "64",
    "--x": '"-" at position 1',
    ".--": '"." at position 1',
    "é" * 300: "300",
}


async def _none_is_taken(nlp: Any, body: Any, names: dict[str, str]) -> None:
    for name, words in names.items():
        assert words in detail(await nlp.refused(body(name=name), 422, "validation-error"), "/name")
        answer = await send(nlp, manifest(name))
        assert answer.status_code == 422, name
        assert words in detail(answer.json(), "/metadata/name")
    assert await nlp.names() == []


async def test_n03_upper_case_underscore_space_dot(nlp: Any, body: Any) -> None:
    await _none_is_taken(nlp, body, NAMES)
    for name in ("-x", "a\n", "My_Job"):
        words = detail(await nlp.refused(body(task={"name": name}), 422, "validation-error"), "/tasks/0/name")
        assert "a-z" in words


async def test_n04_cleaned_up_name_is_empty_or_ends_badly(nlp: Any, body: Any) -> None:
    await _none_is_taken(nlp, body, CLEANED_TO_NOTHING)
    # names are derived in one place alone: for the cluster, when a name was used before
    for name in ("a" * 46 + "-" + "b" * 7, "a" * 45 + "--" + "b" * 7, "a-" * 26 + "a", "0"):
        seen = set()
        for _ in range(3):
            job = await nlp.accepted(body(name=name, gpus=0, task={"name": "w" * min(6, 62 - len(name))}))
            assert job["name"] == name
            assert LABEL.fullmatch(job["k8s_name"])
            assert len(f"{job['k8s_name']}-{job['spec']['tasks'][0]['name']}-0") <= 63
            seen.add(job["k8s_name"])
            assert (await nlp.cancel(job["id"])).status_code == 202
        assert len(seen) == 3


async def test_n05_two_names_that_clean_up_to_the_same_thing(stage: Any) -> None:
    nlp, body = stage.nlp, stage.body
    for name in ("HelloFlow", "Helloflow", "a" * 63 + "1" * 17, "a" * 63 + "2" * 17):
        await nlp.refused(body(name=name), 422, "validation-error")
    long = ["a" * 53 + "1", "a" * 53 + "2"]
    for name in long:  # in the cluster these names are used up, and the next ones are cut
        assert (await nlp.cancel(await stage.submit(name))).status_code == 202
    ids = [await stage.submit(name) for name in long]
    failing = await stage.submit("a" * 52, command="exit 3")
    stage.world.start()
    ends = [await stage.until_state(job_id, "succeeded", "failed") for job_id in (*ids, failing)]
    assert [job["state"] for job in ends] == ["succeeded", "succeeded", "failed"]
    assert len({job["k8s_name"] for job in ends}) == len(stage.world.created) == 3
    shared = {job["k8s_name"][:46] for job in ends[:2]}
    assert shared == {"a" * 46}  # the cut took what was different


async def test_n07_same_name_again_after_the_first_has_finished(stage: Any) -> None:
    nlp = stage.nlp
    first = await stage.submit("x")
    for _ in range(2):
        problem = await nlp.refused(stage.body(name="x"), 409, "name-in-use")
        assert first in problem["detail"]
    stage.world.start(retention_seconds=60.0)
    await stage.until_state(first, "succeeded")
    stubborn = {"simulator.pumice.dev/ignore-sigterm": "true"}
    second = await stage.submit("x", "sleep 100000", annotations=stubborn)
    await stage.until_state(second, "running")
    assert (await stage.ask("cancel", second)).status_code == 202
    answer = await nlp.submit(stage.body(name="x"))
    assert (answer.status_code, answer.json()["type"]) == (409, "name-in-use")
    assert int(answer.headers["Retry-After"]) > 0
    await stage.until(lambda: _dying(stage))
    await stage.until_state(second, "cancelled")
    third = await stage.submit("x")
    ended = await stage.until_state(third, "succeeded", "failed", "lost")
    assert (ended["state"], ended["attempt"]) == ("succeeded", 1)
    listed = {job["id"]: job for job in await nlp.listed(name="x")}
    assert set(listed) == {first, second, third}
    assert len({job["k8s_name"] for job in listed.values()}) == 3


async def _dying(stage: Any) -> bool:
    return any(pod["metadata"].get("deletionTimestamp") for pod in await stage.pods())


async def test_n09_label_values_over_63_characters(api: Any, nlp: Any, body: Any) -> None:
    queue = {"name": "q" * 64, "capability": {"nvidia.com/gpu": 1}}
    team = {"name": "t" * 64, "namespace": "team-t", "queues": ["q-nlp"], "default_queue": "q-nlp"}
    for path, made in (("/v1/queues", queue), ("/v1/teams", team)):
        answer = await api.admin.post(path, json=made)
        assert answer.status_code == 422
        assert "63" in detail(answer.json(), "/name")
    job = await nlp.accepted(body(name="live"))
    before = (await nlp.client.get(f"/v1/jobs/{job['id']}")).json()["labels"]
    for labels, pointer in (
        ({"a": "b" * 64}, "/labels/a"),
        ({"foo/": "x"}, "/labels/foo~1"),
        ({"volcano.sh/job-name": "x"}, "/labels/volcano.sh~1job-name"),
        ({"scheduling.k8s.io/group-name": "x"}, "/labels/scheduling.k8s.io~1group-name"),
        ({"pumice.dev/job-id": "x"}, "/labels/pumice.dev~1job-id"),
    ):
        detail(await nlp.refused(body(labels=labels), 422, "validation-error"), pointer)
        document = manifest()
        document["metadata"]["labels"] = labels
        imported = await send(nlp, document)
        assert imported.status_code == 422
        detail(imported.json(), "/metadata" + pointer)
        patched = await nlp.client.patch(f"/v1/jobs/{job['id']}", json={"labels": labels})
        assert patched.status_code == 422
        detail(patched.json(), pointer)
    assert (await nlp.client.get(f"/v1/jobs/{job['id']}")).json()["labels"] == before
    assert await nlp.names() == ["live"]
    assert (await nlp.client.patch(f"/v1/jobs/{job['id']}", json={"labels": {"a": "b" * 63}})).status_code == 200
