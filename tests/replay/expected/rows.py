"""How the tables of this folder say what a person expects of Pumice who has read a recording, the API's words and the
design. They were written by hand; none is a copy of what the code did."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Row:
    """A job's row at the end, and the way there.

    Attributes:
        history: after the submission, each change of the state, its reason or the attempt: `state reason`, in order and
            separated by bars; `attempt N` in front where a new run was seen.
        counts: as `3 running, 1 pending`; what is not named is 0.
        started: time of day by the cluster's clock; None for never.
        ended: the same; None for not yet. A lost job ends when Pumice is told, which is at the event's millisecond.
        message: a pattern (fnmatch); None for no message.
        pods: one line for each: name, attempt, phase, node, exit code, reason, and `gone` when it is not in the cluster
            any more; a dash for what is not there.
        kept: whether its Volcano Job is there when the recording ends, so that Pumice has to remove it one day.
    """

    history: str
    counts: str = ""
    started: str | None = None
    ended: str | None = None
    message: str | None = None
    attempt: int = 1
    pods: str = ""
    kept: bool = True


@dataclass(frozen=True, slots=True)
class Queue:
    """What Pumice has observed of a queue: its state, Volcano's `allocated` GPUs, PodGroups by phase, and the drift."""

    state: str
    gpus: int = 0
    pending: int = 0
    inqueue: int = 0
    running: int = 0
    unknown: int = 0
    drift: int = 0


@dataclass(frozen=True, slots=True)
class Scenario:
    """One recording.

    Attributes:
        jobs: by name.
        queues: at the end; None for one that is not there.
        moments: queues at a millisecond of the recording.
        commands: jobs that Pumice has to stop although their row has ended.
        remade: queues that Pumice makes again, since their rows want them.
    """

    jobs: Mapping[str, Row]
    queues: Mapping[str, Queue | None] = field(default_factory=dict)
    moments: Mapping[int, Mapping[str, Queue]] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    remade: tuple[str, ...] = ()


OPEN = Queue("Open")
