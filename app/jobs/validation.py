"""What is wrong with a job before the cluster sees it: everything that takes more than one field, all at once. Pure."""

from collections.abc import Collection, Iterator, Mapping
from uuid import UUID

from app.errors import AppError, GpuNotWhole, Invalid, ValidationError
from app.jobs import charges, gang, syntax
from app.jobs.annotations import MAXIMUM_BYTES as MAXIMUM_ANNOTATIONS_BYTES
from app.jobs.annotations import members_size
from app.jobs.array_validation import array_faults
from app.jobs.dependencies import Condition, Otherwise
from app.jobs.faults import in_members
from app.jobs.fields import MAXIMUM_REPLICAS
from app.jobs.schemas import JobCreate
from app.jobs.task_validation import NOT_WHOLE, task_faults
from app.quantity import MAXIMUM
from app.validation import invalid

MAXIMUM_POD_NAME = 63
"""Volcano's own check and host names end there, though a pod's name may have 253 characters."""

MAXIMUM_MANIFEST_BYTES = 1_000_000
"""Of the Volcano Job: etcd takes 1.5 MiB, from which status and field ownership have to be written too."""

_TASK_FRAME_BYTES = 1_000


def check(spec: JobCreate, priorities: Collection[str]) -> None:
    """Raise what is wrong with a job.

    Args:
        spec: the body, already checked field by field.
        priorities: the names that the operator's setting has.

    Raises:
        GpuNotWhole: a fraction of a GPU is the only kind of fault.
        ValidationError: anything else, with every fault.
    """
    faults = list(_faults(spec, priorities))
    if faults:
        raise _refusal(faults)


def _refusal(faults: list[Invalid]) -> AppError:
    if all(fault.code == NOT_WHOLE for fault in faults):
        errors = [{"pointer": fault.pointer, "detail": fault.detail, "code": fault.code} for fault in faults]
        return GpuNotWhole(faults[0].detail, errors=errors)
    return ValidationError(faults)


def _faults(spec: JobCreate, priorities: Collection[str]) -> Iterator[Invalid]:
    yield from _pod_names(spec)
    yield from priority_faults(spec.priority, priorities)
    yield from _metadata(spec)
    yield from _task_names(spec)
    for index, task in enumerate(spec.tasks):
        yield from task_faults(task, ("tasks", index))
        yield from array_faults(task, ("tasks", index))
    yield from _dependencies(spec)
    yield from _sizes(spec)
    yield from _totals(spec)
    yield from _retries(spec)
    yield from _after(spec)


def longest_suffix(spec: JobCreate) -> str:
    """What the longest name of a pod of a job adds to that of its Volcano Job."""
    replicas = (task.replicas for task in spec.tasks)
    return gang.longest_suffix(zip(gang.task_names(spec), replicas, strict=True))


def _pod_names(spec: JobCreate) -> Iterator[Invalid]:
    length = len(spec.name) + len(longest_suffix(spec))
    if length > MAXIMUM_POD_NAME:
        words = (
            f"The longest pod name, <name>-<task>-<index>, would have {length} characters; "
            f"at most {MAXIMUM_POD_NAME} are possible"
        )
        yield invalid(("name",), words, "pod-name-too-long")


def priority_faults(priority: str | None, priorities: Collection[str]) -> Iterator[Invalid]:
    """What is wrong with a priority; None stands for the operator's default."""
    if priority is not None and priority not in priorities:
        yield invalid(("priority",), f"The priorities are {', '.join(priorities)}", "unknown-priority")


def label_faults(labels: Mapping[str, str]) -> Iterator[Invalid]:
    """What is wrong with each of a job's labels by itself."""
    yield from in_members(("labels",), labels, syntax.fault_in_label_key, syntax.fault_in_label_value, "label")


def _metadata(spec: JobCreate) -> Iterator[Invalid]:
    yield from label_faults(spec.labels)
    yield from in_members(("annotations",), spec.annotations, syntax.fault_in_annotation_key, _any_value, "annotation")
    size = members_size(spec.annotations)
    if size > MAXIMUM_ANNOTATIONS_BYTES:
        words = f"Annotations have {size} bytes together, at most {MAXIMUM_ANNOTATIONS_BYTES} are possible"
        yield invalid(("annotations",), words, "annotations-too-large")


def _any_value(value: str) -> None:
    return None


def _task_names(spec: JobCreate) -> Iterator[Invalid]:
    seen: set[str] = set()
    for index, name in enumerate(gang.task_names(spec)):
        if name in seen:
            yield invalid(("tasks", index, "name"), f'The task name "{name}" stands twice', "duplicate")
        seen.add(name)


