"""Where an endpoint begins in the feed of events."""

from app.db import Sessions
from app.jobs.horizon import Horizon

_WAIT_SECONDS = 2.0


async def present_position(sessions: Sessions) -> int:
    """The id of the last event there is, once nothing before it can still appear.

    Raises:
        Unavailable: somebody who writes events does not end; what it writes would lie before the endpoint's beginning.
    """
    return await Horizon().reach(sessions, seconds=_WAIT_SECONDS)
