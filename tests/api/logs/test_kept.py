"""After the pod is gone: its kept end, or the reason why there is nothing (case L-02)."""

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import delete, func, select

from app.jobs.log_tails import log_tails
from app.jobs.transitions import jobs

KEPT = b"2026-01-01T12:00:00.5Z one\n2026-01-01T12:00:01Z \x00\xff two\n2026-01-01T12:00:02Z three"


async def test_the_kept_end_says_that_it_is_one(scene: Any) -> None:  # L-02
    job = await scene.job(state="succeeded")
    await scene.keep(job, await scene.gone(job), KEPT, truncated=True)
    answer = await scene.read(job)
    assert answer.content == b"one\n\x00\xff two\nthree"
    assert answer.headers["pumice-log-source"] == "kept"
    assert answer.headers["pumice-log-truncated"] == "true"
    answer = await scene.read(job, tail=2)
    assert answer.content == b"\x00\xff two\nthree"
    assert "pumice-log-truncated" not in answer.headers
    assert await scene.text(job, tail=0) == b""
    assert await scene.text(job, since="2026-01-01T12:00:01Z") == b"\x00\xff two\nthree"
    assert await scene.text(job, since="2999-01-01T00:00:00Z") == b""
    assert await scene.text(job, container="worker", replica=0, attempt=1) == b"one\n\x00\xff two\nthree"
    assert await scene.text(job, follow="true") == b"one\n\x00\xff two\nthree"
    assert await scene.problem(job, container="sidecar") == (410, "logs-gone")
    assert await scene.problem(job, previous="true") == (410, "logs-gone")


@pytest.mark.parametrize(
    ("pod", "state", "reason", "words"),
    [
        ({}, "succeeded", "Deleted", "The pod of worker-0 was deleted, and its last lines were not kept."),
        ({"reason": "Evicted"}, "failed", "Evicted", "is gone (last seen: Evicted)"),
        ({"reason": "NodeLost"}, "running", "NodeLost", "is gone (last seen: NodeLost)"),
        ({}, "lost", "JobLost", "was deleted with its job, outside of this service"),
    ],
)
async def test_what_was_not_kept_is_410_with_the_reason(
    scene: Any, pod: dict[str, Any], state: str, reason: str, words: str
) -> None:  # L-02
    job = await scene.job(state=state)
    await scene.gone(job, **pod)
    answer = await scene.read(job)
    assert (answer.status_code, answer.json()["type"], answer.json()["reason"]) == (410, "logs-gone", reason)
    assert words in answer.json()["detail"]


async def test_live_and_kept_come_together_and_what_is_missing_is_named(scene: Any) -> None:
    job = await scene.job(("worker", 4))
    await scene.keep(job, await scene.gone(job, index=0), KEPT)
    pod = await scene.pod(job, index=1)
    pod.write(b"live\n")
    await scene.gone(job, index=2)
    await scene.pod(job, index=3, state="waiting", image_pull="ErrImagePull")
    answer = await scene.read(job)
    assert answer.content == (b"worker-0 | one\nworker-0 | \x00\xff two\nworker-0 | three\nworker-1 | live\n")
    assert answer.headers["pumice-log-source"] == "mixed"
    assert answer.headers["pumice-log-missing"] == "worker-2 (logs-gone), worker-3 (logs-not-available)"


async def test_the_end_of_a_pod_that_goes_while_it_is_followed_is_read_from_what_was_kept(
    scene: Any, lines: Any
) -> None:
    job = await scene.job()
    pod = await scene.pod(job)
    pod.write(b"seen\n")
    async with scene.follow(job) as answer:
        seen = lines(answer)
        assert await seen.take(5) == b"seen\n"
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").encode()
        await scene.keep(job, pod.uid, b"2020-01-01T00:00:00Z seen\n" + stamp + b" not seen\n")
        await pod.delete()
        await scene.set(job, state="failed", reason="Evicted")
        assert await seen.rest() == b"not seen\n"


async def test_kept_logs_go_with_their_job(scene: Any) -> None:
    job = await scene.job(state="succeeded")
    await scene.keep(job, await scene.gone(job), KEPT)
    async with scene.sessions.begin() as session:
        await session.execute(delete(jobs).where(jobs.c.id == job))
        count = select(func.count()).select_from(log_tails)
        assert (await session.execute(count)).scalar_one() == 0


async def test_a_later_reading_takes_the_place_of_an_earlier_one_but_not_of_a_complete_one(scene: Any) -> None:
    job = await scene.job(state="succeeded")
    uid = await scene.gone(job)
    await scene.keep(job, uid, b"2026-01-01T12:00:00Z early\n", complete=False)
    await scene.keep(job, uid, b"2026-01-01T12:00:00Z complete\n", complete=True)
    await scene.keep(job, uid, b"2026-01-01T12:00:00Z late\n", complete=False)
    assert await scene.text(job) == b"complete\n"
