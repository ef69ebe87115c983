"""Whether a job is admitted, from the facts that were read under its team's lock. No I/O."""

from app.errors import JobNeverFits, NameInUse, QueueNotGranted, QueueNotOpen
from app.jobs import charges, placement
from app.jobs.acceptance import Facts
from app.jobs.schemas import JobCreate
from app.teams import quota
from app.teams.quota import OnOverQuota, QuotaDecision, QuotaVerdict

_NOT_TAKING = frozenset({"Closed", "Closing"})
"""States of a Volcano queue that an operator wanted; a queue that is merely not there yet holds its jobs."""


def queue_for(facts: Facts) -> str:
    """The queue that the job goes to.

    Raises:
        QueueNotGranted: there is none, or the team may not use it.
        QueueNotOpen: it was closed.
    """
    if facts.queue is None:
        raise QueueNotGranted("The job names no queue, and the team has no default one.")
    if not facts.granted:
        raise QueueNotGranted("The team may not use this queue.")
    if facts.queue_state in _NOT_TAKING:
        raise QueueNotOpen(f"The queue is {facts.queue_state} and takes no jobs.")
    return facts.queue


def decide(facts: Facts, spec: JobCreate) -> QuotaDecision:
    """The quota's decision, which is to accept: now, or on hold when the team wants that.

    Raises:
        NameInUse: a job of this name has not ended.
        JobNeverFits: the job is above a limit of the quota, or above what its queue may ever use.
        QuotaExceeded: it does not fit now, and the team wants such jobs refused.
    """
    if facts.live_id is not None:
        raise NameInUse(
            f"The job {facts.live_id} of this name has not ended yet; cancel it or choose another name.",
            job_id=str(facts.live_id),
        )
    decision = quota.check(facts.quota, facts.used, charges.of_job(spec))
    if decision.verdict is QuotaVerdict.NEVER:
        raise decision.refusal()
    excess = placement.excess(spec, facts.capability)
    if excess is not None:
        raise JobNeverFits(excess.sentence, resource=excess.resource, limit=excess.limit, requested=excess.requested)
    if decision.verdict is QuotaVerdict.EXCEEDED and facts.quota.on_over_quota is OnOverQuota.REJECT:
        raise decision.refusal()
    return decision
