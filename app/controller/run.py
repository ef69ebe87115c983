"""The controller as a whole: stand by, lead, stand by again, until it is told to stop."""

import asyncio
import random
from contextlib import suppress

from sqlalchemy.ext.asyncio import AsyncEngine

from app.cluster.client import ClusterClient
from app.controller import leader
from app.controller.installation import installation_id
from app.controller.leader import LeadershipLost, Lease
from app.controller.term import Term
from app.controller.together import run_together
from app.db import Sessions, is_away, new_id
from app.settings import Settings
from app.telemetry import LEADING, get_logger

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 15.0
_RELEASE_SECONDS = 2.0
_MOST_DOUBLINGS = 10
_STANDBY_LOOKS_A_LEASE = 5
_log = get_logger(__name__)


async def run_controller(
    settings: Settings,
    sessions: Sessions,
    engine: AsyncEngine,
    cluster: ClusterClient,
    *,
    stop: asyncio.Event | None = None,
) -> None:
    """Work for ever; several processes may, one of them leads.

    While Postgres or the cluster is away this waits, with pauses that grow, and nothing is marked failed or lost. An
    error that is nobody's absence ends the term, is logged, and a new term begins.

    Args:
        settings: durations, window and concurrency.
        sessions: to Postgres.
        engine: the same database, for a connection that listens.
        cluster: the API server.
        stop: ends it: leadership is given up at once, so that another process need not wait.
    """
    stopping = stop or asyncio.Event()
    controller = _Controller(settings, sessions, engine, cluster)
    failures = 0
    while not stopping.is_set():
        try:
            await controller.serve_a_term(stopping)
            failures = 0
        except LeadershipLost:
            _log.warning("leadership_lost")
            failures = 0
        except Exception as error:  # noqa: BLE001 - the controller must outlive every error; the next term heals
            failures += 1
            _report(error, failures)
        await _pause(stopping, _back_off(failures))


class _Controller:
    def __init__(self, settings: Settings, sessions: Sessions, engine: AsyncEngine, cluster: ClusterClient) -> None:
        self._settings = settings
        self._sessions = sessions
        self._engine = engine
        self._cluster = cluster
        self._holder = new_id()

    async def serve_a_term(self, stopping: asyncio.Event) -> None:
        """Wait until this process leads, lead, and give the lease back at the end unless it is lost."""
        lease = await self._stand_by(stopping)
        if lease is None:
            return
        LEADING.set(1)
        try:
            installation = await installation_id(self._sessions)
            _log.info("leading", epoch=lease.epoch)
            term = Term(self._settings, self._sessions, self._cluster, lease, installation)
            await run_together(term.run(self._engine), _until(stopping))
        except Exception as error:
            if not isinstance(error, LeadershipLost):
                await _give_back(self._sessions, lease)
            raise
        finally:
            LEADING.set(0)
        await _give_back(self._sessions, lease)

    async def _stand_by(self, stopping: asyncio.Event) -> Lease | None:
        """Ask for the lease until it is free; None when told to stop."""
        seconds = self._settings.leader_lease_seconds
        while not stopping.is_set():
            lease = await leader.acquire(self._sessions, self._holder, seconds)
            if lease is not None:
                return lease
            await _pause(stopping, seconds / _STANDBY_LOOKS_A_LEASE * random.uniform(0.5, 1.0))
        return None


async def _until(stopping: asyncio.Event) -> None:
    await stopping.wait()


async def _give_back(sessions: Sessions, lease: Lease) -> None:
    """Let another process lead at once; if Postgres is away, the lease runs out by itself."""
    try:
        async with asyncio.timeout(_RELEASE_SECONDS):
            await leader.release(sessions, lease)
    except Exception as error:
        if not is_away(error):
            raise
        _log.info("lease_not_released")


async def _pause(stopping: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stopping.wait()


def _back_off(failures: int) -> float:
    doublings = min(max(failures - 1, 0), _MOST_DOUBLINGS)
    step = min(_FIRST_PAUSE_SECONDS * float(2**doublings), _LONGEST_PAUSE_SECONDS)
    return step * random.uniform(0.5, 1.0)


def _report(error: Exception, failures: int) -> None:
    """Log an absence once, and every other error with where it came from."""
    if not is_away(error):
        _log.error("term_failed", exc_info=error)
    elif failures == 1:
        _log.warning("database_away", error=type(error).__name__)
