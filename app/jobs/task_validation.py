"""What is wrong with one task of a job, beyond the shape of its fields. Pure."""

from collections.abc import Iterator
from posixpath import normpath

from app.errors import Invalid
from app.jobs import syntax
from app.jobs.faults import Place, in_members
from app.jobs.schemas import Task
from app.validation import invalid

NOT_WHOLE = "gpu-not-whole"

_GPU_ADVICE = (
    "Kubernetes gives out extended resources whole, and sharing a card needs its memory isolated; take a whole card "
    "for batch work, or a MIG or vGPU resource as gpu_resource"
)


def task_faults(task: Task, where: Place) -> Iterator[Invalid]:
    """Every fault of a task that stands at `where` in the body."""
    yield from _environment(task, where)
    yield from _gpus(task, where)
    selector = task.node_selector
    yield from in_members(
        (*where, "node_selector"), selector, syntax.fault_in_selector_key, syntax.fault_in_label_value, "label"
    )
    yield from _tolerations(task, where)
    yield from _mounts(task, where)
    if task.min_available is not None and task.min_available > task.replicas:
        words = f"{task.min_available} pods cannot be available among {task.replicas} replicas"
        yield invalid((*where, "min_available"), words, "out-of-range")


def _environment(task: Task, where: Place) -> Iterator[Invalid]:
    for member, names in (("env", task.env), ("secret_env", task.secret_env)):
        for name in names:
            words = syntax.fault_in_variable(name)
            if words is not None:
                yield invalid((*where, member, name), words, "variable")
    for name in task.secret_env:
        if name in task.env:
            yield invalid((*where, "secret_env", name), "The same variable stands under env", "duplicate")


def _gpus(task: Task, where: Place) -> Iterator[Invalid]:
    resources = task.resources
    words = syntax.fault_in_resource(resources.gpu_resource)
    if words is not None:
        yield invalid((*where, "resources", "gpu_resource"), words, "resource-name")
    if not isinstance(resources.gpus, int):
        place = (*where, "resources", "gpus")
        yield invalid(place, f"{resources.gpus} is a fraction of a GPU. {_GPU_ADVICE}", NOT_WHOLE)


def _tolerations(task: Task, where: Place) -> Iterator[Invalid]:
    for index, toleration in enumerate(task.tolerations):
        place = (*where, "tolerations", index)
        if toleration.key is not None and (words := syntax.fault_in_selector_key(toleration.key)):
            yield invalid((*place, "key"), words, "toleration")
        if toleration.key is None and toleration.operator != "Exists":
            yield invalid((*place, "operator"), "Without a key, the operator has to be Exists", "toleration")
        if toleration.operator == "Exists" and toleration.value:
            yield invalid((*place, "value"), "With the operator Exists there is no value", "toleration")
        if toleration.value is not None and (words := syntax.fault_in_label_value(toleration.value)):
            yield invalid((*place, "value"), words, "toleration")
        if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
            words = "A toleration ends after some seconds only with the effect NoExecute"
            yield invalid((*place, "toleration_seconds"), words, "toleration")


def _mounts(task: Task, where: Place) -> Iterator[Invalid]:
    seen: set[str] = set()
    for index, volume in enumerate(task.volumes):
        path = normpath(volume.path)
        if path in seen:
            yield invalid((*where, "volumes", index, "path"), "Two volumes have this path", "duplicate")
        seen.add(path)