def _dependencies(spec: JobCreate) -> Iterator[Invalid]:
    if not any(task.depends_on for task in spec.tasks):
        return
    names = gang.task_names(spec)
    for index, task in enumerate(spec.tasks):
        for place, name in enumerate(task.depends_on):
            if name not in names:
                yield invalid(("tasks", index, "depends_on", place), "There is no task of this name", "unknown-task")
            elif name in task.depends_on[:place]:
                yield invalid(("tasks", index, "depends_on", place), "The task stands twice", "duplicate")
    waiting = {name: set(task.depends_on) & set(names) for name, task in zip(names, spec.tasks, strict=True)}
    while ready := {name for name, awaited in waiting.items() if not awaited}:
        waiting = {name: awaited - ready for name, awaited in waiting.items() if name not in ready}
    for name in waiting:
        words = "The task waits for itself, directly or by others"
        yield invalid(("tasks", names.index(name), "depends_on"), words, "cycle")


def _sizes(spec: JobCreate) -> Iterator[Invalid]:
    replicas, together = gang.replicas(spec), _together(spec)
    if replicas > MAXIMUM_REPLICAS:
        words = f"The tasks have {replicas} replicas together, at most {MAXIMUM_REPLICAS} are possible"
        yield invalid(("tasks",), words, "out-of-range")
    if spec.min_available is not None and spec.min_available > together:
        words = f"{spec.min_available} pods cannot start together: the tasks that wait for no other have {together}"
        yield invalid(("min_available",), words, "out-of-range")
    if spec.min_success is not None and spec.min_success > replicas:
        words = f"{spec.min_success} pods cannot succeed among {replicas} replicas"
        yield invalid(("min_success",), words, "out-of-range")


def _together(spec: JobCreate) -> int:
    return sum(gang.at_a_time(task) for task in spec.tasks if not task.depends_on)


def _totals(spec: JobCreate) -> Iterator[Invalid]:
    sums: dict[str, int] = {}
    for index, task in enumerate(spec.tasks):
        if not isinstance(task.resources.gpus, int):
            continue
        for resource, amount in charges.of_task(task).items():
            sums[resource] = sums.get(resource, 0) + amount
            if sums[resource] > MAXIMUM:
                words = f"All replicas together ask for more than {MAXIMUM}"
                yield invalid(("tasks", index, "resources", "gpus"), words, "out-of-range")
    for resource, total in charges.compute_of_job(spec).items():
        if total > MAXIMUM:
            yield invalid(
                ("tasks",), f"All replicas together ask for more than {MAXIMUM} of {resource}", "out-of-range"
            )
    size = manifest_size(spec)
    if size > MAXIMUM_MANIFEST_BYTES:
        words = (
            f"The job has about {size} bytes as a Kubernetes object, at most {MAXIMUM_MANIFEST_BYTES} are possible; "
            "put inputs into storage and pass a reference"
        )
        yield invalid((), words, "manifest-too-large")


def manifest_size(spec: JobCreate) -> int:
    """About how many bytes the Volcano Job takes; labels and annotations stand on it and on each task's template."""
    tasks = sum(len(task.model_dump_json()) for task in spec.tasks)
    metadata = members_size(spec.labels) + members_size(spec.annotations)
    return tasks + (1 + len(spec.tasks)) * (metadata + _TASK_FRAME_BYTES)


def _retries(spec: JobCreate) -> Iterator[Invalid]:
    seen: set[int | str] = set()
    for index, rule in enumerate(spec.retries.on):
        if not rule.exit_codes and not rule.causes:
            yield invalid(("retries", "on", index), "A rule names exit_codes or causes", "empty-rule")
        for member, values in (("exit_codes", rule.exit_codes), ("causes", rule.causes)):
            for place, value in enumerate(values):
                if value in seen:
                    yield invalid(("retries", "on", index, member, place), f"{value} stands twice", "duplicate")
                seen.add(value)


def _after(spec: JobCreate) -> Iterator[Invalid]:
    seen: set[UUID] = set()
    for place, parent in enumerate(spec.after):
        if parent.job in seen:
            yield invalid(("after", place, "job"), "The job stands twice", "duplicate")
        if parent.condition is Condition.FINISHED and parent.otherwise is not Otherwise.FAIL:
            words = "A job that has to finish, in whichever way, has no other end; leave this out"
            yield invalid(("after", place, "otherwise"), words, "no-meaning")
        seen.add(parent.job)
