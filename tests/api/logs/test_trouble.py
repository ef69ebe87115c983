"""A cluster that is away, slow or closed to us hurts logs alone (cases I-08, S-21)."""

import asyncio
import time
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.cluster.client import ClusterSettings
from app.cluster.opening import lazy_pod_logs
from app.db import Sessions
from app.logs.service import Logs
from app.settings import Settings
from app.simulator.faults import Fault


async def test_a_cluster_that_is_away_is_503_for_logs_alone(scene: Any) -> None:
    job = await scene.job()
    pod = await scene.pod(job)
    pod.write(b"here\n")
    await scene.cluster.faults.away()
    for query in ({}, {"follow": "true"}):
        answer = await scene.read(job, **query)
        assert (answer.status_code, answer.json()["type"]) == (503, "cluster-unavailable")
        assert int(answer.headers["retry-after"]) > 0
        assert "127.0.0.1" not in answer.text
    assert (await scene.client.get(f"/v1/jobs/{job}")).json()["state"] == "running"
    assert (await scene.client.get("/readyz")).status_code == 200
    await scene.cluster.faults.back()
    assert await scene.text(job) == b"here\n"


async def test_kept_logs_need_no_cluster(scene: Any) -> None:
    job = await scene.job(state="succeeded")
    await scene.keep(job, await scene.gone(job), b"2026-12-01T12:00:00Z kept\n")
    await scene.cluster.faults.away()
    assert await scene.text(job) == b"kept\n"
    await scene.cluster.faults.back()


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [
        ({"status": 500, "reason": "InternalError", "message": 'Get "https://10.0.0.1:10250/x": dial tcp: timeout'}, 5),
        ({"status": 429, "reason": "TooManyRequests", "retry_after_seconds": 17}, 17),
        ({"status": 503, "reason": "ServiceUnavailable", "retry_after_seconds": 3}, 3),
        ({"status": 401, "reason": "Unauthorized"}, 5),
    ],
)
@pytest.mark.parametrize("subresource", [None, "log"])
async def test_what_the_cluster_answers_is_told_in_a_sentence(
    scene: Any, fault: dict[str, Any], seconds: int, subresource: str | None
) -> None:
    job = await scene.job()
    await scene.pod(job)
    scene.cluster.faults.add(Fault("answer", method="GET", plural="pods", subresource=subresource, **fault))
    answer = await scene.read(job)
    assert (answer.status_code, answer.json()["type"]) == (503, "cluster-unavailable")
    assert int(answer.headers["retry-after"]) == seconds
    assert "10.0.0.1" not in answer.text


async def test_a_missing_right_is_named(scene: Any) -> None:
    job = await scene.job()
    await scene.pod(job)
    words = (
        'pods "a" is forbidden: User "system:serviceaccount:pumice:pumice-api" cannot get resource "pods/log" in API'
    )
    text = f'{words} group "" in the namespace "team-nlp"'
    scene.cluster.faults.add(Fault("answer", subresource="log", status=403, reason="Forbidden", message=text))
    answer = await scene.read(job)
    assert (answer.status_code, answer.json()["type"]) == (503, "cluster-unavailable")
    assert answer.json()["detail"] == (
        "The service's account in the cluster lacks the right to get pods/log in the namespace team-nlp."
    )


async def test_one_node_that_does_not_answer_hides_no_other(scene: Any) -> None:
    job = await scene.job(("worker", 2))
    for index in (0, 1):
        (await scene.pod(job, index=index)).write(b"here\n")
    scene.cluster.faults.add(Fault("answer", subresource="log", status=500))
    answer = await scene.read(job)
    assert answer.status_code == 200
    assert answer.content.endswith(b" | here\n")
    assert "(cluster-unavailable)" in answer.headers["pumice-log-missing"]


async def test_a_slow_cluster_holds_up_nobody_else(scene: Any) -> None:  # I-08
    job = await scene.job()
    await scene.pod(job)
    scene.cluster.faults.add(Fault("delay_before", method="GET", plural="pods", seconds=30.0, count=20))
    waiting = [asyncio.create_task(scene.read(job)) for _ in range(20)]
    await scene.until(lambda: not scene.cluster.faults.active())
    for path in ("/healthz", f"/v1/jobs/{job}", "/v1/jobs") * 5:
        began = time.monotonic()
        assert (await scene.client.get(path)).status_code == 200
        assert time.monotonic() - began < 1  # the case says so
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


@pytest.mark.parametrize("reach", [None, ClusterSettings(kubeconfig="/nowhere/kubeconfig")])
async def test_a_process_without_a_cluster_says_so(
    scene: Any, app: FastAPI, settings: Settings, sessions: Sessions, reach: ClusterSettings | None
) -> None:
    job = await scene.job()
    await scene.pod(job)
    async with lazy_pod_logs(reach, streams=4) as logs:
        app.state.logs = Logs(settings, sessions, logs)
        for query in ({}, {"follow": "true"}):
            answer = await scene.read(job, **query)
            assert (answer.status_code, answer.json()["type"]) == (503, "cluster-unavailable")
            assert "was given no cluster" in answer.json()["detail"]
            assert "/nowhere" not in answer.text


async def test_an_answer_that_breaks_in_the_middle_is_not_taken_for_whole(scene: Any, app: FastAPI) -> None:
    job = await scene.job()
    await scene.pod(job, log_lines="1000000", log_line_bytes="100")
    app.state.logs._most_bytes = 2**40
    async with scene.client.stream("GET", scene.path(job)) as answer:
        parts = answer.aiter_raw()
        await anext(parts)
        scene.cluster.faults.logs.cut(abrupt=True)
        with pytest.raises(httpx.RemoteProtocolError):
            [part async for part in parts]
