"""Named places in the code where a test can stop, fail or kill the process.

A failpoint does nothing unless a test arms it: `arm` in the same process, or `PUMICE_FAILPOINTS` read by the settings.
"""

import os
import signal
from collections.abc import Callable

SUBMIT_CLAIMED = "submit.claimed"
SUBMIT_POSTED = "submit.posted"
SUBMIT_RECORDED = "submit.recorded"
OBSERVE_BEFORE_COMMIT = "observe.before-commit"
OBSERVE_COMMITTED = "observe.committed"
FINALIZER_RELEASED = "finalizer.released"
CANCEL_COMMANDED = "cancel.commanded"
CANCEL_RECORDED = "cancel.recorded"
RETENTION_DELETED = "retention.deleted"
SUSPEND_COMMANDED = "suspend.commanded"
RUN_RECORDED = "run.recorded"
POD_DELETED = "pod.deleted"
POD_ADMITTED = "pod.admitted"
RELEASE_MARKED = "release.marked"
ACCEPT_BEFORE_COMMIT = "accept.before-commit"
ACCEPT_COMMITTED = "accept.committed"

OF_RUNS = (SUSPEND_COMMANDED, RUN_RECORDED, POD_DELETED, POD_ADMITTED)
"""Those that only a job with several runs meets, or one with pods that wait for their turn."""

ALL = (
    ACCEPT_BEFORE_COMMIT,
    ACCEPT_COMMITTED,
    RELEASE_MARKED,
    SUBMIT_CLAIMED,
    SUBMIT_POSTED,
    SUBMIT_RECORDED,
    OBSERVE_BEFORE_COMMIT,
    OBSERVE_COMMITTED,
    FINALIZER_RELEASED,
    CANCEL_COMMANDED,
    CANCEL_RECORDED,
    RETENTION_DELETED,
    *OF_RUNS,
)
"""Every failpoint, in the order in which a job meets them."""

_armed: dict[str, Callable[[], None]] = {}


class Crash(BaseException):
    """What an armed failpoint raises in a test that stands in for a crash. Nothing in the service may catch it."""


def _raise_crash() -> None:
    raise Crash


def _kill_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def failpoint(name: str) -> None:
    """Do what a test armed under this name; nothing otherwise."""
    action = _armed.get(name)
    if action is not None:
        action()


def arm(name: str, action: Callable[[], None] = _raise_crash) -> None:
    """Arm a failpoint in this process; by default it raises `Crash`."""
    if name not in ALL:
        raise KeyError(name)
    _armed[name] = action


def disarm() -> None:
    """Disarm every failpoint."""
    _armed.clear()


def arm_kill(names: list[str]) -> None:
    """Arm failpoints that kill this process at once, as `kill -9` does; used by tests that start real processes."""
    for name in names:
        arm(name, _kill_process)
