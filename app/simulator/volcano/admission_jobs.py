"""Admission of Jobs (`pkg/webhooks/admission/jobs` of Volcano v1.15.1; refusals recorded in trace 21)."""

import copy
import re
from collections.abc import Mapping

from app.simulator.objects import Object
from app.simulator.volcano.admission_pod_groups import TIERS, both_tiers
from app.simulator.volcano.admission_policies import policies_problem
from app.simulator.volcano.admission_refusal import Refusal, go_list
from app.simulator.volcano.admission_templates import (
    require_quantities,
    template_problem,
    with_canonical_quantities,
)
from app.simulator.volcano.job_plugins import KNOWN
from app.simulator.volcano.job_states import task_minimum, total_replicas
from app.simulator.volcano.pod_builder import pod_name

DEFAULT_RETRIES = 3
NAME_LENGTH = 63
_NEED_SERVICE = frozenset({"tensorflow", "mpi", "pytorch", "ray"})
_NAME_FORM = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_FROZEN = (
    "job updates may not change fields other than `minAvailable`, `tasks[*].replicas under spec` and "
    "`PriorityClassName`"
)


def mutate(job: Object) -> Object:
    """Return a new Job with Volcano's defaults. A malformed one is left to the API server's schema.

    Raises:
        Refusal: a quantity cannot be read.
    """
    spec, tasks = job.get("spec"), (job.get("spec") or {}).get("tasks")
    if not isinstance(spec, dict) or not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        return job
    for index, task in enumerate(tasks):
        require_quantities(task.get("template") or {})
        _fill_task(task, index)
    spec["queue"] = spec.get("queue") or "default"
    spec["schedulerName"] = spec.get("schedulerName") or "volcano"
    spec["maxRetry"] = spec.get("maxRetry") or DEFAULT_RETRIES
    spec["minAvailable"] = spec.get("minAvailable") or sum(task_minimum(task) for task in tasks)
    plugins = spec.get("plugins")
    if isinstance(plugins, dict):
        if _NEED_SERVICE & plugins.keys():
            plugins.setdefault("svc", [])
        if "mpi" in plugins:
            plugins.setdefault("ssh", [])
    return job


def _fill_task(task: Object, index: int) -> None:
    task["name"] = task.get("name") or f"default{index}"
    pod_spec = (task.get("template") or {}).get("spec") or {}
    if pod_spec.get("hostNetwork") and not pod_spec.get("dnsPolicy"):
        pod_spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    if task.get("minAvailable") is None:
        task["minAvailable"] = task_minimum(task)
    task["maxRetry"] = task.get("maxRetry") or DEFAULT_RETRIES


def validate_new(job: Object, queues: Mapping[str, Object]) -> None:
    """Refuse a new Job, naming everything that is wrong with it.

    Raises:
        Refusal: with Volcano's words.
    """
    spec, name = job.get("spec") or {}, job["metadata"]["name"]
    if not spec.get("tasks"):
        raise Refusal("No task specified in job spec")
    text = _tiers_problem(spec) + _tasks_problem(job)
    problem = name_problem(name)
    if problem:
        text += f"create job with name {name} validate failed {problem}"
    if total_replicas(spec) < spec.get("minAvailable", 0):
        text += " job 'minAvailable' should not be greater than total replicas in tasks;"
    text += policies_problem(spec.get("policies") or [], "spec.policies")
    for plugin in spec.get("plugins") or {}:
        if plugin not in KNOWN:
            text += f" unable to find job plugin: {plugin};"
    text += _volumes_problem(spec.get("volumes") or [])
    text += _queue_problem(str(spec.get("queue") or "default"), queues)
    if any(task.get("dependsOn") for task in spec["tasks"]) and not _ordered(spec["tasks"]):
        text += " job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG);"
    if text:
        raise Refusal(text.strip())


def _tiers_problem(spec: Object) -> str:
    return TIERS if both_tiers(spec.get("networkTopology")) else ""


def _tasks_problem(job: Object) -> str:
    text, seen = "", set()
    for index, task in enumerate(job["spec"]["tasks"]):
        if (task.get("minAvailable") or 0) > task.get("replicas", 0):
            text += (
                f" 'minAvailable' is greater than 'replicas' in task: {task['name']}, job: {job['metadata']['name']};"
            )
        if task["name"] in seen:
            return f"{text} duplicated task name {task['name']};"
        seen.add(task["name"])
        text += policies_problem(task.get("policies") or [], "spec.tasks.policies")
        text += _pod_name_problem(pod_name(job["metadata"]["name"], task["name"], index))
        text += template_problem(task, index)
        text += _partition_problem(task, job["metadata"]["name"])
    return text


def _pod_name_problem(name: str) -> str:
    problem = name_problem(name)
    return f"create pod with name {name} validate failed {problem};" if problem else ""


