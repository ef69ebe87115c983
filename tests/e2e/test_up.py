"""`pumice up` as a person uses it: a real process, Ctrl-C, kill -9, a second one, and other databases and clusters."""

import signal
import socket
from asyncio import to_thread
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.simulator.cluster import SimulatedCluster

Start = Callable[..., Any]
AllGone = Callable[[list[psutil.Process]], None]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def up(start: Start, data: Path, *more: str, **environment: str) -> Any:
    return start("up", "--port", "0", "--data-dir", str(data), "--speed", "5", *more, **environment)


def refused(pumice: Any) -> str:
    """The one sentence of a process that did not start."""
    assert pumice.finish(60) == 1
    text = str(pumice.errors.read_text())
    lines = [line for line in text.splitlines() if line]
    assert len(lines) == 1, text
    return lines[0]


@pytest.mark.timeout(300)
def test_a_job_runs_ctrl_c_leaves_nothing_behind_and_its_history_survives(
    start: Start, data: Path, all_gone: AllGone
) -> None:
    first = up(start, data)
    service = first.until_ready()
    assert any("embedded PostgreSQL" in line for line in first.lines)
    assert any("simulated" in line for line in first.lines)
    assert service.get("/v1/queues")["items"] == []
    service.team("nlp", "q-nlp", gpus=2)
    job = service.submit("nlp", "first", seconds=2, gpus=2)
    assert service.ended(job)["state"] == "succeeded"
    assert service.call("GET", f"/v1/jobs/{job}/logs?tail=1").text.count("worker ends with exit code 0") == 2
    processes = first.family(data)
    first.interrupt()
    assert first.finish() == 0
    assert first.errors.read_text() == ""
    all_gone(processes)

    second = up(start, data)
    service = second.until_ready()
    assert service.get(f"/v1/jobs/{job}")["state"] == "succeeded"
    assert [queue["name"] for queue in service.get("/v1/queues")["items"]] == ["q-nlp"]
    second.process.send_signal(signal.SIGTERM)
    assert second.finish() == 0

    third = up(start, data, "--fresh")
    service = third.until_ready()
    assert service.call("GET", f"/v1/jobs/{job}").status_code == 404
    assert service.get("/v1/queues")["items"] == []


@pytest.mark.timeout(300)
def test_a_killed_process_is_followed_by_one_that_goes_on(start: Start, data: Path, all_gone: AllGone) -> None:
    first = up(start, data)
    service = first.until_ready()
    service.team("nlp", "q-nlp", gpus=2)
    job = service.submit("nlp", "long", seconds=30)
    service.until(f"/v1/jobs/{job}", lambda body: body["state"] == "running")
    processes = first.family(data)
    first.process.kill()
    assert first.finish() == -signal.SIGKILL

    second = up(start, data)
    ended = second.until_ready().ended(job)
    assert (ended["state"], ended["attempt"]) == ("succeeded", 1)
    processes += second.family(data)
    second.interrupt()
    assert second.finish() == 0
    all_gone(processes)


def test_a_fresh_start_over_a_killed_one(start: Start, data: Path, all_gone: AllGone) -> None:
    first = up(start, data)
    first.until_ready().team("nlp", "q-nlp", gpus=2)
    processes = first.family(data)
    first.process.kill()
    first.finish()
    second = up(start, data, "--fresh")
    assert second.until_ready().get("/v1/queues")["items"] == []
    processes += second.family(data)
    second.interrupt()
    assert second.finish() == 0
    all_gone(processes)


def test_a_second_one_on_the_same_data_is_refused_and_the_first_goes_on(start: Start, data: Path) -> None:
    first = up(start, data)
    service = first.until_ready()
    sentence = refused(up(start, data))
    assert f"Process {first.process.pid} already uses the data directory" in sentence
    assert service.get("/v1/queues")["items"] == []


def test_a_port_in_use_is_refused_before_anything_starts(start: Start, data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        sentence = refused(start("up", "--port", str(port), "--data-dir", str(data)))
    assert f"Port {port} is in use" in sentence
    assert not (data / "postgres").exists()


def test_ctrl_c_while_it_starts_leaves_nothing_behind(start: Start, data: Path, all_gone: AllGone) -> None:
    pumice = up(start, data)
    pumice.until_line("^Starting")
    processes = [psutil.Process(pumice.process.pid)]
    pumice.interrupt()
    assert pumice.finish() == 0
    all_gone(processes)
    named = [p for p in psutil.process_iter(["cmdline"]) if str(data) in " ".join(p.info["cmdline"] or [])]
    assert named == []


def test_two_times_ctrl_c_stops_as_well(start: Start, data: Path, all_gone: AllGone) -> None:
    pumice = up(start, data)
    pumice.until_ready()
    processes = pumice.family(data)
    pumice.interrupt()
    pumice.until_line("^Stopping")
    pumice.interrupt()
    assert pumice.finish() == 0
    all_gone(processes)


async def test_a_given_database_and_a_given_cluster_take_the_place_of_ours(
    start: Start, data: Path, tmp_path: Path, database_url: str
) -> None:
    async with SimulatedCluster() as cluster:
        kubeconfig = cluster.kubeconfig(tmp_path / "kubeconfig")
        settings = {
            "PUMICE_DATABASE_URL": database_url,
            "KUBECONFIG": str(kubeconfig),
            "PUMICE_ADMIN_TOKEN": "from-the-environment",
        }
        pumice = up(start, data, **settings)
        await to_thread(pumice.until_line, "^Ready")
        shown = "\n".join(pumice.lines)
        assert "the PostgreSQL of PUMICE_DATABASE_URL" in shown
        assert f"KUBECONFIG {kubeconfig}" in shown
        await to_thread(pumice.until_line, r'curl -s -H "Authorization: Bearer \$PUMICE_ADMIN_TOKEN"')
        pumice.interrupt()
        assert await to_thread(pumice.finish) == 0
    assert "from-the-environment" not in "\n".join(pumice.lines)
    assert not (data / "postgres").exists()


def test_a_database_that_does_not_answer_is_one_sentence(start: Start, data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    sentence = refused(up(start, data, PUMICE_DATABASE_URL=f"postgresql://u:hunter2@127.0.0.1:{port}/pumice"))
    assert "The database does not answer" in sentence
    assert "hunter2" not in sentence
