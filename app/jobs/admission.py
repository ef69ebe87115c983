"""Whether a job is admitted, from the facts that were read under its team's lock. No I/O."""

from uuid import UUID

from app.errors import JobNeverFits, NameInUse, QueueNotGranted, QueueNotOpen
from app.jobs import charges, placement
from app.jobs.acceptance import Facts
from app.jobs.schemas import JobCreate
from app.jobs.states import Desired
from app.teams import quota
from app.teams.quota import OnOverQuota, QuotaDecision, QuotaVerdict

_NOT_TAKING = frozenset({"Closed", "Closing"})
"""States of a Volcano queue that an operator wanted; a queue that is merely not there yet holds its jobs."""

_CANCEL_SECONDS = 5
"""After that a cancelled job has ended, unless its pods take long to stop."""


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
        raise QueueNotOpen(f"The queue {facts.queue} is {facts.queue_state} and takes no jobs.")
    return facts.queue


def decide(facts: Facts, spec: JobCreate) -> QuotaDecision:
    """The quota's decision, which is to accept: now, or on hold when the team wants that.

    Raises:
        NameInUse: a job of this name has not ended.
        JobNeverFits: the job is above a limit of the quota, or above what its queue may ever use.
        QuotaExceeded: it does not fit now, and the team wants such jobs refused.
    """
    if facts.live_id is not None:
        raise _name_in_use(facts.live_id, facts.live_desired)
    decision = quota.check(facts.quota, facts.used, charges.of_job(spec))
    if decision.verdict is QuotaVerdict.NEVER:
        raise decision.refusal()
    excess = placement.excess(spec, facts.capability)
    if excess is not None:
        raise JobNeverFits(excess.sentence, resource=excess.resource, limit=excess.limit, requested=excess.requested)
    if decision.verdict is QuotaVerdict.EXCEEDED and facts.quota.on_over_quota is OnOverQuota.REJECT:
        raise decision.refusal()
    return decision


def _name_in_use(job_id: UUID, desired: str | None) -> NameInUse:
    """The answer while another job has the name; one that is being cancelled gives it up by itself."""
    if desired == Desired.CANCEL:
        words = f"The job {job_id} of this name is being cancelled; try again when it has ended."
        return NameInUse(words, headers={"Retry-After": str(_CANCEL_SECONDS)}, job_id=str(job_id))
    words = f"The job {job_id} of this name has not ended yet; cancel it or choose another name."
    return NameInUse(words, job_id=str(job_id))
