"""From one task of a job to the spec of its pods. Pure."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from app import quantity
from app.cluster.names import INDEX_ANNOTATION, TURN_GATE, VOLCANO_TASK_INDEX_LABEL
from app.cluster.run_part import PartTask
from app.jobs import charges
from app.jobs.array_validation import INDEX_VARIABLE, SIZE_VARIABLE
from app.jobs.schemas import Resources, Task, Toleration

Object = dict[str, Any]

SCHEDULER = "volcano"


_VOLCANOS_VARIABLES = ("VC_TASK_INDEX", "VK_TASK_INDEX")


def pod_spec(part: PartTask, variables: Mapping[str, str]) -> Object:
    """Return the spec of a task's pods; the container has the name of the task.

    Args:
        part: what its owner asked for.
        variables: of ours, which the owner cannot have.
    """
    task = part.task
    claims = list(dict.fromkeys(volume.claim for volume in task.volumes))
    return without_none(
        {
            # the kubelet must not restart what Volcano counts as a run (volcano-sh/volcano#1075)
            "restartPolicy": "Never",
            "schedulerName": SCHEDULER,
            "schedulingGates": [{"name": TURN_GATE}] if part.gated else None,
            "automountServiceAccountToken": False,
            "nodeSelector": dict(task.node_selector) or None,
            "tolerations": [_toleration(toleration) for toleration in task.tolerations] or None,
            "volumes": [
                {"name": f"volume-{index}", "persistentVolumeClaim": {"claimName": claim}}
                for index, claim in enumerate(claims)
            ]
            or None,
            "containers": [_container(part, claims, variables)],
        }
    )


def _container(part: PartTask, claims: list[str], variables: Mapping[str, str]) -> Object:
    task = part.task
    return without_none(
        {
            "name": part.name,
            "image": task.image,
            "command": list(task.command) or None,
            "args": list(task.args) or None,
            "env": _numbers(part) + _environment(task, variables),
            "resources": _resources(task.resources),
            "volumeMounts": [
                without_none(
                    {
                        "name": f"volume-{claims.index(volume.claim)}",
                        "mountPath": volume.path,
                        "readOnly": volume.read_only or None,
                    }
                )
                for volume in task.volumes
            ]
            or None,
        }
    )


def _environment(task: Task, variables: Mapping[str, str]) -> list[Object]:
    """Ours first, then secrets, then plain values by name: JSONB keeps no order of members, and this is always so."""
    own: list[Object] = [{"name": name, "value": value} for name, value in variables.items()]
    secrets = [
        {"name": name, "valueFrom": {"secretKeyRef": {"name": source.secret, "key": source.key}}}
        for name, source in sorted(task.secret_env.items())
    ]
    return own + secrets + [{"name": name, "value": value} for name, value in sorted(task.env.items())]


def _numbers(part: PartTask) -> list[Object]:
    """What tells a pod its index: Volcano's number where the two are the same, else what the controller wrote on it."""
    names = (INDEX_VARIABLE,) if part.task.array else ()
    numbers = [_field(name, _INDEX_FIELD if part.numbered else _NUMBER_FIELD) for name in names]
    numbers += [_field(name, _INDEX_FIELD) for name in _VOLCANOS_VARIABLES if part.numbered]
    size = part.task.array and {"name": SIZE_VARIABLE, "value": str(part.task.array.size)}
    return [*numbers, size] if size else numbers


_INDEX_FIELD = f"metadata.annotations['{INDEX_ANNOTATION}']"
_NUMBER_FIELD = f"metadata.labels['{VOLCANO_TASK_INDEX_LABEL}']"


def _field(name: str, path: str) -> Object:
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def _resources(resources: Resources) -> Object:
    """Requests and limits.

    GPUs stand in both: Volcano's enqueue check counts requests only, and Kubernetes wants them equal. Memory stands in
    both, so that a job that outgrows its share is ended itself and not its neighbours. CPU is a request only: a limit
    would throttle the feeding of a GPU while cores idle.
    """
    gpus = {resource: str(amount) for resource, amount in charges.per_replica(resources).items()}
    memory = _amount("memory", resources.memory)
    return without_none(
        {"requests": {**_amount("cpu", resources.cpu), **memory, **gpus} or None, "limits": {**memory, **gpus} or None}
    )


def _amount(resource: str, text: str) -> dict[str, str]:
    return {} if quantity.parse(text) == Decimal(0) else {resource: text}


def _toleration(toleration: Toleration) -> Object:
    return without_none(
        {
            "key": toleration.key,
            "operator": toleration.operator,
            "value": toleration.value,
            "effect": toleration.effect,
            "tolerationSeconds": toleration.toleration_seconds,
        }
    )


def without_none(members: Object) -> Object:
    """Leave out what is not set: an absent field and null are not the same to every reader."""
    return {name: value for name, value in members.items() if value is not None}
