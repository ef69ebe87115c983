"""A client that openapi-python-client makes from the contract, against the real application."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from typer.testing import CliRunner

CONTRACT = Path(__file__).parents[2] / "openapi" / "openapi.json"
PACKAGE = "pumice_client_of_the_tests"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Imports a module of the generated package by its name below the package."""
    generator = importlib.import_module("openapi_python_client.cli")
    folder = tmp_path_factory.mktemp("client")
    options = ["generate", "--path", str(CONTRACT), "--meta", "none", "--output-path", str(folder / PACKAGE)]
    result = CliRunner().invoke(generator.app, options)
    assert result.exit_code == 0, result.output
    assert "Endpoint will not be generated" not in result.output
    sys.path.insert(0, str(folder))
    yield lambda name: importlib.import_module(f"{PACKAGE}.{name}")
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


@pytest.fixture
async def caller(generated: Any, api: Any, app: FastAPI) -> Any:
    """A generated client of a submitter of the team nlp; a status that the contract does not know raises."""
    await api.make_team("nlp")
    token = (await api.make_token("nlp", "submitter"))["token"]
    client = generated("client").AuthenticatedClient(
        base_url="http://api.test", token=token, raise_on_unexpected_status=True
    )
    headers = {"Authorization": f"Bearer {token}"}
    client.set_async_httpx_client(
        AsyncClient(transport=ASGITransport(app), base_url="http://api.test", headers=headers)
    )
    yield client
    await client.get_async_httpx_client().aclose()


def a_job(generated: Any, name: str, gpus: int = 1) -> Any:
    """A body with the required fields only."""
    models = generated("models")
    task = models.Task(replicas=1, image="registry.test/llm:1", resources=models.Resources(gpus=gpus))
    return models.JobCreate(name=name, tasks=[task])


async def test_submits_reads_lists_and_cancels(generated: Any, caller: Any) -> None:
    submit, read = generated("api.jobs.submit_job"), generated("api.jobs.read_job")
    job = await submit.asyncio(team="nlp", client=caller, body=a_job(generated, "a"), idempotency_key="k1")
    again = await submit.asyncio(team="nlp", client=caller, body=a_job(generated, "a"), idempotency_key="k1")
    assert (job.state, job.started_at, job.message, again.id) == ("held", None, None, job.id)
    detail = (await read.asyncio(job_id=job.id, client=caller)).to_dict()
    assert {name: detail[name] for name in job.to_dict()} == job.to_dict()
    assert (detail["run_seconds"], detail["nodes"], detail["gpu_seconds"]) == (None, [], {})
    held = generated("models").JobState.HELD
    page = await generated("api.jobs.list_jobs").asyncio(client=caller, state=[held], limit=1)
    assert (page.items, page.next_cursor) == ([job], None)
    groups = await generated("api.jobs.list_jobs").asyncio(
        client=caller, group_by=generated("models").ListJobsGroupByType0.STATE
    )
    assert [(group.value, group.count) for group in groups.groups] == [("held", 1)]
    attempts = await generated("api.jobs.list_attempts").asyncio(job_id=job.id, client=caller)
    assert attempts.items == []
    assert type(job).from_dict(job.to_dict()) == job
    cancelled = await generated("api.jobs.cancel_job").asyncio(job_id=job.id, client=caller)  # without its body
    assert (cancelled.state, cancelled.cancel_reason) == ("cancelled", None)
    events = await generated("api.jobs.list_events").asyncio(job_id=job.id, client=caller)
    assert [event.type_ for event in events.items] == ["accepted", "cancel"]
    assert (await generated("api.jobs.list_pods").asyncio(job_id=job.id, client=caller)).items == []
    assert (await generated("api.jobs.read_manifest").asyncio(job_id=job.id, client=caller))["kind"] == "Job"


async def test_reads_problems(generated: Any, caller: Any) -> None:
    models = generated("models")
    submit = generated("api.jobs.submit_job")
    problem = await submit.asyncio(team="nlp", client=caller, body=a_job(generated, "a", gpus=9))
    assert isinstance(problem, models.Problem)
    assert (problem.type_, problem["requested"], problem["limit"]) == ("job-never-fits", 9, 8)
    problem = await submit.asyncio(team="nlp", client=caller, body=a_job(generated, "A"))
    assert [fault.pointer for fault in problem.errors] == ["/name"]


async def test_a_patch_keeps_what_it_leaves_out(generated: Any, caller: Any, api: Any) -> None:
    made = await api.make_queue("q", weight=3, deserved={"nvidia.com/gpu": 4})
    caller.get_async_httpx_client().headers["Authorization"] = api.admin.headers["Authorization"]
    patch = generated("models").QueuePatch(reclaimable=False)
    changed = await generated("api.queues.change_queue").asyncio(queue="q", client=caller, body=patch)
    assert (changed.weight, changed.reclaimable) == (3, False)
    assert changed.capability.to_dict() == made["capability"]
    assert changed.deserved.to_dict() == made["deserved"]
