"""Ends what a test run started when the run itself is killed, and its fixtures end nothing any more.

A process of its own reads from a pipe which ids are to be ended. The pipe closes with the test process, however that
ends.
"""

import contextlib
import os
import signal
import sys
from functools import cache


@cache
def _pipe() -> int:
    # neither a file object nor a Popen: both would warn at the end that they are still open
    reading, writing = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, reading, 0)]
    os.posix_spawn(sys.executable, [sys.executable, __file__], os.environ, file_actions=actions, setsid=True)
    os.close(reading)
    return writing


def watch(pid: int) -> None:
    """End this process, with SIGKILL, when ours is gone."""
    _tell("+", pid)


def forget(pid: int) -> None:
    """It has ended; its id may become another's."""
    _tell("-", pid)


def _tell(sign: str, pid: int) -> None:
    os.write(_pipe(), f"{sign} {pid}\n".encode())


def main() -> None:
    """Listen until the test process is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    watched: set[int] = set()
    for line in sys.stdin:
        sign, pid = line.split()
        if sign == "+":
            watched.add(int(pid))
        else:
            watched.discard(int(pid))
    for left in watched:
        with contextlib.suppress(ProcessLookupError):
            os.kill(left, signal.SIGKILL)


if __name__ == "__main__":
    main()
