"""Starting the service's parts as real processes for a benchmark, and stopping them by their process id."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

START_SECONDS = 60.0


def free_port() -> int:
    """A loopback port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def pumice(command: str, *arguments: str, environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run `pumice COMMAND ...` until the block ends; its output goes to `log`."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "app.cli", command, *arguments],
            env={**os.environ, **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)


def wait_until_answers(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a URL answers 200."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"The process ended with {process.returncode} before it was ready; see its log.")
        try:
            if httpx.get(url, timeout=1.0).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise RuntimeError(f"No answer within {START_SECONDS:.0f} s.")
