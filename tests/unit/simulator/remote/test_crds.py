"""Volcano's definitions for a real API server come from the simulated server's schemas."""

from collections.abc import Iterator
from typing import Any

import pytest

from app.simulator.crds import custom_resource_definitions, openapi
from app.simulator.kinds import COMMAND, JOB, POD_GROUP, QUEUE

DEFINITIONS = {definition["spec"]["names"]["kind"]: definition for definition in custom_resource_definitions()}


def version(kind: str) -> Any:
    return DEFINITIONS[kind]["spec"]["versions"][0]


def schema(kind: str) -> Any:
    return version(kind)["schema"]["openAPIV3Schema"]


def test_scope_names_and_subresources_are_those_of_volcano() -> None:
    assert {kind: definition["metadata"]["name"] for kind, definition in DEFINITIONS.items()} == {
        "Job": "jobs.batch.volcano.sh",
        "PodGroup": "podgroups.scheduling.volcano.sh",
        "Queue": "queues.scheduling.volcano.sh",
        "Command": "commands.bus.volcano.sh",
    }
    assert {kind for kind in DEFINITIONS if DEFINITIONS[kind]["spec"]["scope"] == "Cluster"} == {"Queue"}
    assert {kind for kind in DEFINITIONS if version(kind).get("subresources")} == {"Job", "Queue"}
    for kind in (JOB, QUEUE, POD_GROUP, COMMAND):
        names = DEFINITIONS[kind.name]["spec"]["names"]
        assert tuple(names.get("shortNames", ())) == kind.short_names
    columns = [(column["name"], column["jsonPath"]) for column in version("Job")["additionalPrinterColumns"]]
    assert columns[:2] == [("STATUS", ".status.state.phase"), ("minAvailable", ".status.minAvailable")]


def test_rules_and_defaults_are_there() -> None:
    spec = schema("Job")["properties"]["spec"]["properties"]
    assert spec["queue"]["default"] == "default"
    assert spec["maxRetry"] == {"type": "integer", "format": "int32", "minimum": 0, "default": 3}
    assert spec["tasks"]["minItems"] == 1
    assert spec["policies"]["items"]["properties"]["event"]["enum"][0] == "*"
    assert schema("Command")["properties"]["target"]["required"] == ["apiVersion", "kind", "name", "uid"]
    assert schema("Queue")["properties"]["spec"]["properties"]["weight"]["maximum"] == 65535


def test_quantities_may_be_numbers() -> None:
    amounts = schema("Queue")["properties"]["spec"]["properties"]["capability"]["additionalProperties"]
    assert amounts["x-kubernetes-int-or-string"] is True
    assert "type" not in amounts  # a structural schema has none beside it


def parts(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield part
    inside = [
        *part.get("properties", {}).values(),
        *(part[key] for key in ("items", "additionalProperties") if key in part),
    ]
    for each in inside:
        yield from parts(each)


@pytest.mark.parametrize("kind", sorted(DEFINITIONS))
def test_no_object_loses_a_field(kind: str) -> None:
    for part in parts(schema(kind)):
        if part.get("type") == "object" and "additionalProperties" not in part:
            assert part["x-kubernetes-preserve-unknown-fields"] is True


def test_the_schemas_are_not_changed() -> None:
    given: dict[str, Any] = {"type": "string", "enum": ("a", "b"), "maxLength": 3}
    assert openapi(given) == {"type": "string", "enum": ["a", "b"], "maxLength": 3}
    assert given["enum"] == ("a", "b")