def name_problem(name: str) -> str:
    """Return what Kubernetes' `IsQualifiedName` says against a name, as Go prints the list, else an empty text."""
    problems = []
    if len(name) > NAME_LENGTH:
        problems.append(f"name part must be no more than {NAME_LENGTH} bytes")
    if re.fullmatch(_NAME_FORM, name) is None:
        problems.append(
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
            "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
            f"'{_NAME_FORM}')"
        )
    return go_list(problems) if problems else ""


def _partition_problem(task: Object, job: str) -> str:
    policy = task.get("partitionPolicy")
    if not policy:
        return ""
    where = f"in task: {task['name']}, job: {job}"
    total, size, minimum = (int(policy.get(key, 0)) for key in ("totalPartitions", "partitionSize", "minPartitions"))
    text = ""
    if total <= 0:
        text = f"'TotalPartitions' must be greater than 0 {where}"
    elif size <= 0:
        text = f"'PartitionSize' must be greater than 0 {where}"
    elif task.get("replicas", 0) != total * size:
        text = f"'Replicas' are not equal to TotalPartitions*PartitionSize {where}"
    elif task.get("minAvailable") is not None and minimum > 0 and minimum * size != task["minAvailable"]:
        text = f"'MinAvailable' is not equal to MinPartitions*PartitionSize {where}"
    return text + (TIERS if both_tiers(policy.get("networkTopology")) else "")


def _volumes_problem(volumes: list[Object]) -> str:
    seen: set[str] = set()
    for volume in volumes:
        path = volume.get("mountPath") or ""
        if not path:
            return " mountPath is required;"
        if path in seen:
            return f" duplicated mountPath: {path};"
        if not volume.get("volumeClaim") and not volume.get("volumeClaimName"):
            return " either VolumeClaim or VolumeClaimName must be specified;"
        if volume.get("volumeClaim") and volume.get("volumeClaimName"):
            return (
                "conflict: If you want to use an existing PVC, just specify VolumeClaimName."
                "If you want to create a new PVC, you do not need to specify VolumeClaimName"
            )
        seen.add(path)
    return ""


def _queue_problem(name: str, queues: Mapping[str, Object]) -> str:
    queue = queues.get(name)
    if queue is None:
        return f' unable to find job queue: queue.scheduling.volcano.sh "{name}" not found;'
    text, state = "", (queue.get("status") or {}).get("state") or ""
    if state != "Open":
        text = f" can only submit job to queue with state `Open`, queue `{name}` status is `{state}`;"
    if name == "root":
        return f"{text} can not submit job to root queue;"
    children = sum((other.get("spec") or {}).get("parent") == name for other in queues.values())
    if children:
        text += f" can only submit job to leaf queue, queue `{name}` has {children} child queues;"
    return text


def _ordered(tasks: list[Object]) -> bool:
    """Whether the tasks can be started one after another as `dependsOn` wants."""
    waits = {task["name"]: set((task.get("dependsOn") or {}).get("name") or []) for task in tasks}
    while free := [name for name, others in waits.items() if not others]:
        for name in free:
            del waits[name]
        for others in waits.values():
            others.difference_update(free)
    return not waits


def validate_update(old: Object, new: Object) -> None:
    """Refuse a change of anything but minAvailable, replicas and priorityClassName.

    Raises:
        Refusal: with Volcano's words.
    """
    spec = new.get("spec") or {}
    if not spec.get("tasks"):
        raise Refusal("job updates may not add or remove tasks")
    for task in spec["tasks"]:
        require_quantities(task.get("template") or {})
        if (task.get("minAvailable") or 0) > task.get("replicas", 0):
            raise Refusal(f"'minAvailable' must be <= 'replicas' in task: {task['name']}")
        problem = _partition_problem(task, new["metadata"]["name"])
        if problem:
            raise Refusal(problem)
    if spec.get("minAvailable", 0) > total_replicas(spec):
        raise Refusal("job 'minAvailable' must not be greater than total replicas")
    if both_tiers(spec.get("networkTopology")):
        raise Refusal(TIERS)
    if len(old["spec"]["tasks"]) != len(spec["tasks"]):
        raise Refusal("job updates may not add or remove tasks")
    if _fixed(old["spec"]) != _fixed(spec):
        raise Refusal(_FROZEN)


def _fixed(spec: Object) -> Object:
    """The part of a spec that never changes."""
    fixed = {key: value for key, value in spec.items() if key not in ("minAvailable", "priorityClassName", "tasks")}
    fixed["tasks"] = [
        {
            **{key: value for key, value in task.items() if key not in ("replicas", "minAvailable")},
            "template": with_canonical_quantities(task.get("template") or {}),
        }
        for task in spec["tasks"]
    ]
    volumes = copy.deepcopy(spec.get("volumes") or [])
    for volume in volumes:
        if volume.get("volumeClaim"):
            volume.pop("volumeClaimName", None)
    fixed["volumes"] = volumes
    return fixed
