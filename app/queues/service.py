"""Making and changing queues. The controller brings them into the cluster, from their rows."""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from app.auth.principal import Principal
from app.db import now
from app.errors import Invalid, NameInUse, NotFound, ValidationError
from app.queues import amounts, store
from app.queues.models import QueueRow
from app.queues.schemas import QueueCreate, QueuePatch
from app.validation import NULL_HAS_NO_MEANING, invalid

MAX_DEPTH = 5
"""Queues above each other, Volcano's root not counted; its webhook's `--max-queue-depth` (volcano-facts 3.2)."""

_MAPS = ("capability", "deserved", "guarantee")


async def create_queue(session: AsyncSession, wanted: QueueCreate) -> QueueRow:
    """Make a queue.

    Raises:
        NameInUse: there is a queue of this name.
        ValidationError: amounts do not go together, or the parent cannot be one.
    """
    given = wanted.model_dump()
    moment = now()
    row = QueueRow(**given | _checked_maps(given), created_at=moment, updated_at=moment)
    await _place(session, row)
    if not await store.insert_queue(session, row):
        raise NameInUse("Another queue has this name.")
    await store.notify(session, row.name)
    return row


async def get_queue(session: AsyncSession, caller: Principal, name: str) -> QueueRow:
    """Read a queue, or raise `NotFound`, also when it is not granted to the caller's team."""
    row = await store.find_queue(session, name, caller.team)
    if row is None:
        raise _no_queue()
    return row


async def change_queue(session: AsyncSession, name: str, wanted: QueuePatch) -> QueueRow:
    """Change what is wanted of a queue; what `wanted` leaves out stays.

    The generation goes up when something is different, and Volcano's earlier refusal is forgotten.

    Raises:
        NotFound: there is no such queue.
        ValidationError: amounts do not go together, or the parent cannot be one.
    """
    changes = _changes(wanted)
    if "parent" in changes:
        await store.lock_tree(session)
    row = await store.lock_queue(session, name)
    if row is None:
        raise _no_queue()
    before = row.model_dump()
    after = before | changes
    after |= _checked_maps(after)
    if after == before:
        return row
    changed = QueueRow(**after | {"generation": row.generation + 1, "problem": None, "updated_at": now()})
    if "parent" in changes:
        await _place(session, changed)
    await store.update_queue(session, changed)
    await store.notify(session, name)
    return changed


def _changes(wanted: QueuePatch) -> dict[str, Any]:
    changes = wanted.model_dump(exclude_unset=True)
    faults = [
        invalid((field,), NULL_HAS_NO_MEANING, "null")
        for field, value in changes.items()
        if value is None and field != "parent"
    ]
    if faults:
        raise ValidationError(faults)
    return changes


def _checked_maps(given: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    faults: list[Invalid] = []
    read = {field: amounts.read(field, given[field], faults) for field in _MAPS}
    faults.extend(amounts.faults_between(**read))
    if faults:
        raise ValidationError(faults)
    return {field: amounts.written(found) for field, found in read.items()}


async def _place(session: AsyncSession, row: QueueRow) -> None:
    """Check where the queue hangs in the tree. What its relatives' amounts allow is Volcano's to say (`problem`)."""
    if row.parent is None:
        return
    await store.lock_tree(session)
    fault = next(_faults_in_place(row.name, row.parent, await store.parents(session)), None)
    if fault is not None:
        raise ValidationError([fault])


def _faults_in_place(name: str, parent: str, parents: Mapping[str, str | None]) -> Iterator[Invalid]:
    if parent != name and parent not in parents:
        yield invalid(("parent",), "There is no such queue", "unknown-queue")
        return
    above = _chain(parent, {**parents, name: parent})
    if name in above:
        yield invalid(("parent",), "A queue cannot be below itself", "circle")
        return
    depth = len(above) + _height(name, parents)
    if depth > MAX_DEPTH:
        yield invalid(("parent",), f"This makes {depth} levels of queues; {MAX_DEPTH} is the limit", "too-deep")


def _chain(queue: str, parents: Mapping[str, str | None]) -> list[str]:
    """The queue and all that are above it; stops where it comes back to one that it has."""
    chain: list[str] = []
    at: str | None = queue
    while at is not None and at not in chain:
        chain.append(at)
        at = parents.get(at)
    return chain


def _height(queue: str, parents: Mapping[str, str | None]) -> int:
    """Levels from the queue down to the lowest below it; 1 when nothing is below."""
    return max(
        (_chain(other, parents).index(queue) + 1 for other in parents if queue in _chain(other, parents)), default=1
    )


def _no_queue() -> NotFound:
    return NotFound("There is no such queue, or it is not granted to the token's team.")
