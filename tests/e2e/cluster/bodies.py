"""Job bodies that live the same life on every cluster.

A real kubelet runs the command. The simulated cluster and kwok run nothing: they read how long a pod lives from
annotations, which a job may bring. All three are always set, so that no test knows which cluster it is on.
"""

from typing import Any

from tests.e2e.cluster.shape import Shape

EXIT_CODE = "e2e.pumice.test/exit-code"
"""With which code a pod is to end that no kubelet will end; read by `hand.Hand`."""

LONG = 3600
_KWOK = "stage.kwok.x-k8s.io"
_SIMULATOR = "simulator.pumice.dev"


def job(
    shape: Shape,
    image: str,
    name: str,
    *,
    pods: int = 1,
    units: int = 1,
    seconds: int = 2,
    exit_code: int = 0,
    **more: Any,
) -> dict[str, Any]:
    """The body of a job whose pods take `units` each, run so many seconds, or end at once with an exit code."""
    task = {
        "name": "worker",
        "replicas": pods,
        "image": image,
        "command": ["sh", "-c", _script(seconds, exit_code)],
        "resources": shape.resources(units),
        "tolerations": list(shape.tolerations),
        "node_selector": shape.node_selector,
    }
    return {"name": name, "tasks": [task], "annotations": _annotations(seconds, exit_code), **more}


def _script(seconds: int, exit_code: int) -> str:
    """A shell as process 1 ignores SIGTERM unless it has a trap, and would hold its whole grace period of 30 s."""
    return f"exit {exit_code}" if exit_code else f"trap 'exit 143' TERM; sleep {seconds} & wait"


def _annotations(seconds: int, exit_code: int) -> dict[str, str]:
    annotations = {
        **_stage("pod-create", "200ms"),
        **_stage("pod-ready", "200ms"),
        **_stage("pod-complete", f"{LONG if exit_code else seconds}s"),
        f"{_SIMULATOR}/run-seconds": str(0 if exit_code else seconds),
        f"{_SIMULATOR}/exit-code": str(exit_code),
    }
    return annotations | ({EXIT_CODE: str(exit_code)} if exit_code else {})


def _stage(stage: str, delay: str) -> dict[str, str]:
    """How long kwok waits before a stage; the same as jitter, which would else be random."""
    return {f"{stage}.{_KWOK}/delay": delay, f"{stage}.{_KWOK}/jitter-delay": delay}
