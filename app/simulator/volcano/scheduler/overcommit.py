"""The overcommit plugin (Volcano v1.15.1, `plugins/overcommit`; volcano-facts 5.4)."""

from collections.abc import Iterable

from app.simulator.volcano.scheduler.model import Job
from app.simulator.volcano.scheduler.proportion import running_reservation, without_gated
from app.simulator.volcano.scheduler.resources import Resources, add, scaled, short_of


class Overcommit:
    """Lets jobs in while what they ask for stays below `factor` times the cluster, 1.2 by default."""

    def __init__(self, total: Resources, used: Resources, jobs: Iterable[Job], factor: float) -> None:
        self._idle = scaled(total, factor)
        add(self._idle, used, -1.0)
        self._inqueue: Resources = {}
        for job in jobs:
            if job.phase == "Inqueue":
                self.enqueued(job)
            else:
                add(self._inqueue, running_reservation(job))

    def short_for_enqueue(self, minimum: Resources) -> list[str]:
        """The resources of `minimum` for which there is no room; empty when the job may be enqueued."""
        wanted = {name: amount + self._inqueue.get(name, 0.0) for name, amount in minimum.items()}
        return short_of(wanted, self._idle, minimum)

    def enqueued(self, job: Job) -> None:
        """Reserve what an accepted job asks for, but for what its gated pods ask for."""
        add(self._inqueue, without_gated(job, job.facts.min_resources or {}))
