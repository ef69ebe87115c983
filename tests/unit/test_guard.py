"""What a test run started ends with it, even when it is killed."""

import subprocess
import sys
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
RUN = """
import os, signal, subprocess
from tests.controlplane import guard
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
left, ended = (subprocess.Popen(["sleep", "600"], start_new_session=True, **quiet) for _ in range(2))
guard.watch(left.pid)
guard.watch(ended.pid)
guard.forget(ended.pid)
print(left.pid, ended.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_run_leaves_nothing_that_it_still_watched() -> None:
    run = subprocess.run([sys.executable, "-c", RUN], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    left, forgotten = (psutil.Process(int(pid)) for pid in run.stdout.split())
    try:
        _, alive = psutil.wait_procs([left, forgotten], timeout=10)
        assert alive == [forgotten]
    finally:
        forgotten.kill()
