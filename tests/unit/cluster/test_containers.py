"""What a pod says of its containers, whole or with parts missing."""

from typing import Any

import pytest

from app.cluster.containers import Container, Stage, containers_of

STARTED = {"startedAt": "2026-12-01T12:00:00Z"}
ENDED = {**STARTED, "finishedAt": "2026-12-01T12:01:00Z", "exitCode": 3, "reason": "Error"}


def pod(state: Any = None, *, last: Any = None, phase: str = "Running", policy: str = "Never", node: str = "n") -> Any:
    status = {"name": "main", "state": state or {}, "lastState": {"terminated": last} if last else {}}
    return {
        "spec": {"nodeName": node, "restartPolicy": policy, "containers": [{"name": "main"}]},
        "status": {"phase": phase, "containerStatuses": [status] if state else []},
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (pod(phase="Pending", node=""), Container("main", Stage.WAITING, "Unscheduled")),
        (pod(phase="Pending"), Container("main", Stage.WAITING, "ContainerCreating")),
        (pod({"waiting": {"reason": "ErrImagePull"}}), Container("main", Stage.WAITING, "ErrImagePull")),
        (pod({"waiting": {}}), Container("main", Stage.WAITING, "ContainerCreating")),
        (pod({"running": STARTED}), Container("main", Stage.RUNNING)),
        (pod({"running": STARTED}, last=ENDED), Container("main", Stage.RUNNING, "", has_previous=True)),
        (pod({"terminated": ENDED}), Container("main", Stage.ENDED, "Error")),
        (pod({"terminated": ENDED}, policy="Always"), Container("main", Stage.RESTARTING, "Error")),
        (pod({"terminated": ENDED}, policy="Always", phase="Failed"), Container("main", Stage.ENDED, "Error")),
        (
            pod({"waiting": {"reason": "CrashLoopBackOff"}}, last=ENDED, policy="Always"),
            Container("main", Stage.RESTARTING, "CrashLoopBackOff", has_previous=True),
        ),
        (pod(phase="Failed"), Container("main", Stage.ENDED)),
    ],
)
def test_the_stage_of_a_container(given: Any, expected: Container) -> None:
    assert containers_of(given) == (expected,)


def test_all_containers_of_a_pod() -> None:
    spec = {
        "initContainers": [{"name": "first"}],
        "containers": [{"name": "main"}, {"name": "side"}],
        "ephemeralContainers": [{"name": "debugger"}],
    }
    assert [each.name for each in containers_of({"spec": spec})] == ["first", "main", "side", "debugger"]


@pytest.mark.parametrize("strange", [{}, {"spec": None}, {"spec": {"containers": [None, 1]}, "status": []}])
def test_strange_pods_have_none(strange: Any) -> None:
    assert containers_of(strange) == ()
