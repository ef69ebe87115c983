"""Where `make controlplane` puts what it builds, and what to say when it has not run."""

import os
import shutil
from pathlib import Path

HERE = Path(__file__).resolve().parent
BINARIES = HERE / "bin"
_NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kwok")


def binary(name: str) -> str:
    return str(BINARIES / name)


def why_missing() -> str | None:
    """The reason why the control plane cannot run here, or None."""
    missing = [name for name in _NAMES if not (BINARIES / name).exists()]
    if not missing:
        return None
    if shutil.which("go") is None:
        return "Go is not installed, so the real control plane cannot be built"
    return f"the real control plane is not built ({', '.join(missing)}): run `make controlplane`"


def may_skip() -> bool:
    """Without Go a developer goes on without the control plane; CI must have it."""
    return not os.environ.get("CI") and shutil.which("go") is None
