"""Which pods of a job a request for logs means. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.cluster.containers import Container, Stage
from app.errors import AppError, AttemptNotFound, ContainerNotFound, ReplicaNotFound, TaskNotFound, ValidationError
from app.jobs.states import TERMINAL, JobState
from app.validation import invalid

_SHOWN_NAMES = 20


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks for; None leaves the choice to us."""

    task: str | None = None
    replica: int | None = None
    attempt: int | None = None
    container: str | None = None
    tail: int | None = None
    since: datetime | None = None
    follow: bool = False
    previous: bool = False


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What is known of the job. `replicas` has the indices of each task's pods, by the task's name."""

    namespace: str
    state: JobState
    reason: str | None
    attempt: int
    replicas: dict[str, Sequence[int]]

    @property
    def ended(self) -> bool:
        """Whether nothing more will run."""
        return self.state in TERMINAL


@dataclass(frozen=True, slots=True)
class PodFacts:
    """A pod as it was last seen."""

    uid: str
    name: str
    task: str
    index: int
    attempt: int
    phase: str
    node: str | None
    reason: str | None
    gone: bool

    @property
    def replica(self) -> str:
        """The replica's name in texts for people."""
        return f"{self.task}-{self.index}"

    @property
    def over(self) -> bool:
        """Whether it will not print any more."""
        return self.gone or self.phase in {"Succeeded", "Failed"}


def job_facts(row: Mapping[str, Any]) -> JobFacts:
    """The facts of a job's row."""
    tasks = row["spec"]["tasks"]
    return JobFacts(
        namespace=row["k8s_namespace"],
        state=JobState(row["state"]),
        reason=row["reason"],
        attempt=row["attempt"],
        replicas={task["name"]: _indices(task) for task in tasks},
    )


def _indices(task: Mapping[str, Any]) -> Sequence[int]:
    chosen: list[int] | None = (task.get("array") or {}).get("indices")
    return range(task["replicas"]) if chosen is None else sorted(chosen)


def replicas_asked(asked: Asked, job: JobFacts, most: int) -> set[tuple[str, int]]:
    """The replicas that are meant.

    Raises:
        TaskNotFound, ReplicaNotFound: there is no such thing; the detail says what there is.
        ValidationError: they are more than `most`, and one has to choose.
    """
    if asked.task is not None and asked.task not in job.replicas:
        names = list(job.replicas)
        raise TaskNotFound(f"The job has no task of that name; it has {_named(names)}.", tasks=names)
    tasks = {task: job.replicas[task] for task in job.replicas if asked.task in {None, task}}
    chosen = {(task, index) for task, indices in tasks.items() for index in indices if asked.replica in {None, index}}
    if not chosen:
        raise _no_such_replica(tasks)
    if len(chosen) > most:
        choice = f"a task ({_named(list(tasks))}) and a replica" if len(tasks) > 1 else "a replica"
        words = f"{len(chosen)} replicas are meant, and at most {most} are shown together; choose {choice}"
        raise ValidationError([invalid(("query", "replica"), words, "too-many-replicas")])
    return chosen


def check_attempt(asked: Asked, job: JobFacts, pods: Sequence[PodFacts]) -> None:
    """Compare the attempt that is asked for with those that there were.

    Replicas that do not need each other count their attempts one by one, so a pod may be ahead of its job.

    Raises:
        AttemptNotFound: it has not begun.
    """
    if asked.attempt is None or pods or asked.attempt <= max(job.attempt, 1):
        return
    had = f"it has had {job.attempt}" if job.attempt else "it has not run yet"
    raise AttemptNotFound(f"The job has had no such attempt; {had}.", attempt=job.attempt)


def _no_such_replica(tasks: Mapping[str, Sequence[int]]) -> AppError:
    spans = {task: _span(indices) for task, indices in tasks.items()}
    told = ", ".join(f"{span} of {task}" for task, span in list(spans.items())[:_SHOWN_NAMES])
    return ReplicaNotFound(f"There is no such replica; there are {told}.", replicas=spans)


def _span(indices: Sequence[int]) -> str:
    """Indices as a text: `0..3`, or those that were chosen."""
    if isinstance(indices, range):
        return f"0..{len(indices) - 1}" if len(indices) > 1 else "0"
    return _named([str(index) for index in indices])


def _named(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN_NAMES
    return ", ".join(names[:_SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")


def container_asked(asked: Asked, pod: PodFacts, containers: Iterable[Container]) -> Container:
    """The container that is meant: the one asked for, else the task's own, whose name is the task's.

    Raises:
        ContainerNotFound: it is not in the pod, or has no run before the present one.
    """
    known = {each.name: each for each in containers}
    found = known.get(asked.container or pod.task) or (
        next(iter(known.values()), None) if not asked.container else None
    )
    if found is None:
        names = list(known)
        words = f"{pod.replica} has no container of that name; it has {_named(names)}."
        raise ContainerNotFound(words, containers=names)
    if asked.previous and not found.has_previous:
        words = f"The container {found.name} of {pod.replica} was not restarted; it has no run before this one."
        raise ContainerNotFound(words, containers=list(known))
    return found


def is_readable(container: Container) -> bool:
    """Whether a container has printed, or may have."""
    return container.stage is not Stage.WAITING
