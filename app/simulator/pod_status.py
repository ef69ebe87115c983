"""The `status` a kubelet writes, stage by stage. Pure: each function gives the fields to merge into the status."""

from app.simulator.objects import Object
from app.simulator.pod_life import Life

_MINE = ("Initialized", "Ready", "ContainersReady")


def conditions(pod: Object, stamp: str, *, ready: bool, reason: str | None = None) -> list[Object]:
    """The conditions of a pod that has a node; conditions of others are kept."""
    previous = {condition["type"]: condition for condition in pod["status"].get("conditions", ())}
    wanted: list[tuple[str, str, str | None]] = [("Initialized", "True", None)]
    wanted += [(name, "True" if ready else "False", None if ready else reason) for name in ("Ready", "ContainersReady")]
    return [
        *(_condition(previous.get(name), name, status, why, stamp) for name, status, why in wanted),
        *(condition for name, condition in previous.items() if name not in _MINE),
    ]


def _condition(previous: Object | None, name: str, status: str, reason: str | None, stamp: str) -> Object:
    since = previous["lastTransitionTime"] if previous and previous["status"] == status else stamp
    condition: Object = {"type": name, "status": status, "lastProbeTime": None, "lastTransitionTime": since}
    if reason:
        condition["reason"] = reason
    return condition


def waiting(pod: Object, stamp: str, host: str, reason: str, message: str = "") -> Object:
    """Bound, and the containers have not started: `ContainerCreating`, `ErrImagePull`, `CrashLoopBackOff`, ..."""
    state: Object = {"waiting": {"reason": reason, **({"message": message} if message else {})}}
    return {
        "hostIP": host,
        "startTime": pod["status"].get("startTime", stamp),
        "conditions": conditions(pod, stamp, ready=False, reason="ContainersNotReady"),
        "containerStatuses": _containers(pod, state, ready=False),
    }


def running(pod: Object, stamp: str, host: str, address: str) -> Object:
    """All containers run."""
    state: Object = {"running": {"startedAt": stamp}}
    return {
        "phase": "Running",
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": pod["status"].get("startTime", stamp),
        "conditions": conditions(pod, stamp, ready=True),
        "containerStatuses": _containers(pod, state, ready=True),
    }


def ended(pod: Object, stamp: str, life: Life) -> Object:
    """The pod has ended for good."""
    state = terminated(pod, stamp, life)
    return {
        "phase": "Failed" if life.exit_code else "Succeeded",
        "conditions": conditions(pod, stamp, ready=False, reason="PodFailed" if life.exit_code else "PodCompleted"),
        "containerStatuses": _containers(pod, state, ready=False),
    }


def terminated(pod: Object, stamp: str, life: Life) -> Object:
    """The state of a container that has ended."""
    started = started_at(pod) or stamp
    return {
        "terminated": {
            "exitCode": life.exit_code,
            "reason": life.reason,
            "startedAt": started,
            "finishedAt": stamp,
        }
    }


def restarting(pod: Object, stamp: str, life: Life, wait_seconds: float) -> Object:
    """The containers have ended and will be started again in place."""
    last = terminated(pod, stamp, life)
    message = f"back-off {wait_seconds:g}s restarting failed container"
    state: Object = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
    statuses = _containers(pod, state, ready=False)
    for status in statuses:
        status["lastState"] = last
        status["restartCount"] += 1
    return {
        "conditions": conditions(pod, stamp, ready=False, reason="ContainersNotReady"),
        "containerStatuses": statuses,
    }


def started_at(pod: Object) -> str | None:
    """When the first container started, if it runs."""
    for status in pod["status"].get("containerStatuses", ())[:1]:
        stamp = status.get("state", {}).get("running", {}).get("startedAt")
        return str(stamp) if stamp else None
    return None


def restarts(pod: Object) -> int:
    """How often the first container was restarted."""
    return int(next((status.get("restartCount", 0) for status in pod["status"].get("containerStatuses", ())), 0))


def _containers(pod: Object, state: Object, *, ready: bool) -> list[Object]:
    previous = {status["name"]: status for status in pod["status"].get("containerStatuses", ())}
    return [
        {
            "name": container["name"],
            "image": container.get("image", ""),
            "imageID": "",
            "ready": ready,
            "started": ready,
            "restartCount": previous.get(container["name"], {}).get("restartCount", 0),
            "state": state,
            "lastState": previous.get(container["name"], {}).get("lastState", {}),
        }
        for container in pod["spec"]["containers"]
    ]
