"""Real processes of the command line, each with a data directory of its own, and HTTP to them."""

import os
import queue
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]
READY_SECONDS = 90.0
STOP_SECONDS = 10.0
FOREIGN = ("PUMICE_", "KUBECONFIG", "KUBERNETES_")


def clean_environment(**more: str) -> dict[str, str]:
    """The environment without anything that could point the command at somebody's cluster or database."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    return kept | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "default"} | more


class Pumice:
    """One `pumice` process in a session of its own, so that Ctrl-C reaches it and its children as in a terminal."""

    def __init__(self, arguments: list[str], directory: Path, **environment: str) -> None:
        self.errors = directory / f"stderr-{time.monotonic_ns()}"
        with self.errors.open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "app.cli", *arguments],
                cwd=directory,
                env=clean_environment(**environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                start_new_session=True,
            )
        self.lines: list[str] = []
        self._unread: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stdout:
            for line in stdout:
                self._unread.put(line.rstrip("\n"))
        self._unread.put(None)

    def until_line(self, pattern: str, seconds: float = READY_SECONDS) -> re.Match[str]:
        deadline = time.monotonic() + seconds
        while True:
            try:
                line = self._unread.get(timeout=max(deadline - time.monotonic(), 0.01))
            except queue.Empty:
                line = None
            if line is None:
                pytest.fail(self._story(pattern))
            self.lines.append(line)
            if found := re.search(pattern, line):
                return found

    def _story(self, pattern: str) -> str:
        logs = [path.read_text()[-4000:] for path in self.errors.parent.glob("**/pumice.log")]
        told = [f"no line like {pattern!r}", f"stdout: {self.lines}", f"stderr: {self.errors.read_text()}", *logs]
        return "\n".join(told)

    def until_ready(self) -> "Service":
        self.until_line(r"^Ready")
        curl = shlex.split(self.until_line(r"curl .*")[0])
        url, header = curl[-1], curl[curl.index("-H") + 1]
        return Service(url, header)

    def interrupt(self) -> None:
        os.killpg(self.process.pid, signal.SIGINT)

    def finish(self, seconds: float = STOP_SECONDS) -> int:
        """The exit code; fails when the process has not ended within the time."""
        code = self.process.wait(seconds)
        self._reader.join(5)
        return code

    def family(self, data: Path) -> list[psutil.Process]:
        """This process, its children, and the PostgreSQL of its data directory with its children."""
        roots = [psutil.Process(self.process.pid)]
        lock_file = data / "postgres" / "postmaster.pid"
        if lock_file.exists():
            roots.append(psutil.Process(int(lock_file.read_text().splitlines()[0])))
        return [process for root in roots for process in (root, *root.children(recursive=True))]

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(STOP_SECONDS)
        self._reader.join(5)


class Service:
    """The HTTP API at the first request that `pumice up` printed."""

    def __init__(self, first_url: str, header: str) -> None:
        self.first_url = first_url
        self.url = first_url.removesuffix("/v1/queues")
        name, _, value = header.partition(": ")
        self._headers = {name: value}

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        with httpx.Client(base_url=self.url, timeout=15, trust_env=False) as http:
            return http.request(method, path, json=body, headers={**self._headers, **headers})

    def made(self, method: str, path: str, body: Any) -> Any:
        answer = self.call(method, path, body)
        assert answer.status_code in {200, 201, 202}, answer.text
        return answer.json()

    def get(self, path: str) -> Any:
        answer = self.call("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def until(self, path: str, holds: Callable[[Any], bool], seconds: float = 60.0) -> Any:
        deadline = time.monotonic() + seconds
        while not holds(body := self.get(path)):
            assert time.monotonic() < deadline, f"{path} still reads {body}"
            time.sleep(0.1)
        return body

    def team(self, name: str, queue: str, gpus: int) -> None:
        """A team with a queue of its own."""
        self.made("POST", "/v1/queues", {"name": queue, "weight": 1, "capability": {"nvidia.com/gpu": gpus}})
        self.made(
            "POST", "/v1/teams", {"name": name, "namespace": f"team-{name}", "queues": [queue], "default_queue": queue}
        )
        limits = {"nvidia.com/gpu": {"per_job": gpus, "outstanding": 2 * gpus}}
        self.made("PUT", f"/v1/teams/{name}/quota", {"limits": limits, "max_jobs": 10})

    def submit(self, team: str, name: str, seconds: int, gpus: int = 1) -> str:
        task = {"name": "worker", "replicas": gpus, "image": "busybox:1.36", "command": ["sleep", str(seconds)]}
        task["resources"] = {"cpu": "1", "memory": "1Gi", "gpus": 1}
        body = {"name": name, "min_available": gpus, "tasks": [task]}
        return str(self.made("POST", f"/v1/teams/{team}/jobs", body)["id"])

    def ended(self, job: str) -> Any:
        return self.until(f"/v1/jobs/{job}", lambda body: body["ended_at"] is not None)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A directory outside of pytest's own.

    Each new pytest session closes the parent of those to other users, and as root PostgreSQL runs as another user.
    The path is short, too: unix sockets are made in it, whose paths have at most 107 bytes.
    """
    with tempfile.TemporaryDirectory(prefix="p-") as path:
        yield Path(path).resolve()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Pumice]]:
    """Start `pumice` with arguments and extra variables; whatever still runs is stopped at the end."""
    started: list[Pumice] = []

    def start_one(*arguments: str, **environment: str) -> Pumice:
        started.append(Pumice(list(arguments), tmp_path, **environment))
        return started[-1]

    yield start_one
    for pumice in started:
        pumice.close()


@pytest.fixture
def all_gone() -> Callable[[list[psutil.Process]], None]:
    """Fails when one of the processes still lives; a zombie that nobody has reaped does not count."""

    def check(processes: list[psutil.Process]) -> None:
        _, alive = psutil.wait_procs(processes, timeout=5)
        left = [process for process in alive if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]
        assert left == []

    return check


@pytest.fixture
def service_at() -> Callable[[str, str], Service]:
    """A client for a service whose address and admin token are known."""
    return lambda url, token: Service(f"{url}/v1/queues", f"Authorization: Bearer {token}")
