"""Commands are deleted before they are carried out, so that each is carried out at most once."""

import structlog

from app.simulator.kinds import COMMAND
from app.simulator.objects import ApiError, Object, Objects

log = structlog.get_logger(__name__)


async def take(objects: Objects, command: Object) -> bool:
    """Delete a Command.

    Returns:
        Whether it was there; one that is gone already is not carried out again.
    """
    metadata = command["metadata"]
    try:
        await objects.delete(COMMAND, metadata["namespace"], metadata["name"], uid=metadata.get("uid"))
    except ApiError as error:
        if error.code != 404:  # noqa: PLR2004 - HTTP's own number
            log.warning("A Command could not be deleted.", command=metadata["name"], code=error.code)
        return False
    return True
