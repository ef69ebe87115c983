"""Real `pumice` processes, each in a session of its own: Ctrl-C ends the suite, which then ends them in its order."""

import asyncio
import itertools
import os
import re
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.controlplane import guard

ROOT = Path(__file__).resolve().parents[3]
START_SECONDS = 90.0
STOP_SECONDS = 20.0
_FOREIGN = ("PUMICE_", "KUBECONFIG", "KUBERNETES_")
_TAIL = 3000
_numbers = itertools.count(1)


class Process:
    """One process and the file of its output."""

    def __init__(self, process: asyncio.subprocess.Process, output: Path) -> None:
        self.output = output
        self._process = process

    @classmethod
    async def start(cls, directory: Path, *arguments: str, environment: Mapping[str, str]) -> "Process":
        """Start `pumice` with arguments; nothing of our own environment points it at another cluster or database."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
        output = directory / f"{arguments[0]}-{next(_numbers)}.log"
        with output.open("wb") as stream:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "app.cli", *arguments),
                cwd=directory,
                env={**kept, "PYTHONPATH": str(ROOT), **environment},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )
        guard.watch(process.pid)
        return cls(process, output)

    @property
    def ended(self) -> bool:
        """Whether it runs no more."""
        return self._process.returncode is not None

    async def printed(self, pattern: str, seconds: float = START_SECONDS) -> str:
        """Wait for a line and return its first group."""
        deadline = asyncio.get_running_loop().time() + seconds
        while not (found := re.search(pattern, self.output.read_text(), re.MULTILINE)):
            if self.ended or asyncio.get_running_loop().time() > deadline:
                raise AssertionError(f"{self.output.stem} printed no {pattern!r}:\n{self.tail()}")
            await asyncio.sleep(0.05)
        return found[1]

    async def stop(self) -> None:
        """End it as an operator does, and by force when that takes too long."""
        await self._signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self._process.wait(), STOP_SECONDS)
        except TimeoutError:
            await self.kill()
        guard.forget(self._process.pid)

    async def kill(self) -> None:
        """Kill it: nothing of it gets a chance to finish anything."""
        await self._signal(signal.SIGKILL)
        await self._process.wait()
        guard.forget(self._process.pid)

    async def _signal(self, number: signal.Signals) -> None:
        if not self.ended:
            self._process.send_signal(number)

    def tail(self) -> str:
        """The end of what it wrote."""
        return self.output.read_text()[-_TAIL:]
