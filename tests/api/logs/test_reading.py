"""Logs of live pods (cases L-04, L-06, L-07)."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from app.simulator.kinds import POD

STRANGE = b"one\n\x00\xff\xfe two\r\nthree \xf0\x9f\n" + b"x" * 300_000 + b"\nno end"


async def test_bytes_come_as_they_were_printed(scene: Any) -> None:
    job = await scene.job()
    (await scene.pod(job)).write(STRANGE)
    answer = await scene.read(job)
    assert answer.status_code == 200
    assert answer.content == STRANGE
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["pumice-log-source"] == "live"
    assert answer.headers["pumice-log-limit-bytes"] == "1000000"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("tail", "expected"),
    [(0, b""), (1, b"no end"), (2, b"x" * 300_000 + b"\nno end"), (1_000_000, STRANGE)],
)
async def test_a_tail_has_so_many_lines(scene: Any, tail: int, expected: bytes) -> None:
    job = await scene.job()
    (await scene.pod(job)).write(STRANGE)
    assert await scene.text(job, tail=tail) == expected


async def test_lines_since_a_moment(scene: Any) -> None:
    job = await scene.job()
    pod = await scene.pod(job)
    pod.write(b"before\n")
    moment = datetime.now(UTC)
    pod.write(b"after\n")
    assert await scene.text(job, since=moment.isoformat()) == b"after\n"
    assert await scene.text(job, since=(moment - timedelta(hours=1)).isoformat()) == b"before\nafter\n"
    assert await scene.text(job, since="2999-01-01T00:00:00Z") == b""


@pytest.mark.parametrize(
    "query",
    [
        {"tail": "-1"},
        {"tail": "abc"},
        {"tail": "1000001"},
        {"tail": "1.5"},
        {"since": "yesterday"},
        {"since": "600"},
        {"task": "../other"},
        {"task": ""},
        {"task": "Worker"},
        {"replica": "0;x"},
        {"replica": "-1"},
        {"replica": "99999999999999999999"},
        {"attempt": "0"},
        {"container": "a/b"},
        {"container": "x" * 64},
        {"follow": "perhaps"},
        {"follow": "true", "previous": "true"},
        {"lines": "3"},
        {"tail": ["1", "2"]},
    ],
)
async def test_odd_parameters_are_422(scene: Any, query: dict[str, Any]) -> None:  # L-07
    job = await scene.job()
    await scene.pod(job)
    answer = await scene.read(job, **query)
    assert (answer.status_code, answer.json()["type"]) == (422, "validation-error"), answer.text
    (name,) = {each["pointer"].split("/")[2] for each in answer.json()["errors"]}
    assert name in query


async def test_what_is_not_there_is_404_and_says_what_is(scene: Any) -> None:  # L-02
    job = await scene.job(("loader", 1), ("worker", 4))
    await scene.pod(job)
    for query, kind, words in (
        ({"task": "nope"}, "task-not-found", "it has loader, worker"),
        ({"task": "worker", "replica": 99}, "replica-not-found", "there are 0..3 of worker"),
        ({"replica": 4}, "replica-not-found", "there are 0 of loader, 0..3 of worker"),
        ({"attempt": 2}, "attempt-not-found", "it has had 1"),
        ({"container": "other", "task": "worker", "replica": 0}, "container-not-found", "it has worker"),
    ):
        answer = await scene.read(job, **query)
        assert (answer.status_code, answer.json()["type"]) == (404, kind), answer.text
        assert words in answer.json()["detail"]
        assert "nope" not in answer.text
    assert await scene.problem(uuid4()) == (404, "not-found")
    assert await scene.problem("nonsense") == (404, "not-found")


async def test_four_replicas_come_together_by_time_and_each_alone(scene: Any) -> None:  # L-07
    job = await scene.job(("loader", 2), ("worker", 2))
    pods = {(task, index): await scene.pod(job, task, index) for task in ("loader", "worker") for index in (0, 1)}
    for turn in ("first", "second"):
        for (task, index), pod in pods.items():
            pod.write(f"{turn} of {task} {index}\n".encode())
    every = [f"{task}-{index} | {turn} of {task} {index}" for turn in ("first", "second") for task, index in pods]
    assert (await scene.text(job)).decode().splitlines() == every
    assert (await scene.text(job, tail=1)).decode().splitlines() == every[4:]
    assert (await scene.text(job, task="worker")).decode().splitlines() == [each for each in every if "worker" in each]
    assert (await scene.text(job, replica=1)).decode().splitlines() == [each for each in every if "-1 |" in each]
    for task, index in pods:
        alone = await scene.text(job, task=task, replica=index)
        assert alone == f"first of {task} {index}\nsecond of {task} {index}\n".encode()


async def test_more_replicas_than_are_shown_together_have_to_be_chosen(scene: Any) -> None:
    job = await scene.job(("worker", 9))
    (await scene.pod(job, index=8)).write(b"the ninth\n")
    answer = await scene.read(job)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "too-many-replicas")
    assert "9 replicas are meant, and at most 8" in answer.json()["detail"]
    assert await scene.text(job, replica=8) == b"the ninth\n"


async def test_another_teams_logs_are_not_found(scene: Any) -> None:  # L-07
    job = await scene.job()
    (await scene.pod(job)).write(b"secret\n")
    await scene.gone(job, "worker", 0, attempt=0)
    await scene.api.make_team("vision")
    stranger = await scene.api.member("vision", "manager")
    for query in ({}, {"follow": "true"}, {"attempt": "1"}):
        answer = await stranger.get(scene.path(job), params=query)
        assert (answer.status_code, answer.json()["type"]) == (404, "not-found")
    assert (await scene.api.client(None).get(scene.path(job))).status_code == 401
    assert (await scene.api.admin.get(scene.path(job))).content == b"secret\n"
    viewer = await scene.api.member("nlp", "viewer")
    assert (await viewer.get(scene.path(job))).content == b"secret\n"


async def test_the_tasks_own_container_is_chosen_beside_an_injected_one(scene: Any) -> None:  # L-06 b
    job = await scene.job()
    pod = await scene.pod(job, containers=("istio-proxy", "worker"))
    pod.write(b"mine\n")
    pod.write(b"proxied\n", "istio-proxy")
    assert await scene.text(job) == b"mine\n"
    assert await scene.text(job, container="istio-proxy") == b"proxied\n"
    assert await scene.problem(job, container="other") == (404, "container-not-found")


async def test_an_attempt_is_never_anothers(scene: Any) -> None:  # L-06 c
    """Pods of both attempts have one name, and one of them is in the cluster."""
    job = await scene.job()
    first = await scene.pod(job)
    first.write(b"of the first\n")
    assert await scene.text(job, attempt=1) == b"of the first\n"
    await first.delete()
    await scene.set(job, attempt=2)
    second = await scene.pod(job, attempt=2)
    second.write(b"of the second\n")
    assert second.name == first.name
    assert await scene.problem(job, attempt=1) == (410, "logs-gone")  # its row does not say yet that it is gone
    await first.row(gone_at=datetime.now(UTC))
    assert await scene.problem(job, attempt=1) == (410, "logs-gone")
    assert await scene.text(job, attempt=2) == await scene.text(job) == b"of the second\n"
    await scene.keep(job, first.uid, b"2026-12-01T12:00:00Z kept of the first\n")
    assert await scene.text(job, attempt=1) == b"kept of the first\n"


async def test_a_run_before_a_restart_in_place(scene: Any) -> None:  # L-06 d
    job = await scene.job()
    pod = await scene.pod(job, restart_policy="Always", run_seconds="1", state="waiting")
    await pod.until_it_starts_again()
    assert b"ends with exit code 0" in await scene.text(job)  # while the next is awaited, the last one is shown
    assert b"ends with exit code 0" in await scene.text(job, previous="true")
    other = await scene.job(("other", 1))
    await scene.pod(other, "other")
    assert await scene.problem(other, previous="true") == (404, "container-not-found")


async def test_a_long_log_is_cut_and_says_so(scene: Any) -> None:
    job = await scene.job()
    await scene.pod(job, log_lines="100000", log_line_bytes="100")
    text = await scene.text(job)
    assert text[1_000_000:] == b"\n[pumice: cut after 1000000 bytes; tail, since and follow show the rest]\n"
    assert text[99_900:100_000].startswith(b"simulated: ")
    lines = (await scene.text(job, tail=100)).splitlines()
    assert len(lines) == 100
    assert b" line 99999 " in lines[-1]


async def test_a_pod_that_will_not_go_is_still_read(scene: Any) -> None:
    """Its job is cancelled, and it holds on for its grace period (case C-10)."""
    job = await scene.job(state="cancelling")
    pod = await scene.pod(job, ignore_sigterm="true")
    await scene.cluster.objects.delete(POD, "team-nlp", pod.name, grace_period_seconds=36_000)
    pod.write(b"still here\n")
    assert await scene.text(job) == b"still here\n"
