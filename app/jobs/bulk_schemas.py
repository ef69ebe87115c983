"""The body and the answer of a bulk submission: up to 1,000 jobs, and for each what became of it."""

from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

import pydantic
from pydantic import Field, ValidatorFunctionWrapHandler, WrapValidator

from app.errors import Invalid
from app.jobs.fields import KEY_LENGTH, KEY_PATTERN
from app.jobs.schemas import Body, JobCreate
from app.problems import Problem
from app.schema_base import ResponseBody
from app.validation import fault_of

MAXIMUM_JOBS = 1_000


class BulkJob(JobCreate):
    """A job among others, with the key that a single submission has in its header."""

    idempotency_key: str | None = Field(
        default=None,
        min_length=1,
        max_length=KEY_LENGTH,
        pattern=KEY_PATTERN,
        description="As the header `Idempotency-Key` of a single submission; visible ASCII",
    )


@dataclass(frozen=True, slots=True)
class Malformed:
    """An item that is no job: its faults, with pointers from the item on."""

    faults: tuple[Invalid, ...]


def _one_by_one(value: Any, handler: ValidatorFunctionWrapHandler) -> BulkJob | Malformed:
    """Let one wrong item be one refusal, and not that of the whole body."""
    try:
        job: BulkJob = handler(value)
    except pydantic.ValidationError as error:
        return Malformed(tuple(fault_of(fault) for fault in error.errors(include_url=False, include_input=False)))
    return job


class BulkCreate(Body):
    """Jobs of one team, in the order in which they are decided."""

    jobs: Annotated[list[Annotated[BulkJob, WrapValidator(_one_by_one)]], Field(min_length=1, max_length=MAXIMUM_JOBS)]


class BulkItemRead(ResponseBody):
    """What became of one item. `status` is what a single submission would have been answered with."""

    index: int = Field(description="Place in the request, from 0")
    status: int = Field(description="201 accepted, 200 the job that an earlier request made, else the refusal's")
    id: UUID | None
    name: str | None
    state: str | None
    reason: str | None
    message: str | None
    problem: Problem | None = Field(description="The refusal; pointers begin at the item")


class BulkRead(ResponseBody):
    """Every item's outcome, in the order of the request."""

    accepted: int
    replayed: int
    refused: int
    items: list[BulkItemRead]
