"""What simulated containers print: lines by the clock, or whatever a test lets them print. Stamps are nanoseconds.

By default a container says that it starts, how long it has run, each second, and how it ends. Annotations of the pod,
prefix `simulator.pumice.dev/`, have it print more: `log-bytes-per-second` and `log-line-bytes` (a flood; each line
names pod and container and is numbered), `log-lines` (as many and no more; without a rate all of them at once). The
flood is computed and never stored, so that a log may have any size.
"""

import itertools
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from app.simulator.objects import Object
from app.simulator.pod_life import PREFIX

SECOND = 1_000_000_000
_NEVER = 2**63
_LINE_BYTES = 100
_LARGEST = 10**12


@dataclass(frozen=True, slots=True)
class Entry:
    """A piece of output: a line with its newline, or a part of one that goes on in the next entry."""

    at: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Run:
    """One life of a container; `restarts` tells those of one pod apart."""

    started: int
    ended: int | None
    restarts: int
    exit_code: int = 0


class Output(Protocol):
    """The entries of one run in the order of their stamps, no two of which are equal."""

    def after(self, at: int, until: int) -> Iterator[Entry]:
        """Those stamped later than `at` and not later than `until`."""
        ...

    def last(self, count: int, until: int) -> Iterator[Entry]:
        """The last `count` lines of those not later than `until`."""
        ...


class Lines:
    """Lines at equal distances."""

    def __init__(self, run: Run, name: str, *, step: int = SECOND, size: int = 0, most: int = _NEVER) -> None:
        self._run = run
        self._name = name
        self._step = step
        self._size = size
        self._most = most

    def after(self, at: int, until: int) -> Iterator[Entry]:
        """See `Output`."""
        first = 0 if at < self._run.started else (at - self._run.started) // self._step + 1
        return self._between(first, at, until)

    def last(self, count: int, until: int) -> Iterator[Entry]:
        """See `Output`."""
        end = self._end()
        plain = count - (end is not None)
        first = max(0, self._count(until) - max(0, plain))
        return self._between(first, 0, until) if count else iter(())

    def _between(self, first: int, at: int, until: int) -> Iterator[Entry]:
        for index in range(first, self._count(until)):
            yield Entry(self._run.started + index * self._step, self._line(index))
        end = self._end()
        if end is not None and end.at > at:
            yield end

    def _count(self, until: int) -> int:
        until = until if self._run.ended is None else self._run.ended
        return min(self._most, (until - self._run.started) // self._step + 1) if until >= self._run.started else 0

    def _end(self) -> Entry | None:
        """The last line; a flood has none."""
        if self._run.ended is None or self._size:
            return None
        # a finish is told in whole seconds, so this is after the last of the others
        at = self._run.ended + SECOND // 2
        return Entry(at, f"simulated: {self._name} ends with exit code {self._run.exit_code}\n".encode())

    def _line(self, index: int) -> bytes:
        if self._size:
            return f"simulated: {self._name} line {index} ".encode().ljust(self._size - 1, b".") + b"\n"
        return f"simulated: {self._name} {f'has run {index} s' if index else 'starts'}\n".encode()


class Written:
    """What a test had a container print."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []

    def write(self, data: bytes) -> None:
        """Print bytes as they are; a line may be completed by the next call."""
        for line in _lines(data):
            latest = self._entries[-1].at if self._entries else 0
            self._entries.append(Entry(max(time.time_ns(), latest + 1), line))

    def after(self, at: int, until: int) -> Iterator[Entry]:
        """See `Output`."""
        return (entry for entry in list(self._entries) if entry.at > at)

    def last(self, count: int, until: int) -> Iterator[Entry]:
        """See `Output`."""
        entries = list(self._entries)
        start, lines = len(entries), 0
        while start and count:
            begins = start == 1 or entries[start - 2].data.endswith(b"\n")
            start -= 1
            lines += begins
            if lines == count:
                break
        return iter(entries[start:])


def _lines(data: bytes) -> list[bytes]:
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


class Outputs:
    """The output of every container of the cluster."""

    def __init__(self) -> None:
        self._written: dict[tuple[str, str, int], Written] = defaultdict(Written)

    def write(self, pod: Object, container: str, data: bytes) -> None:
        """Let a container print these bytes, from now on in the place of the lines by the clock."""
        run = present_run(pod, container)
        self._written[pod["metadata"]["uid"], container, run.restarts if run else 0].write(data)

    def of(self, pod: Object, container: str, run: Run) -> Output:
        """What one run of a container prints."""
        key = (pod["metadata"]["uid"], container, run.restarts)
        return self._written[key] if key in self._written else _by_the_clock(pod, container, run)


def _by_the_clock(pod: Object, container: str, run: Run) -> Output:
    name = f"{pod['metadata']['name']} {container}"
    rate, size, most = (_number(pod, field) for field in ("log-bytes-per-second", "log-line-bytes", "log-lines"))
    if not (rate or most):
        return Lines(run, name)
    size = size or _LINE_BYTES
    return Lines(run, name, step=max(1, size * SECOND // rate) if rate else 1, size=size, most=most or _NEVER)


def _number(pod: Object, field: str) -> int:
    text = (pod["metadata"].get("annotations") or {}).get(PREFIX + field, "")
    return min(int(text), _LARGEST) if text.isascii() and text.isdecimal() else 0


def present_run(pod: Object, container: str) -> Run | None:
    """The run whose output a kubelet shows: the one that runs or ended, or the last one while the next is awaited."""
    status = _status(pod, container)
    state = status.get("state", {})
    running, ended = state.get("running"), state.get("terminated")
    restarts = int(status.get("restartCount", 0))
    if running or ended:
        return _run(running or ended, restarts)
    return previous_run(pod, container)


def previous_run(pod: Object, container: str) -> Run | None:
    """The run before the last restart."""
    status = _status(pod, container)
    ended = status.get("lastState", {}).get("terminated")
    return _run(ended, int(status.get("restartCount", 1)) - 1) if ended else None


def _status(pod: Object, container: str) -> Object:
    found: Iterator[Object] = (s for s in pod["status"].get("containerStatuses", ()) if s["name"] == container)
    return next(found, {})


def _run(state: Object, restarts: int) -> Run:
    ended = state.get("finishedAt")
    started = _nanoseconds(state["startedAt"])
    return Run(started, _nanoseconds(ended) if ended else None, restarts, int(state.get("exitCode", 0)))


def _nanoseconds(stamp: str) -> int:
    return int(datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%S%z").timestamp()) * SECOND


class Stamps:
    """Writes stamps as a kubelet does, with nine decimals; the text of a second is made once."""

    def __init__(self) -> None:
        self._second, self._text = -1, b""

    def write(self, at: int) -> bytes:
        """One stamp and the space behind it."""
        second, rest = divmod(at, SECOND)
        if second != self._second:
            text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S.")
            self._second, self._text = second, text.encode()
        return b"%s%09dZ " % (self._text, rest)


def batched(entries: Iterator[Entry], size: int) -> Iterator[list[Entry]]:
    """Entries in lists of at most `size`."""
    while batch := list(itertools.islice(entries, size)):
        yield batch
