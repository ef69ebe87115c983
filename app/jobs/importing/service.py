"""Accepting imported documents: each goes the way of a submission, several the way of a bulk submission."""

import asyncio
from dataclasses import dataclass

from app import telemetry
from app.db import Sessions, away_as_unavailable
from app.errors import AppError, NotFound
from app.jobs import bulk, service
from app.jobs.bulk import Outcome
from app.jobs.bulk_schemas import BulkJob
from app.jobs.importing.context import Context
from app.jobs.importing.documents import read_documents
from app.jobs.importing.translation import Imported, Refused, translate
from app.jobs.schemas import JobCreate
from app.jobs.service import Accepted, Submission
from app.settings import Settings
from app.teams import store


@dataclass(frozen=True, slots=True)
class Sent:
    """What a caller sent."""

    body: bytes
    content_type: str
    idempotency_key: str | None


async def import_jobs(
    sessions: Sessions, settings: Settings, team: str, submitted_by: str, sent: Sent
) -> Accepted | list[Outcome]:
    """Accept the jobs of a body that holds Volcano Jobs.

    Returns:
        for one document what its submission gives; for a list, or several documents, what a bulk submission gives.

    Raises:
        AppError: the body cannot be read, or its one document is refused; see `service.submit`.
        NotFound: there is no such team.
    """
    context = await _context(sessions, settings, team)
    # a body of a megabyte takes half a second to read, which nobody else has to wait for
    read, several = await asyncio.to_thread(_read, sent, context)
    if several:
        jobs = [_item(index, each, sent.idempotency_key) for index, each in enumerate(read)]
        return await bulk.submit_many(sessions, settings, team, submitted_by, jobs)
    (only,) = read
    if isinstance(only, Refused):
        error = only.error()
        telemetry.REFUSED.labels(error.type).inc()
        raise error
    return await service.submit(sessions, settings, Submission(team, only.spec, sent.idempotency_key, submitted_by))


def _item(index: int, read: Imported | Refused, key: str | None) -> BulkJob | AppError:
    """A document as an item of a bulk submission; the request's key gives each of them one of its own."""
    if isinstance(read, Refused):
        return read.error()
    fields = {name: getattr(read.spec, name) for name in JobCreate.model_fields}
    return BulkJob.model_construct(**fields, idempotency_key=None if key is None else f"{key}/{index}")


def _read(sent: Sent, context: Context) -> tuple[list[Imported | Refused], bool]:
    documents = read_documents(sent.body, sent.content_type)
    return [translate(document, context) for document in documents.found], documents.several


async def _context(sessions: Sessions, settings: Settings, team: str) -> Context:
    with away_as_unavailable():
        async with sessions() as session:
            found = await store.find_team(session, team)
    if found is None:
        raise NotFound("There is no such team.")
    return Context(
        namespace=found.namespace,
        priorities=settings.priorities,
        default_priority=settings.default_priority,
        ttl_seconds=settings.job_ttl_seconds,
    )
