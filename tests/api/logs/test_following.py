"""Following logs: from before the first line to the end of the job (cases L-01, L-06)."""

import asyncio
from typing import Any

import httpx
import pytest

from app.main import close_streams
from app.simulator.faults import Fault


async def test_lines_arrive_as_they_are_printed_and_it_ends_with_the_job(scene: Any, lines: Any) -> None:
    job = await scene.job()
    pod = await scene.pod(job)
    pod.write(b"before\n")
    async with scene.follow(job) as answer:
        assert answer.status_code == 200
        assert answer.headers["pumice-log-source"] == "live"
        assert "pumice-log-limit-bytes" not in answer.headers
        seen = lines(answer)
        assert await seen.take(7) == b"before\n"
        pod.write(b"half ")
        assert await seen.take(5) == b"half "
        pod.write(b"a line\xff\n")
        assert await seen.take(8) == b"a line\xff\n"
        pod.write(b"last")
        await pod.delete()
        await scene.set(job, state="succeeded")
        assert await seen.rest() == b"last"
    await scene.until_open(0)


async def test_a_follower_waits_for_a_job_that_has_no_pod(scene: Any, lines: Any) -> None:
    job = await scene.job(state="held", attempt=0, reason="WaitingForRelease")
    assert await scene.problem(job) == (409, "logs-not-available")
    assert "WaitingForRelease" in (await scene.read(job)).json()["detail"]
    async with scene.follow(job) as answer:
        seen = lines(answer)
        await scene.set(job, state="running", attempt=1, reason=None)
        pod = await scene.pod(job)
        pod.write(b"at last\n")
        assert await seen.take(8) == b"at last\n"


async def test_a_follower_of_a_container_that_waits_gets_its_first_line(scene: Any, lines: Any) -> None:
    job = await scene.job()
    pod = await scene.pod(job, start_seconds="20", state="waiting")
    answer = await scene.read(job)
    assert (answer.status_code, answer.json()["type"]) == (409, "logs-not-available")
    assert answer.json()["reason"] == "ContainerCreating"
    async with scene.follow(job, tail=0) as answer:
        seen = lines(answer)
        await pod.until("running")
        pod.write(b"first\n")
        assert (await seen.take(6))[:5] in {b"first", b"simul"}


async def test_a_follower_of_a_job_that_never_runs_ends_with_it(scene: Any, lines: Any) -> None:
    job = await scene.job(state="held", attempt=0)
    async with scene.follow(job) as answer:
        assert answer.status_code == 200
        await scene.set(job, state="cancelled")
        assert await lines(answer).rest() == b""
    assert await scene.problem(job) == await scene.problem(job, follow="true") == (410, "logs-gone")


@pytest.mark.parametrize("abrupt", [False, True])
async def test_an_answer_that_ends_is_opened_again_without_loss_or_repetition(
    scene: Any, lines: Any, *, abrupt: bool
) -> None:  # L-06 a
    job = await scene.job()
    pod = await scene.pod(job)
    async with scene.follow(job) as answer:
        seen = lines(answer)
        for turn in range(4):
            text = b"".join(b"%d of turn %d\n" % (number, turn) for number in range(200)) + b"cut he"
            pod.write(text)
            assert await seen.take(len(text)) == text
            scene.cluster.faults.logs.cut(abrupt=abrupt)
            pod.write(b"re\n")
            assert await seen.take(3) == b"re\n"


async def test_a_follower_outlives_a_cluster_that_goes_away(scene: Any, lines: Any) -> None:
    job = await scene.job()
    pod = await scene.pod(job)
    pod.write(b"before\n")
    async with scene.follow(job) as answer:
        seen = lines(answer)
        assert await seen.take(7) == b"before\n"
        await scene.cluster.faults.away()
        pod.write(b"meanwhile\n")
        await scene.cluster.faults.back()
        assert await seen.take(10) == b"meanwhile\n"


async def test_a_tail_and_a_moment_hold_for_what_is_there_alone(scene: Any, lines: Any) -> None:
    job = await scene.job()
    pod = await scene.pod(job)
    pod.write(b"one\ntwo\nthree\n")
    async with scene.follow(job, tail=1) as answer:
        seen = lines(answer)
        assert await seen.take(6) == b"three\n"
        pod.write(b"four\nfive\n")
        assert await seen.take(10) == b"four\nfive\n"


async def test_replicas_come_together_line_by_line(scene: Any, lines: Any) -> None:
    job = await scene.job(("worker", 2))
    pods = [await scene.pod(job, index=index) for index in (0, 1)]
    pods[0].write(b"a")
    async with scene.follow(job) as answer:
        seen = lines(answer)
        pods[1].write(b"whole\n")
        assert await seen.take(17) == b"worker-1 | whole\n"
        pods[0].write(b"b\n")
        assert await seen.take(14) == b"worker-0 | ab\n"
        pods[1].write(b"no end")
        for pod in pods:
            await pod.delete()
        await scene.set(job, state="succeeded")
        assert await seen.rest() == b"worker-1 | no end\n"


