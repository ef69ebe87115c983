"""What a fault says: where it is, and one sentence in the terms of JSON with the numbers in it."""

from typing import Any

import pytest

TASK = {"replicas": 1, "image": "x", "resources": {}}


@pytest.mark.parametrize(
    ("path", "body", "details"),
    [
        ("/v1/teams/nlp/jobs", [], ["The body: This has to be a JSON object."]),
        (
            "/v1/teams/nlp/jobs",
            {"name": 1, "tasks": {}},
            ["/name: This has to be a text.", "/tasks: This has to be a JSON array."],
        ),
        ("/v1/teams/nlp/jobs", {"name": "a", "tasks": []}, ["/tasks: The least number of items is 1, here are 0."]),
        (
            "/v1/teams/nlp/jobs",
            {"name": "a", "tasks": [TASK] * 101},
            ["/tasks: The greatest number of items is 100, here are 101."],
        ),
        (
            "/v1/teams/nlp/jobs",
            {"name": "a", "tasks": [TASK | {"replicas": 1.5, "env": [], "resources": None}]},
            [
                "/tasks/0/replicas: This has to be a whole number.",
                "/tasks/0/env: This has to be a JSON object.",
                "/tasks/0/resources: This has to be a JSON object.",
            ],
        ),
        (
            "/v1/teams/nlp/jobs",
            {"name": "a", "tasks": [TASK], "retries": {"on": [{"exit_codes": [3], "action": "Restart"}]}},
            ["/retries/on/0/action: This has to be one of 'restart_task', 'restart_job' or 'fail'."],
        ),
        ("/v1/queues", {"name": "q", "weight": 0}, ["/weight: The number has to be at least 1."]),
        ("/v1/queues", {"name": "q", "weight": 65536}, ["/weight: The number has to be at most 65535."]),
        ("/v1/queues", {"name": "q", "reclaimable": "yes"}, ["/reclaimable: This has to be true or false."]),
        ("/v1/queues", {"name": "q", "parent": "p"}, ["/parent: There is no such queue."]),
        ("/v1/teams", {"name": "t", "namespace": "t", "queues": ["q"]}, ["/queues/0: There is no such queue."]),
        (
            "/v1/teams",
            {"name": "t", "namespace": "t", "default_queue": "q"},
            ["/default_queue: This has to be one of the queues."],
        ),
        (
            "/v1/tokens",
            {"name": "", "subject": "x" * 256, "team": "nlp", "role": "owner"},
            [
                "/name: The least number of characters is 1.",
                "/subject: The greatest number of characters is 255.",
                "/role: This has to be one of 'viewer', 'submitter', 'manager' or 'admin'.",
            ],
        ),
        (
            "/v1/tokens",
            {"name": "\x00", "subject": "s", "role": "admin"},
            ["/name: The text holds a NUL or half of a surrogate pair."],
        ),
    ],
)
async def test_bodies(api: Any, path: str, body: Any, details: list[str]) -> None:
    await api.make_team("nlp")
    answer = await api.admin.post(path, json=body)
    assert (answer.status_code, answer.json()["type"]) == (422, "validation-error")
    assert [fault["detail"] for fault in answer.json()["errors"]] == details
    if len(details) == 1:
        assert answer.json()["detail"] == details[0]


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("limit=x", "/query/limit: This has to be a whole number."),
        ("limit=501", "/query/limit: The number has to be at most 500."),
        ("limit=1&limit=2", "/query/limit: This parameter stands twice, and can be given once."),
        ("cursor=" + "x" * 1025, "/query/cursor: The greatest number of characters is 1024."),
        ("sort=name", "/query/sort: This has to be one of 'created_at' or '-created_at'."),
        ("staet=failed", "/query/staet: This route has no such parameter."),
    ],
)
async def test_queries(api: Any, query: str, detail: str) -> None:
    answer = await api.admin.get(f"/v1/jobs?{query}")
    assert (answer.status_code, answer.json()["detail"]) == (422, detail)


async def test_the_reason_of_a_cancel_is_measured_in_characters(api: Any) -> None:
    path = "/v1/jobs/00000000-0000-0000-0000-000000000000/cancel"
    answer = await api.admin.post(path, json={"reason": "x" * 1001})
    assert answer.json()["detail"] == "/reason: The greatest number of characters is 1000."


@pytest.mark.parametrize("path", ["/v1/queues/q-nlp", "/v1/teams/nlp"])
async def test_null_is_not_the_same_as_left_out(api: Any, path: str) -> None:
    await api.make_team("nlp")
    field = "weight" if "queues" in path else "queues"
    answer = await api.admin.patch(path, json={field: None})
    assert answer.json()["detail"] == f"/{field}: Leave it out to keep it; null has no meaning here."
