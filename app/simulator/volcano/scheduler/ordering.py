"""Who comes first (Volcano v1.15.1, `framework/session_plugins.go`; volcano-facts 5.5).

The keys sort ascending. Which of their parts count is the policy's word. Creation times have whole seconds. Among
queues and jobs of the same second the name decides, as Volcano's ids of them are the queue's name and the PodGroup's
`namespace/name`. Among pods it is the uid.
"""

from collections.abc import Callable

from app.simulator.volcano.scheduler.model import Job, Task
from app.simulator.volcano.scheduler.pod_facts import PodFacts
from app.simulator.volcano.scheduler.policy import Policy
from app.simulator.volcano.scheduler.proportion import QueueBook

QueueKey = tuple[int, float, bool, str, str]
JobRank = tuple[float, ...]
JobKey = tuple[JobRank, str, str]
TaskKey = tuple[int, int, str, str]

_NO_INDEX = -1
_RANKS: dict[str, Callable[[Job], float]] = {
    "priority": lambda job: -job.priority,
    "gang": lambda job: job.is_ready(),
    "drf": lambda job: job.share,
}


def queue_key(policy: Policy, book: QueueBook) -> QueueKey:
    """spec.priority, then the smaller share, then age. A weight orders nothing."""
    if not policy.orders_queues:
        return 0, 0.0, False, book.facts.created, book.facts.name
    return -book.facts.priority, book.share, book.yields, book.facts.created, book.facts.name


def job_rank(policy: Policy, job: Job) -> JobRank:
    """By default PriorityClass, then gangs that are not complete, then the smaller dominant share."""
    return tuple(_RANKS[name](job) for name in policy.job_order)


def job_key(policy: Policy, job: Job) -> JobKey:
    """`job_rank`, then age."""
    return job_rank(policy, job), job.facts.created, "/".join(job.facts.key)


def task_key(policy: Policy, task: Task) -> TaskKey:
    """Pod priority, then the pod's index, then age."""
    key = pod_key(task.facts)
    return key if policy.orders_tasks else (0, *key[1:])


def pod_key(pod: PodFacts) -> TaskKey:
    """`task_key` for a pod that is no task yet."""
    return -pod.priority, _NO_INDEX if pod.index is None else pod.index, pod.created, pod.uid
