"""What the demo plays: the mission's scenario as data. Three nodes with two GPUs, two queues, two teams, four jobs."""

from dataclasses import dataclass
from typing import Any

GPU = "nvidia.com/gpu"
IMAGE = "busybox:1.36"

STEPS_ANNOTATION = "simulator.pumice.dev/progress-steps"
"""Has the simulated workers count so many steps; on a real cluster nobody reads it, and the column stays empty."""

STEPS = 10

ALL_ENDED_SECONDS = 120.0
"""Limit of the whole demo."""


@dataclass(frozen=True, slots=True)
class DemoQueue:
    """A queue and the most GPUs that it may use."""

    name: str
    weight: int
    capability: int

    @property
    def body(self) -> dict[str, Any]:
        """What `POST /v1/queues` takes."""
        return {"name": self.name, "weight": self.weight, "capability": {GPU: self.capability}}


@dataclass(frozen=True, slots=True)
class DemoTeam:
    """A team with one queue and a quota in GPUs."""

    name: str
    queue: str
    per_job: int
    outstanding: int

    @property
    def body(self) -> dict[str, Any]:
        """What `POST /v1/teams` takes."""
        return {
            "name": self.name,
            "namespace": f"team-{self.name}",
            "queues": [self.queue],
            "default_queue": self.queue,
        }

    @property
    def quota(self) -> dict[str, Any]:
        """What `PUT /v1/teams/{team}/quota` takes."""
        limits = {GPU: {"per_job": self.per_job, "outstanding": self.outstanding}}
        return {"limits": limits, "max_jobs": 10, "on_over_quota": "reject"}

    @property
    def token(self) -> dict[str, Any]:
        """What `POST /v1/tokens` takes: a pipeline that submits for the team."""
        return {"name": "demo", "subject": f"{self.name}-pipeline", "team": self.name, "role": "submitter"}


@dataclass(frozen=True, slots=True)
class DemoJob:
    """A job of so many pods with one GPU each, which start together or not at all."""

    name: str
    team: str
    queue: str
    gpus: int

    def body(self, seconds: int) -> dict[str, Any]:
        """What `POST /v1/teams/{team}/jobs` takes; each pod sleeps for so many seconds."""
        task = {
            "name": "worker",
            "replicas": self.gpus,
            "image": IMAGE,
            "command": ["sleep", str(seconds)],
            "resources": {"cpu": "1", "memory": "1Gi", "gpus": 1, "gpu_resource": GPU},
        }
        return {
            "name": self.name,
            "queue": self.queue,
            "min_available": self.gpus,
            "annotations": {STEPS_ANNOTATION: str(STEPS)},
            "tasks": [task],
        }


HIGH = DemoQueue("high-priority", weight=2, capability=4)
LOW = DemoQueue("low-priority", weight=1, capability=2)
QUEUES = (HIGH, LOW)

TEAMS = (
    DemoTeam("online", HIGH.name, per_job=4, outstanding=8),
    DemoTeam("batch", LOW.name, per_job=2, outstanding=4),
)

JOBS = (
    DemoJob("low-a", "batch", LOW.name, 2),
    DemoJob("low-b", "batch", LOW.name, 2),
    DemoJob("high-a", "online", HIGH.name, 4),
    DemoJob("high-b", "online", HIGH.name, 2),
)
"""In the order of their submission: the low ones come first, and the high ones must not wait for them."""
