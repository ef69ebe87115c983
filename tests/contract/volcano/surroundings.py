"""What surrounded a recording: the scheduler's configuration, and what an earlier recording had left behind.

The recorder did not wait until the Jobs of the recording before were gone. In 25, 27 and 28 they still held all GPUs
when the first Job came, so that it began by reclaiming from them, and went a moment later.
"""

from dataclasses import dataclass
from typing import Any

from app.simulator.volcano.scheduler.configuration import DEFAULT_TEXT

_STOCK_TIERS = DEFAULT_TEXT.replace("allocate, backfill", "allocate, preempt, reclaim, backfill")
_ONE_TIER = """
actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enableReclaimable: false
  - name: conformance
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""
CONFIGURATIONS = {"23": _STOCK_TIERS, "25": _STOCK_TIERS, "26": _ONE_TIER, "27": _ONE_TIER, "28": _ONE_TIER}
"""By scenario; the others were recorded with the Helm chart's."""

LEFT_OVER_NAMESPACE = "left-over"


@dataclass(frozen=True, slots=True)
class LeftOverJob:
    """A Job of one-GPU pods; `running` is how many of them ran in the end."""

    name: str
    queue: str
    weight: int
    pods: int
    minimum: int
    running: int

    @property
    def queue_object(self) -> dict[str, Any]:
        """The Queue of the Job."""
        return {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": self.queue},
            "spec": {"weight": self.weight},
        }

    @property
    def job_object(self) -> dict[str, Any]:
        """The Job; its pods start at once, run on, and use up their grace period, in which a session can see them."""
        life = {"start-seconds": "0", "run-seconds": "100000", "ignore-sigterm": "true"}
        amounts = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
        container = {
            "name": "main",
            "image": "registry.test/llm:1",
            "resources": {"requests": amounts, "limits": amounts},
        }
        template = {
            "metadata": {"annotations": {f"simulator.pumice.dev/{key}": value for key, value in life.items()}},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]},
        }
        task = {"name": "worker", "replicas": self.pods, "template": template}
        spec = {"schedulerName": "volcano", "queue": self.queue, "minAvailable": self.minimum, "tasks": [task]}
        return {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"name": self.name, "namespace": LEFT_OVER_NAMESPACE},
            "spec": spec,
        }


@dataclass(frozen=True, slots=True)
class LeftOver:
    """Jobs that were there first, in the order in which they had come, and when in the recording they went.

    `grace_seconds` is how long a session could see their pods leaving; with 0 none did.
    """

    jobs: tuple[LeftOverJob, ...]
    gone_ms: int
    grace_seconds: int


LEFT_OVER = {
    "25": LeftOver(
        (LeftOverJob("borrower", "q24-low", 1, pods=6, minimum=1, running=6),), gone_ms=4900, grace_seconds=0
    ),
    "27": LeftOver(
        (
            LeftOverJob("borrower", "q26-low", 1, pods=6, minimum=1, running=2),
            LeftOverJob("owner", "q26-high", 2, pods=4, minimum=4, running=4),
        ),
        gone_ms=4900,
        grace_seconds=2,
    ),
    "28": LeftOver(
        (
            LeftOverJob("borrower", "q27-low", 1, pods=6, minimum=6, running=2),
            LeftOverJob("owner", "q27-high", 2, pods=4, minimum=4, running=4),
        ),
        gone_ms=4900,
        grace_seconds=2,
    ),
}
