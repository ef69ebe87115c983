"""Where an endpoint begins in the feed of events."""

from app.db import Sessions
from app.jobs.horizon import Horizon

_WAIT_SECONDS = 2.0


async def present_position(sessions: Sessions) -> int:
    """The id of the last event there is, once nothing before it can still appear.

    A transaction that stays open longer than we wait may write events with smaller ids; its are then not sent.
    """
    horizon = Horizon()
    return await horizon.reach(sessions, seconds=_WAIT_SECONDS) or horizon.last
