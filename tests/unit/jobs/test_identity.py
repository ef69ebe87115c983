from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db import new_id
from app.errors import Conflict
from app.jobs.identity import choose_k8s_name, created_at, k8s_name_candidates, next_k8s_name
from app.jobs.schemas import JobCreate
from app.jobs.validation import MAXIMUM_POD_NAME

ID = UUID("01a22eb9-8c7d-7100-a482-3b26706dfafa")


def test_keeps_a_name_that_was_never_used(spec: Any) -> None:
    assert choose_k8s_name(k8s_name_candidates(spec(), ID), set()) == "bulk-score"


def test_adds_digits_of_the_id_to_a_used_name(spec: Any) -> None:
    candidates = k8s_name_candidates(spec(), ID)
    assert choose_k8s_name(candidates, {"bulk-score"}) == "bulk-score-6dfafa"
    assert choose_k8s_name(candidates, {"bulk-score", "bulk-score-6dfafa"}) == "bulk-score-3b2670"


def test_says_so_when_every_candidate_was_used(spec: Any) -> None:
    candidates = k8s_name_candidates(spec(), ID)
    with pytest.raises(Conflict):
        choose_k8s_name(candidates, set(candidates))


def test_never_leaves_two_hyphens_where_it_cuts(spec: Any) -> None:
    job = spec(name="a-" + "b" * 51, task={"name": "t" * 6})
    assert len("-tttttt-0") + len(job.name) == 62
    assert k8s_name_candidates(job, ID)[1] == "a-" + "b" * 45 + "-6dfafa"
    cut = spec(name="a" * 46 + "-" + "b" * 7, task={"name": "t" * 6})
    assert k8s_name_candidates(cut, ID)[1] == "a" * 46 + "-6dfafa"


@given(name=st.from_regex(r"[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?", fullmatch=True), data=st.data())
def test_every_candidate_is_a_name_whose_pods_fit(name: str, data: Any) -> None:
    room = MAXIMUM_POD_NAME - len(name) - len("--0")
    if room < 1:
        return
    task = "t" * data.draw(st.integers(1, room))
    spec = JobCreate.model_validate(
        {"name": name, "tasks": [{"name": task, "replicas": 1, "image": "i", "resources": {}}]}
    )
    for candidate in k8s_name_candidates(spec, ID):
        assert JobCreate.model_validate({**spec.model_dump(), "name": candidate}).name == candidate
        assert len(f"{candidate}-{task}-0") <= MAXIMUM_POD_NAME


def test_time_and_id_are_one_clock() -> None:
    before = datetime.now(UTC)
    at = created_at(new_id())
    assert before - timedelta(milliseconds=1) <= at <= datetime.now(UTC)


def test_the_next_run_has_a_name_of_its_own_where_there_is_room() -> None:
    assert next_k8s_name("score", "-worker-0", "abc123") == "score-rabc123"
    long = next_k8s_name("s" * 60, "-w-0", "abc123")
    assert long is not None
    assert len(f"{long}-w-0") == 63
    assert long.endswith("-rabc123")
    assert next_k8s_name("a", f"-{'w' * 56}-0", "abc123") is None
