"""Clusters that a test can kill, freeze and start again, as processes of their own: one interface, two of them."""

import contextlib
import json
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import httpx
import yaml

from tests.controlplane.service import Service, free_ports

ROOT = Path(__file__).resolve().parents[2]
READY_SECONDS = 90.0
FOR_EVER = 100_000.0


@dataclass(frozen=True)
class Creation:
    """A Volcano Job that was created at some time, whatever became of it."""

    namespace: str
    name: str
    uid: str


class Cluster(Protocol):
    """A cluster whose API server can be damaged. Everything waits until it is done."""

    name: str
    can_fail_pods: bool
    can_refuse: bool

    @property
    def url(self) -> str:
        """Address of the API server."""
        ...

    def kubeconfig(self, path: Path) -> Path:
        """Write the service's kubeconfig."""
        ...

    def admin_kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        ...

    def life(self, seconds: float, exit_code: int = 0) -> dict[str, Any]:
        """What a job says so that its pods run so long: `command` of its task, `annotations` of itself."""
        ...

    def creations(self) -> list[Creation]:
        """Every Volcano Job that was ever created, in order."""
        ...

    def begin(self) -> None:
        """Start what the suite needs, once."""
        ...

    def kill(self) -> None:
        """`kill -9` of the API server."""
        ...

    def start(self) -> None:
        """Start the API server again, over what it kept, and wait until it is ready."""
        ...

    def freeze(self) -> None:
        """SIGSTOP of the API server."""
        ...

    def thaw(self) -> None:
        """SIGCONT of the API server."""
        ...

    def compact(self) -> None:
        """Forget all old versions; also while the API server is killed."""
        ...

    def close(self) -> None:
        """Stop what `begin` has started."""
        ...


class SimulatedProcess:
    """`pumice simulate` with kept state: API server, Volcano and nodes in one process."""

    name = "simulated"
    can_fail_pods = True
    can_refuse = True

    def __init__(self, directory: Path, speed: float = 10.0) -> None:
        self._directory = directory
        self._speed = speed
        self._port = free_ports(1)[0]
        self._journal = _Journal(directory / "state")
        self._config = directory / "kubeconfig"
        arguments = [sys.executable, "-m", "app.cli", "simulate", f"--port={self._port}", f"--speed={speed}"]
        arguments += [f"--data-dir={directory / 'state'}", f"--kubeconfig-out={self._config}"]
        arguments.append("--schedule-period=0.2")
        self._service = Service(arguments, directory / "simulated.log")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def kubeconfig(self, path: Path) -> Path:
        path.write_text(self._config.read_text())
        return path

    def admin_kubeconfig(self) -> Path:
        return self._config

    def life(self, seconds: float, exit_code: int = 0) -> dict[str, Any]:
        return {"command": ["sh", "-c", f"sleep {seconds * self._speed}; exit {exit_code}"], "annotations": {}}

    def creations(self) -> list[Creation]:
        return self._journal.creations()

    def begin(self) -> None:
        self.start()

    def kill(self) -> None:
        self._service.kill()

    def start(self) -> None:
        self._journal.creations()  # the next process begins an empty journal
        self._service.start()
        until_answered(self.url, self._service)
        self._journal.begin_anew()

    def freeze(self) -> None:
        self._service.freeze()

    def thaw(self) -> None:
        self._service.thaw()

    def compact(self) -> None:
        """After a restart its history is empty in any case."""
        with contextlib.suppress(httpx.TransportError):
            httpx.post(f"{self.url}/simulator/history/compact", trust_env=False, timeout=10).raise_for_status()

    def close(self) -> None:
        self._service.thaw()
        self._service.kill()


def until_answered(url: str, service: Service, verify: Any = True) -> None:
    """Wait until a server answers anything."""
    deadline = time.monotonic() + READY_SECONDS
    while True:
        service.check()
        with contextlib.suppress(httpx.TransportError):
            httpx.get(f"{url}/version", verify=verify, trust_env=False, timeout=5)
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"no answer after {READY_SECONDS} s:\n{service.tail()}")
        time.sleep(0.05)


class _Journal:
    """What `pumice simulate --data-dir` wrote of Volcano Jobs, read as it grows and across its new beginnings.

    A Job that came and went between two readings around a new beginning would be missed: read often, and at a start.
    """

    def __init__(self, directory: Path) -> None:
        self._snapshot = directory / "objects.jsonl"
        self._changes = directory / "changes.jsonl"
        self._offset = 0
        self._seen: dict[str, Creation] = {}

    def begin_anew(self) -> None:
        """Read everything again: an emptied file that has grown past the last offset does not look like a new one."""
        self._offset = 0
        self._note(_whole_lines(self._snapshot, 0))

    def creations(self) -> list[Creation]:
        size = self._changes.stat().st_size if self._changes.exists() else 0
        if size < self._offset:
            self._offset = 0
            self._note(_whole_lines(self._snapshot, 0))
        lines = _whole_lines(self._changes, self._offset)
        self._offset += sum(map(len, lines))
        self._note(lines)
        return list(self._seen.values())

    def _note(self, lines: Iterable[bytes]) -> None:
        for line in lines:
            if line.startswith(b'{"type":"ADDED"') and b"batch.volcano.sh/" in line:
                shown = json.loads(line)["object"]
                if shown["kind"] == "Job":
                    metadata = shown["metadata"]
                    self._seen.setdefault(
                        metadata["uid"], Creation(metadata["namespace"], metadata["name"], metadata["uid"])
                    )


def _whole_lines(path: Path, offset: int) -> list[bytes]:
    if not path.exists():
        return []
    with path.open("rb") as file:
        file.seek(offset)
        return [line for line in file if line.endswith(b"\n")]


def redirected(kubeconfig: Path, port: int, path: Path) -> Path:
    """The same kubeconfig over another port of the loopback address, as a proxy in front has one."""
    config = yaml.safe_load(kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    scheme = cluster["server"].partition("://")[0]
    cluster["server"] = f"{scheme}://127.0.0.1:{port}"
    path.write_text(yaml.safe_dump(config))
    path.chmod(0o600)
    return path
