"""A Volcano Job of ours, imported again, is the same job: nothing of a manifest gets lost or changed.

Retries, limits of time and arrays are not in it: the service itself decides what runs again (ADR 0016).
"""

import json
from typing import Any
from uuid import UUID

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.cluster.manifest import ManifestInput, render
from app.errors import AppError
from app.jobs import gang, validation
from app.jobs.importing.context import Context
from app.jobs.importing.documents import read_documents
from app.jobs.importing.translation import Imported, translate
from app.jobs.schemas import JobCreate

PRIORITIES = {"low": "batch-low", "normal": None, "high": "batch-high"}
CONTEXT = Context(namespace="team-nlp", priorities=PRIORITIES, default_priority="normal", ttl_seconds=86_400)

texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cn"]), max_size=12)
names = st.from_regex(r"[a-z]([-a-z0-9]{0,6}[a-z0-9])?", fullmatch=True)
variables = st.from_regex(r"[A-Z_][A-Z0-9_]{0,6}", fullmatch=True)
label_values = st.from_regex(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,6}[A-Za-z0-9])?)?", fullmatch=True)
small = st.integers(1, 5)


def members(values: Any, keys: Any = names) -> Any:
    return st.dictionaries(keys, values, max_size=3)


tolerations = st.fixed_dictionaries(
    {"effect": st.sampled_from(["NoSchedule", "PreferNoSchedule"])},
    optional={"key": names, "value": label_values},
).map(lambda made: made if "key" in made else {"effect": made["effect"], "operator": "Exists"})

tasks = st.fixed_dictionaries(
    {
        "replicas": small,
        "image": st.sampled_from(["registry.test/llm:1", "llm", "llm@sha256:0"]),
        "resources": st.fixed_dictionaries(
            {},
            optional={
                "cpu": st.sampled_from(["500m", "4", "1.5"]),
                "memory": st.sampled_from(["16Gi", "1e9", "1.5Gi"]),
                "gpus": st.integers(1, 8),
            },
        ),
    },
    optional={
        "command": st.lists(texts, max_size=3),
        "args": st.lists(texts, max_size=3),
        "env": members(texts | variables.map("$({})".format), variables),
        "secret_env": members(st.fixed_dictionaries({"secret": names, "key": names}), variables.map("S{}".format)),
        "node_selector": members(label_values),
        "tolerations": st.lists(tolerations, max_size=2),
        "volumes": st.lists(
            st.fixed_dictionaries(
                {"claim": st.sampled_from(["models", "scratch"]), "path": names.map("/{}".format)},
                optional={"read_only": st.booleans()},
            ),
            max_size=3,
            unique_by=lambda volume: volume["path"],
        ),
        "min_available": st.just(1),
    },
)


@st.composite
def jobs(draw: Any) -> JobCreate:
    made = draw(st.lists(tasks, min_size=1, max_size=3))
    for index, task in enumerate(made):
        task["name"] = f"{draw(names)}{index}"
        if index and draw(st.booleans()):
            task["depends_on"] = [made[0]["name"]]
    body = {
        "name": draw(names),
        "queue": "q-nlp",
        "priority": draw(st.sampled_from(list(PRIORITIES))),
        "labels": draw(members(label_values)),
        "annotations": draw(members(texts)),
        "tasks": made,
    }
    if draw(st.booleans()):
        body["min_success"] = draw(st.integers(1, sum(task["replicas"] for task in made)))
    spec = JobCreate.model_validate(body)
    try:
        validation.check(spec, PRIORITIES)
    except AppError:
        assume(False)  # noqa: FBT003
    return spec


def manifest(spec: JobCreate) -> Any:
    return render(
        ManifestInput(
            job_id=UUID("01936f6e-4c00-7000-8000-000000000001"),
            installation_id=UUID("01936f6e-4c00-7000-8000-00000000000f"),
            team="nlp",
            namespace="team-nlp",
            name=spec.name,
            queue=spec.queue or "",
            priority_class=PRIORITIES[spec.priority or "normal"],
            ttl_seconds=86_400,
            spec=spec,
        )
    )


def normal(spec: JobCreate) -> Any:
    """A job with its defaults written out, as it is stored."""
    body = spec.model_dump(mode="json")
    for task, form in zip(body["tasks"], spec.tasks, strict=True):
        task["min_available"] = gang.task_min_available(form)
    return {**body, "min_available": gang.min_available(spec), "priority": spec.priority or "normal"}


@given(jobs(), st.sampled_from(["application/json", "application/yaml"]))
@settings(max_examples=100)
def test_is_the_same_job_again(spec: JobCreate, kind: str) -> None:
    sent = json.dumps(manifest(spec), ensure_ascii=False)  # which is YAML as well, with every text in quotes
    (document,) = read_documents(sent.encode(), kind).found
    read = translate(document, CONTEXT)
    assert isinstance(read, Imported), read
    assert normal(read.spec) == normal(spec)
    assert manifest(read.spec) == manifest(spec)
