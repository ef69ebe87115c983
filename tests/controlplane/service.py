"""One process of the control plane: started, killed, frozen and thawed by its id; its output goes to a file."""

import signal
import socket
import subprocess
from pathlib import Path

from tests.controlplane import guard

_STOP_SECONDS = 15.0


class Service:
    """A process that can be ended in every way and started again with the same arguments."""

    def __init__(self, arguments: list[str], log: Path) -> None:
        self.arguments = arguments
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                self.arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        guard.watch(self.process.pid)

    def check(self) -> None:
        """Fail when it has ended by itself, with the last of what it wrote."""
        if self.process is None or self.process.poll() is not None:
            code = self.process and self.process.returncode
            raise ControlPlaneFailed(f"{Path(self.arguments[0]).name} is gone ({code}):\n{self.tail()}")

    def tail(self, characters: int = 3000) -> str:
        return self.log.read_text(errors="replace")[-characters:] if self.log.exists() else ""

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """SIGTERM, then SIGKILL; nothing is left either way."""
        self.thaw()
        self._end(signal.SIGTERM)

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def _end(self, number: signal.Signals) -> None:
        if self.process is None:
            return
        self._signal(number)
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        guard.forget(self.process.pid)
        self.process = None


class ControlPlaneFailed(Exception):
    """The control plane does not start or has stopped."""


def free_ports(count: int) -> list[int]:
    """Different ports of the loopback address that nobody listens on now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports: list[int] = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
