"""Who comes first (Volcano v1.15.1, `framework/session_plugins.go`; volcano-facts 5.5).

The keys sort ascending. Creation times have whole seconds. Among queues and jobs of the same second the name decides,
as Volcano's ids of them are the queue's name and the PodGroup's `namespace/name`. Among pods it is the uid.
"""

from app.simulator.volcano.scheduler.model import Job, Task
from app.simulator.volcano.scheduler.pod_facts import PodFacts
from app.simulator.volcano.scheduler.proportion import QueueBook

QueueKey = tuple[int, float, str, str]
JobKey = tuple[int, bool, float, str, str]
TaskKey = tuple[int, int, str, str]

_NO_INDEX = -1


def queue_key(book: QueueBook) -> QueueKey:
    """spec.priority, then the smaller share, then age. A weight orders nothing."""
    return -book.facts.priority, book.share, book.facts.created, book.facts.name


def job_key(job: Job) -> JobKey:
    """PriorityClass, then gangs that are not complete, then the smaller dominant share, then age."""
    return -job.priority, job.is_ready(), job.share, job.facts.created, "/".join(job.facts.key)


def task_key(task: Task) -> TaskKey:
    """Pod priority, then the pod's index, then age."""
    return pod_key(task.facts)


def pod_key(pod: PodFacts) -> TaskKey:
    """`task_key` for a pod that is no task yet."""
    return -pod.priority, _NO_INDEX if pod.index is None else pod.index, pod.created, pod.uid
