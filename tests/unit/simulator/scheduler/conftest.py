"""A cluster of raw objects around pure sessions: what a job controller and a kubelet would do is done at once."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from app.simulator.volcano.scheduler.configuration import parse_configuration
from app.simulator.volcano.scheduler.policy import DEFAULT_POLICY, Policy
from app.simulator.volcano.scheduler.results import SessionResult
from app.simulator.volcano.scheduler.session import run_session
from app.simulator.volcano.scheduler.snapshot import build_snapshot

NOW = "2026-08-20T10:00:00Z"
GPU = "nvidia.com/gpu"
NAMESPACE = "team"


class Cluster:
    """Nodes `gpu-1` ... and whatever a test adds. `settle` runs sessions until nothing changes.

    An evicted pod is seen leaving by one session; then it is gone, and its job's controller makes it anew.
    """

    def __init__(self, nodes: int = 3, gpus: int = 2) -> None:
        self.nodes: dict[str, Any] = {}
        self.queues: dict[str, Any] = {}
        self.groups: dict[str, Any] = {}
        self.pods: dict[str, Any] = {}
        self.classes: list[Any] = []
        self.events: list[tuple[str, str, str]] = []
        self.evicted: list[tuple[str, str]] = []
        """Uid and reason of every eviction."""
        self.policy = DEFAULT_POLICY
        self.starts_pods = True
        self.rng = random.Random(7)
        self._plans: dict[str, Any] = {}
        self._lives = 0
        self._leaving: list[str] = []
        for number in range(1, nodes + 1):
            self.node(f"gpu-{number}", gpus)
        self.queue("root")

    def configure(self, text: str) -> None:
        """Have the next sessions follow a scheduler configuration."""
        self.policy = Policy(parse_configuration(text))

    def node(self, name: str, gpus: int, **spec: Any) -> None:
        allocatable = {"cpu": "32", "memory": "256Gi", "pods": "110", GPU: str(gpus)}
        self.nodes[name] = {"metadata": {"name": name}, "spec": spec, "status": {"allocatable": allocatable}}

    def queue(self, name: str, weight: int = 1, gpus: int | None = None, **spec: Any) -> None:
        capability = {} if gpus is None else {"capability": {GPU: gpus}}
        self.queues[name] = {
            "metadata": {"name": name, "uid": f"queue-{name}", "creationTimestamp": self._stamp()},
            "spec": {"weight": weight, "parent": "root", **capability, **spec},
            "status": {"state": "Open"},
        }

    def seed_queues(self) -> None:
        """The two queues of the mission's example."""
        self.queue("high-priority", weight=2, gpus=4)
        self.queue("low-priority", weight=1, gpus=2)

    def priority_class(self, name: str, value: int) -> None:
        self.classes.append({"metadata": {"name": name}, "value": value})

    def job(
        self,
        name: str,
        queue: str,
        pods: int,
        gpus: int,
        *,
        minimum: int | None = None,
        limits_only: bool = False,
        priority_class: str = "",
        spec: dict[str, Any] | None = None,
        roles: tuple[str, ...] = (),
    ) -> None:
        """A PodGroup as the job controller makes it; its pods come once it is enqueued."""
        minimum = pods if minimum is None else minimum
        resources = {} if limits_only else {"cpu": str(minimum), GPU: str(minimum * gpus)}
        counts = {"pods": str(minimum), "count/pods": str(minimum)}
        self.groups[name] = {
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "uid": f"group-{name}",
                "creationTimestamp": self._stamp(),
                "resourceVersion": "1",
            },
            "spec": {
                "queue": queue,
                "minMember": minimum,
                "minTaskMember": {"worker": minimum} if not roles else {},
                "minResources": {**counts, **resources},
                "priorityClassName": priority_class,
            },
            "status": {},
        }
        self._plans[name] = (pods, {"cpu": "1", GPU: str(gpus)} if gpus else {}, spec or {}, roles)

    def finish(self, name: str) -> None:
        """A job completes: its pods are done and the controller deletes the PodGroup."""
        self.groups.pop(name)
        for pod in self.pods_of(name):
            pod["status"]["phase"] = "Succeeded"

    def pods_of(self, name: str) -> list[Any]:
        annotation = "scheduling.k8s.io/group-name"
        annotations = ((pod, pod["metadata"].get("annotations") or {}) for pod in self.pods.values())
        return [pod for pod, said in annotations if said.get(annotation) == name]

    def placed(self, name: str) -> int:
        """How many pods of a job have a node and are not done."""
        return sum(
            bool(pod["spec"].get("nodeName")) and pod["status"]["phase"] in ("Pending", "Running")
            for pod in self.pods_of(name)
        )

    def phase(self, name: str) -> str:
        return str(self.groups[name]["status"].get("phase", ""))

    def condition(self, name: str, kind: str = "Unschedulable") -> str:
        """The message of a PodGroup's condition."""
        return next(c.get("message", "") for c in self.groups[name]["status"]["conditions"] if c["type"] == kind)

    def pod_condition(self, pod: str) -> tuple[str, str]:
        """Reason and message of a pod's PodScheduled."""
        found = next(c for c in self.pods[pod]["status"]["conditions"] if c["type"] == "PodScheduled")
        return found["reason"], found["message"]

    def allocated(self, queue: str) -> dict[str, str]:
        return dict(self.queues[queue]["status"]["allocated"])

    def session(self) -> SessionResult:
        """One session, applied to the objects."""
        snapshot = build_snapshot(
            self.nodes.values(),
            self.pods.values(),
            self.groups.values(),
            self.queues.values(),
            priority_classes=self.classes,
        )
        result = run_session(snapshot, self.rng, NOW, self.policy)
        self._let_go()
        self._apply(result)
        return result

    def settle(self, limit: int = 20) -> None:
        for _ in range(limit):
            leaving = bool(self._leaving)
            result = self.session()
            waiting = any(job.status for job in result.jobs) or result.binds or result.evictions
            if not waiting and not leaving:
                return
        raise AssertionError(f"Still changing after {limit} sessions.")

    def _apply(self, result: SessionResult) -> None:
        for job in result.jobs:
            name = job.group["metadata"]["name"]
            if job.status is not None:
                self.groups[name] = {**self.groups[name], "status": job.status}
            self._say(*job.events)
            for condition in job.conditions:
                new = {"type": "PodScheduled", "status": "False"}
                new |= {"reason": condition.reason, "message": condition.message}
                status = self.pods[condition.pod["metadata"]["name"]]["status"]
                status["conditions"] = [new]
                if condition.nominated:
                    status["nominatedNodeName"] = condition.nominated
            if self.phase(name) == "Inqueue" and not self.pods_of(name):
                self._create_pods(name)
        self._say(*result.events)
        for name, amounts in result.allocated.items():
            self.queues[name]["status"]["allocated"] = amounts
        for eviction in result.evictions:
            metadata = eviction.pod["metadata"]
            self.evicted.append((metadata["uid"], eviction.reason))
            self.pods[metadata["name"]]["metadata"]["deletionTimestamp"] = NOW
            self._leaving.append(metadata["name"])
        for bind in result.binds:
            pod = self.pods[bind.pod["metadata"]["name"]]
            pod["spec"]["nodeName"] = bind.node
            pod["status"]["phase"] = "Running" if self.starts_pods else "Pending"

    def _say(self, *events: Any) -> None:
        self.events.extend((event.about["metadata"]["name"], event.type, event.message) for event in events)

    def _let_go(self) -> None:
        """Pods that were evicted are gone, and made anew."""
        for name in self._leaving:
            annotations = self.pods.pop(name)["metadata"]["annotations"]
            job = annotations["scheduling.k8s.io/group-name"]
            if job in self.groups:
                self._create_pod(job, int(annotations["volcano.sh/task-index"]))
        self._leaving.clear()

    def _create_pods(self, name: str) -> None:
        for index in range(self._plans[name][0]):
            self._create_pod(name, index)

    def _create_pod(self, name: str, index: int) -> None:
        _, resources, spec, roles = self._plans[name]
        role = roles[index] if roles else "worker"
        pod = f"{name}-{role}-{index}"
        self._lives += 1
        self.pods[pod] = {
            "metadata": {
                "name": pod,
                "namespace": NAMESPACE,
                "uid": f"pod-{pod}-{self._lives:04d}",
                "creationTimestamp": NOW,
                "annotations": {
                    "scheduling.k8s.io/group-name": name,
                    "volcano.sh/task-spec": role,
                    "volcano.sh/task-index": str(index),
                },
            },
            "spec": {
                "schedulerName": "volcano",
                "containers": [{"name": "main", "resources": {"requests": resources}}],
                **spec,
            },
            "status": {"phase": "Pending"},
        }

    def _stamp(self) -> str:
        """A later second for each object."""
        return f"2026-08-20T09:00:{len(self.queues) + len(self.groups):02d}Z"


@pytest.fixture
def cluster() -> Cluster:
    """Three nodes of two GPUs."""
    return Cluster()


@pytest.fixture
def seed() -> Cluster:
    """Three nodes of two GPUs and the queues high-priority (2, cap 4) and low-priority (1, cap 2)."""
    return _seed()


@pytest.fixture(scope="session")
def build_seed() -> Callable[[], Cluster]:
    """Makes clusters like `seed`, one for each example of a property."""
    return _seed


def _seed() -> Cluster:
    built = Cluster()
    built.seed_queues()
    return built
