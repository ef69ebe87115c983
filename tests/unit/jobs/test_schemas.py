import math
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from app import quantity
from app.jobs.schemas import JobCreate


def faults(body: Any) -> Any:
    """The places of what is wrong, as dotted paths."""
    with pytest.raises(ValidationError) as refused:
        JobCreate.model_validate(body)
    return {".".join(map(str, error["loc"])): error for error in refused.value.errors()}


def test_needs_only_name_replicas_image_and_resources() -> None:
    spec = JobCreate.model_validate({"name": "a", "tasks": [{"replicas": 1, "image": "i", "resources": {}}]})
    assert spec.tasks[0].resources.gpus == 0
    assert spec.retries.max == 0


@pytest.mark.parametrize("member", ["name", "tasks"])
def test_misses_what_it_needs(body: Any, member: str) -> None:
    made = body()
    del made[member]
    assert faults(made)[member]["type"] == "missing"


@pytest.mark.parametrize("replicas", [0, -1, 10_001, True, "1", 1.5, None, math.nan, -math.inf])
def test_refuses_replicas(body: Any, replicas: Any) -> None:
    assert set(faults(body(task={"replicas": replicas}))) == {"tasks.0.replicas"}


def test_says_that_at_least_one_replica_is_needed(body: Any) -> None:
    found = faults(body(tasks=[{}, {"name": "b", "replicas": 0}]))
    assert "at least 1" in found["tasks.1.replicas"]["msg"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("My_Job", '"M" at position 1'),
        ("my job", '" " at position 3'),
        ("llama-3.1", '"." at position 8'),
        ("-x", '"-" at position 1'),
        ("x-", '"-" at position 2'),
        ("", "is empty"),
        ("a" * 64, "at most 63 characters, not 64"),
        ("名前", "at position 1"),
        ("a\n", "U+000A at position 2"),
    ],
)
def test_refuses_a_name_and_says_where(body: Any, name: str, words: str) -> None:
    assert words in faults(body(name=name))["name"]["msg"]


@pytest.mark.parametrize("name", ["a", "0", "a-b", "a" * 63])
def test_takes_a_name(body: Any, name: str) -> None:
    assert JobCreate.model_validate(body(name=name)).name == name


@pytest.mark.parametrize(
    "change",
    [
        {"min_availble": 3},
        {"array": {"size": 3}},  # it is a task's
        {"timeout_seconds": 60},
        {"restart_policy": "Always"},
        {"policies": []},
        {"service_account": "admin"},
        {"id": "x"},
        {"state": "running"},
    ],
)
def test_refuses_what_it_does_not_know(body: Any, change: dict[str, Any]) -> None:
    (field,) = change
    assert faults(body(**change))[field]["type"] == "extra_forbidden"


@pytest.mark.parametrize("field", ["limit", "limits", "cpus", "gpu"])
def test_refuses_unknown_resources(body: Any, field: str) -> None:
    assert f"tasks.0.resources.{field}" in faults(body(task={"resources": {field: 1}}))


@pytest.mark.parametrize("field", ["host_network", "node_name", "privileged", "security_context", "host_path"])
def test_refuses_what_reaches_beyond_the_pod(body: Any, field: str) -> None:
    assert f"tasks.0.{field}" in faults(body(task={field: True}))


BAD_QUANTITIES = [
    *(
        "16g",
        "16GB",
        "16 Gi",
        "16KI",
        "1e",
        "0x10",
        "",
        " 16Gi",
        "1,5Gi",
        "--1",
        "NaN",
        "inf",
        "1_000",
        "\uff11\uff16Gi",
    ),
    *(None, [1], True, {}, -1, "-1", "2E6024865272343", "1e999999999", "9" * 5000, math.inf, math.nan, 1e300, 10**400),
]


@pytest.mark.parametrize("text", BAD_QUANTITIES, ids=lambda text: repr(text)[:20])
@pytest.mark.parametrize("field", ["cpu", "memory", "gpus"])
def test_refuses_what_is_no_quantity(body: Any, field: str, text: Any) -> None:
    found = faults(body(task={"resources": {field: text}}))
    place = f"tasks.0.resources.{field}"
    assert set(found) == {place}
    assert len(found[place]["msg"]) < 300


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("16G", 16_000_000_000),
        ("16Gi", 17_179_869_184),
        (".5Gi", 536_870_912),
        ("1.5Gi", 1_610_612_736),
        ("17179869184", 17_179_869_184),
        ("1e10", 10_000_000_000),
        (17179869184, 17_179_869_184),
        ("-0", None),
    ],
)
def test_keeps_memory_exactly(body: Any, text: Any, stored: Any) -> None:
    made = body(task={"resources": {"memory": text}})
    if stored is None:
        assert "tasks.0.resources.memory" in faults(made)
    else:
        assert quantity.parse(JobCreate.model_validate(made).tasks[0].resources.memory) == Decimal(stored)


@pytest.mark.parametrize("text", [1, "1", "1000m", "1e0", "1E0", "+1", "1.0", "0.001k", 1.0])
def test_reads_one_gpu_however_it_is_written(body: Any, text: Any) -> None:
    gpus = JobCreate.model_validate(body(task={"resources": {"gpus": text}})).tasks[0].resources.gpus
    assert gpus == 1
    assert type(gpus) is int


