"""Installing the CustomResourceDefinitions of Volcano's kinds where they are missing."""

import asyncio

from app.simulator.crds import custom_resource_definitions
from app.simulator.objects import ApiError, Object, Objects
from app.simulator.remote.kinds import CUSTOM_RESOURCE_DEFINITION

_POLL_SECONDS = 0.1


async def install_missing(objects: Objects) -> list[str]:
    """Create the definitions that are missing, and wait until all are served. Those of others are left as they are.

    Returns:
        The names of those that were created.

    Raises:
        ApiError: one could not be created or read.
    """
    created = [
        definition["metadata"]["name"]
        for definition in custom_resource_definitions()
        if await _created(objects, definition)
    ]
    for definition in custom_resource_definitions():
        name = definition["metadata"]["name"]
        while not _is_established(await objects.get(CUSTOM_RESOURCE_DEFINITION, None, name)):  # noqa: ASYNC110 - remote
            await asyncio.sleep(_POLL_SECONDS)
    return created


async def _created(objects: Objects, definition: Object) -> bool:
    try:
        await objects.create(CUSTOM_RESOURCE_DEFINITION, definition)
    except ApiError as refusal:
        if refusal.reason != "AlreadyExists":
            raise
        return False
    return True


def _is_established(definition: Object) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions)
