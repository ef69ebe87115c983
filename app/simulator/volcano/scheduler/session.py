"""One scheduling session: open the books, run the actions, say what shall change (volcano-facts 5.2)."""

import random
import uuid
from collections.abc import Callable

from app.simulator.volcano.scheduler.allocate import allocate
from app.simulator.volcano.scheduler.backfill import backfill
from app.simulator.volcano.scheduler.closing import allocated_by_queue, close_job
from app.simulator.volcano.scheduler.enqueue import enqueue
from app.simulator.volcano.scheduler.opening import open_session
from app.simulator.volcano.scheduler.policy import DEFAULT_POLICY, Policy
from app.simulator.volcano.scheduler.preempt import preempt
from app.simulator.volcano.scheduler.reclaim import reclaim
from app.simulator.volcano.scheduler.results import SessionResult
from app.simulator.volcano.scheduler.snapshot import Snapshot
from app.simulator.volcano.scheduler.state import Session

Action = Callable[[Session], None]

ACTIONS: dict[str, Action] = {
    "enqueue": enqueue,
    "allocate": allocate,
    "preempt": preempt,
    "reclaim": reclaim,
    "backfill": backfill,
}


def run_session(snapshot: Snapshot, rng: random.Random, now: str, policy: Policy = DEFAULT_POLICY) -> SessionResult:
    """Run one session over a snapshot, which is not changed.

    Args:
        snapshot: the cluster as the session sees it.
        rng: draws the node among equal ones and the session's id.
        now: the stamp of the conditions, RFC 3339 in whole seconds.
        policy: the scheduler's configuration; by default the one of Volcano's Helm chart.

    Returns:
        What shall be written. Nothing is carried over to the next session but what the snapshot shows.
    """
    session = open_session(snapshot, rng, policy)
    for name in policy.actions:
        if name in ACTIONS:
            ACTIONS[name](session)
    transition = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    return SessionResult(
        binds=tuple(session.binds),
        evictions=tuple(session.evictions),
        jobs=tuple(close_job(session, job, transition, now) for job in session.jobs),
        allocated=allocated_by_queue(session),
        events=tuple(session.events),
    )