async def test_a_replica_is_followed_into_its_next_run_but_an_attempt_is_not(scene: Any, lines: Any) -> None:
    job = await scene.job()
    first = await scene.pod(job)
    first.write(b"first\n")
    async with scene.follow(job, tail=1) as onwards, scene.follow(job, attempt=1) as one:
        seen, alone = lines(onwards), lines(one)
        assert await seen.take(6) == await alone.take(6) == b"first\n"
        await first.delete()
        await scene.set(job, attempt=2)
        second = await scene.pod(job, attempt=2)
        second.write(b"second\nand more\n")
        assert await seen.take(16) == b"second\nand more\n"
        assert await alone.rest() == b""


async def test_it_ends_with_a_replica_that_succeeded(scene: Any, lines: Any) -> None:
    job = await scene.job(("worker", 2))
    pods = [await scene.pod(job, index=index, run_seconds="20" if index else "3600") for index in (0, 1)]
    async with scene.follow(job, replica=1) as answer:
        await pods[1].until("terminated")
        await pods[1].row(phase="Succeeded")
        assert (await lines(answer).rest()).endswith(b"worker ends with exit code 0\n")


async def test_a_follower_of_a_finished_job_reads_and_ends(scene: Any) -> None:
    job = await scene.job(state="failed", reason="Error")
    pod = await scene.pod(job)
    pod.write(b"all\n")
    assert await scene.text(job, follow="true", tail=5) == b"all\n"
    await pod.delete()
    assert await scene.problem(job, follow="true") == (410, "logs-gone")


async def test_a_reader_who_goes_closes_everything_behind_it(scene: Any, app: Any, lines: Any) -> None:
    job = await scene.job(("worker", 4))
    pods = [await scene.pod(job, index=index) for index in range(4)]
    for silent in (False, True):
        async with scene.follow(job) as answer:
            for pod in pods:
                pod.write(b"x\n")
            seen = lines(answer)
            await seen.take(13)
            await scene.until_open(4)
            assert _tasks_of_logs()
            if not silent:
                pods[0].write(b"y\n" * 1000)
        await scene.until_open(0)  # the reader has gone, and no container prints
    await scene.until(lambda: not app.state.logs._streams and not _tasks_of_logs())


def _tasks_of_logs() -> list[Any]:
    return [task for task in asyncio.all_tasks() if "/app/logs/" in task.get_coro().cr_code.co_filename]


async def test_a_reader_who_does_not_read_holds_up_nobody_and_gathers_nothing(scene: Any, lines: Any) -> None:
    """Two hundred megabytes stay on the node: what is on its way fits into the buffers of four connections."""
    job = await scene.job()
    await scene.pod(job, log_lines="2000000", log_line_bytes="100")
    async with scene.follow(job) as answer:
        seen = lines(answer)
        await seen.take(100)
        (stream,) = scene.cluster.faults.logs.open
        await scene.until(lambda: stream.request.transport.get_write_buffer_size() > 0)
        for path in ("/healthz", f"/v1/jobs/{job}"):
            assert (await scene.client.get(path)).status_code == 200
        assert stream.request.transport.get_write_buffer_size() > 0
        assert (await scene.text(job, tail=1)).startswith(b"simulated: ")
    await scene.until_open(0)


async def test_followers_hold_no_connection_to_the_database(scene: Any, lines: Any) -> None:
    """The pool has five."""
    job = await scene.job()
    pod = await scene.pod(job)
    pod.write(b"x\n")

    async def follow() -> None:
        async with scene.follow(job) as answer:
            seen = lines(answer)
            await seen.take(2)
            await done.wait()

    done = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for _ in range(12):
            group.create_task(follow())
        await scene.until_open(12)
        for _ in range(10):
            assert (await scene.client.get(f"/v1/jobs/{job}")).status_code == 200
        done.set()


async def test_a_process_that_stops_breaks_off_its_followers(scene: Any, app: Any, lines: Any) -> None:
    """They are not told that the job has ended, and the stop need not wait for them."""
    job = await scene.job()
    pod = await scene.pod(job)
    pod.write(b"x\n")
    async with scene.follow(job) as answer:
        seen = lines(answer)
        await seen.take(2)
        close_streams(app)
        with pytest.raises(httpx.RemoteProtocolError):
            await seen.rest()
    await scene.until_open(0)


async def test_more_logs_than_a_process_opens_are_503(scene: Any, app: Any) -> None:
    job = await scene.job()
    await scene.pod(job)
    app.state.logs._streams = 40
    answer = await scene.read(job)
    assert (answer.status_code, answer.json()["type"]) == (503, "unavailable")
    assert int(answer.headers["retry-after"]) > 0
    assert "at most 40 logs" in answer.json()["detail"]


async def test_a_pod_that_is_replaced_while_its_log_is_opened_is_not_mixed_up(scene: Any) -> None:
    """The log is asked for by name, and is another pod's when it comes (case L-06 c)."""
    job = await scene.job()
    first = await scene.pod(job)
    first.write(b"first\n")
    scene.cluster.faults.add(Fault("delay_before", subresource="log", seconds=1.0))
    reading = asyncio.create_task(scene.problem(job, attempt=1))
    await scene.until(lambda: not scene.cluster.faults.active())
    await first.delete()
    second = await scene.pod(job, attempt=2)
    second.write(b"second\n")
    assert await reading == (410, "logs-gone")
