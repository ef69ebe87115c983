"""A job body that is right, and ways to change it."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from app.jobs.schemas import JobCreate

BASE = {
    "name": "bulk-score",
    "tasks": [
        {
            "name": "worker",
            "replicas": 1,
            "image": "registry.test/llm:1",
            "command": ["score"],
            "resources": {"cpu": "4", "memory": "16Gi", "gpus": 1},
        }
    ],
}


@pytest.fixture
def body() -> Callable[..., dict[str, Any]]:
    """BASE with job fields, and with fields of its task under `task`; `tasks` replaces the list by such changes."""

    def make(*, task: dict[str, Any] | None = None, tasks: list[dict[str, Any]] | None = None, **job: Any) -> Any:
        made = copy.deepcopy(BASE) | job
        template = made["tasks"][0]
        made["tasks"] = [{**copy.deepcopy(template), **change} for change in (tasks or [task or {}])]
        return made

    return make


@pytest.fixture
def spec(body: Callable[..., dict[str, Any]]) -> Callable[..., JobCreate]:
    return lambda **changes: JobCreate.model_validate(body(**changes))