@pytest.mark.parametrize("text", ["1K", "1_0", "१"])
def test_refuses_slips_in_gpus(body: Any, text: Any) -> None:
    assert "tasks.0.resources.gpus" in faults(body(task={"resources": {"gpus": text}}))


@pytest.mark.parametrize(
    ("place", "change"),
    [
        ("tasks.0.env.A", {"env": {"A": 1}}),
        ("tasks.0.env.A", {"env": {"A": "a\x00b"}}),
        ("tasks.0.command.1", {"command": ["a", "\ud800"]}),
        ("tasks.0.image", {"image": ""}),
        ("tasks.0.image", {"image": "a b"}),
        ("tasks.0.volumes.0.path", {"volumes": [{"claim": "c", "path": "models"}]}),
        ("tasks.0.volumes.0.path", {"volumes": [{"claim": "c", "path": "/a/../b"}]}),
        ("tasks.0.volumes.0.claim", {"volumes": [{"claim": "C", "path": "/a"}]}),
        ("tasks.0.secret_env.A.key", {"secret_env": {"A": {"secret": "s", "key": "a/b"}}}),
        ("tasks.0.secret_env.A.secret", {"secret_env": {"A": {"secret": "S", "key": "k"}}}),
        ("tasks.0.tolerations.0.effect", {"tolerations": [{"key": "a", "operator": "Exists", "effect": "Never"}]}),
        ("tasks.0.name", {"name": "Worker"}),
    ],
)
def test_names_the_place_inside_a_task(body: Any, place: str, change: dict[str, Any]) -> None:
    assert set(faults(body(task=change))) == {place}


@pytest.mark.parametrize(
    ("place", "retries"),
    [
        ("retries.max", {"max": -1}),
        ("retries.on.0.action", {"max": 1, "on": [{"exit_codes": [1], "action": "Restart"}]}),
        ("retries.on.0.exit_codes.0", {"max": 1, "on": [{"exit_codes": [0], "action": "restart_job"}]}),
        ("retries.on.0.exit_codes.0", {"max": 1, "on": [{"exit_codes": [256], "action": "restart_job"}]}),
        ("retries.on.0.causes.0", {"max": 1, "on": [{"causes": ["Evicted"], "action": "restart_job"}]}),
        ("retries.on.0.event", {"max": 1, "on": [{"event": "*", "exit_codes": [3], "action": "restart_job"}]}),
    ],
)
def test_refuses_retries(body: Any, place: str, retries: dict[str, Any]) -> None:
    assert set(faults(body(retries=retries))) == {place}


def test_tells_every_fault_at_once(body: Any) -> None:
    found = faults(body(name="A", task={"replicas": 0, "resources": {"cpu": "x", "gpus": "y"}}, min_available=0))
    assert set(found) == {
        "name",
        "tasks.0.replicas",
        "tasks.0.resources.cpu",
        "tasks.0.resources.gpus",
        "min_available",
    }


def test_bounds_the_number_of_tasks(body: Any) -> None:
    assert "tasks" in faults(body(tasks=[{"name": f"t{index}"} for index in range(101)]))
    assert len(JobCreate.model_validate(body(tasks=[{"name": f"t{index}"} for index in range(100)])).tasks) == 100


@pytest.mark.parametrize("member", ["run_timeout_seconds", "queue_timeout_seconds"])
@pytest.mark.parametrize(("seconds", "right"), [(1, True), (31_536_000, True), (0, False), (31_536_001, False)])
def test_limits_of_time_are_a_second_to_a_year(body: Any, member: str, seconds: int, right: bool) -> None:
    if right:
        assert getattr(JobCreate.model_validate(body(**{member: seconds})), member) == seconds
    else:
        assert set(faults(body(**{member: seconds}))) == {member}


def array_task(array: Any) -> dict[str, Any]:
    return {"image": "i", "resources": {"gpus": 1}, "array": array}


def test_an_array_stands_in_place_of_replicas(body: Any) -> None:
    spec = JobCreate.model_validate({"name": "a", "tasks": [array_task({"size": 30, "parallelism": 4})]})
    assert spec.tasks[0].replicas == 30
    chosen = JobCreate.model_validate({"name": "a", "tasks": [array_task({"size": 30, "indices": [7, 2]})]})
    assert chosen.tasks[0].replicas == 2


@pytest.mark.parametrize(
    ("place", "array"),
    [
        ("size", {"size": 0}),
        ("size", {}),
        ("size", {"size": "3"}),
        ("parallelism", {"size": 3, "parallelism": 0}),
        ("indices", {"size": 3, "indices": []}),
        ("indices.0", {"size": 3, "indices": [-1]}),
        ("step", {"size": 3, "step": 2}),
    ],
)
def test_refuses_an_array_at_its_own_field(place: str, array: Any) -> None:
    assert set(faults({"name": "a", "tasks": [array_task(array)]})) == {f"tasks.0.array.{place}"}
