"""Which replicas are meant, and what is said of those that are not there."""

from typing import Any

import pytest

from app.errors import AttemptNotFound, ReplicaNotFound, TaskNotFound, ValidationError
from app.logs.choosing import Asked, JobFacts, PodFacts, check_attempt, job_facts, replicas_asked


def job(*tasks: dict[str, Any], attempt: int = 1) -> JobFacts:
    return job_facts(
        {"k8s_namespace": "n", "state": "running", "reason": None, "attempt": attempt, "spec": {"tasks": list(tasks)}}
    )


TWO = job({"name": "loader", "replicas": 1}, {"name": "worker", "replicas": 3})
ARRAY = job({"name": "worker", "replicas": 3, "array": {"size": 9, "indices": [7, 2, 5]}})


@pytest.mark.parametrize(
    ("asked", "facts", "expected"),
    [
        (Asked(), TWO, {("loader", 0), ("worker", 0), ("worker", 1), ("worker", 2)}),
        (Asked(task="worker"), TWO, {("worker", 0), ("worker", 1), ("worker", 2)}),
        (Asked(replica=0), TWO, {("loader", 0), ("worker", 0)}),
        (Asked(replica=2), TWO, {("worker", 2)}),
        (Asked(replica=7), ARRAY, {("worker", 7)}),
        (Asked(), ARRAY, {("worker", 2), ("worker", 5), ("worker", 7)}),
        (Asked(attempt=1), job({"name": "worker", "replicas": 1, "array": None}, attempt=0), {("worker", 0)}),
    ],
)
def test_what_is_meant(asked: Asked, facts: JobFacts, expected: set[tuple[str, int]]) -> None:
    assert replicas_asked(asked, facts, 4) == expected


@pytest.mark.parametrize(
    ("asked", "facts", "kind", "words"),
    [
        (Asked(task="other"), TWO, TaskNotFound, "it has loader, worker"),
        (Asked(replica=3), TWO, ReplicaNotFound, "there are 0 of loader, 0..2 of worker"),
        (Asked(replica=3), ARRAY, ReplicaNotFound, "there are 2, 5, 7 of worker"),
        (Asked(), job({"name": "a", "replicas": 5}), ValidationError, "5 replicas are meant, and at most 4"),
        (Asked(), job({"name": "a", "replicas": 5}), ValidationError, "choose a replica"),
        (Asked(), job(*({"name": f"t{n}", "replicas": 2} for n in range(30))), ValidationError, "t19 and 10 more"),
    ],
)
def test_what_is_not_there(asked: Asked, facts: JobFacts, kind: Any, words: str) -> None:
    with pytest.raises(kind) as caught:
        replicas_asked(asked, facts, 4)
    assert words in caught.value.detail


@pytest.mark.parametrize(("had", "words"), [(0, "it has not run yet"), (1, "it has had 1")])
def test_an_attempt_that_has_not_begun(had: int, words: str) -> None:
    facts = job({"name": "worker", "replicas": 1}, attempt=had)
    with pytest.raises(AttemptNotFound, match=words):
        check_attempt(Asked(attempt=2), facts, [])
    check_attempt(Asked(attempt=1), facts, [])
    check_attempt(Asked(), facts, [])


def test_a_replica_may_be_ahead_of_its_job() -> None:
    pod = PodFacts("uid", "name", "worker", 0, attempt=2, phase="Running", node=None, reason=None, gone=False)
    check_attempt(Asked(attempt=2), TWO, [pod])
