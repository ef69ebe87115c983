"""HTTP routes about events: of a job and of a team, as pages and as streams."""

import re
from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Header, Query, Request, Response

from app.auth.access import Caller, StillValid
from app.auth.principal import Role
from app.db import reading
from app.dependencies import SessionMaker
from app.errors import InvalidCursor, NotFound, ValidationError
from app.jobs import store
from app.jobs.event_stream import EventStream, events
from app.jobs.event_types import EVENT_TYPES
from app.jobs.feed import BEGINNING, Position, position_of, read_after
from app.jobs.kept_events import Wanted
from app.jobs.live import LiveFeed
from app.jobs.states import TERMINAL, JobState
from app.jobs.views import EventRead, event_read
from app.paging import Page, Paged
from app.problems import responses
from app.validation import invalid

router = APIRouter(prefix="/v1")

_REACH_SECONDS = 1.0
"""How long a page waits for transactions that may still write an earlier event than those that can be seen."""

_WEIGHT = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")

_STREAM: dict[str, Any] = {
    "description": "A page; with `Accept: text/event-stream` a stream, see docs/events.md",
    "content": {
        "text/event-stream": {
            "schema": {
                "type": "string",
                "description": "Blocks of `id` (a position), `event` (a type), `data` (an EventRead)",
            }
        }
    },
    "headers": {"Vary": {"schema": {"type": "string"}, "description": "`Accept`"}},
}

LastEventId = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID",
        description="Of streams: the `id` that came last; the stream goes on right behind it. Wins over `after`",
    ),
]
After = Annotated[int | None, Query(ge=0, le=2**63 - 1, description="Only events with a larger id; 0 is everything")]


async def get_feed(request: Request) -> LiveFeed:
    """The process's one reader of new events."""
    feed: LiveFeed = request.app.state.feed
    return feed


Feed = Annotated[LiveFeed, Depends(get_feed)]


async def wanted_events(
    *,
    caller: Caller,
    team: Annotated[str | None, Query(description="One team's; members see their own team's in any case")] = None,
    job: Annotated[UUID | None, Query(description="One job's")] = None,
    type: Annotated[  # noqa: A002 - the name of the parameter
        list[str] | None, Query(description=f"Any of these: {', '.join(EVENT_TYPES)}")
    ] = None,
    state: Annotated[list[JobState] | None, Query(description="Events after which the job is in any of these")] = None,
) -> Wanted:
    """What a caller wants to see, within what the caller may see.

    Raises:
        NotFound: a member asked for another team's events.
        ValidationError: there is no such type of event.
    """
    if team is not None:
        caller.require_in(team, Role.VIEWER)
    if set(type or ()) - EVENT_TYPES.keys():
        raise ValidationError([invalid(("query", "type"), f"One of {', '.join(EVENT_TYPES)}", "unknown-event-type")])
    return Wanted(caller.team or team, job, frozenset(type or ()), frozenset(state or ()))


WantedEvents = Annotated[Wanted, Depends(wanted_events)]


@router.get(
    "/events", tags=["events"], response_model=Page[EventRead], responses={200: _STREAM, **responses(InvalidCursor)}
)
async def list_team_events(
    *,
    wanted: WantedEvents,
    page: Paged,
    feed: Feed,
    sessions: SessionMaker,
    still_valid: StillValid,
    request: Request,
    response: Response,
    after: After = None,
    last_event_id: LastEventId = None,
) -> Any:
    """What happened to a team's jobs, oldest first. A stream begins now, unless it is told where to begin.

    A page that is filtered by type or state may hold less than its limit, and nothing, while more pages follow.
    """
    if wants_stream(request):
        _refuse_pages(request)
        await feed.ready()
        position = await _start(feed, last_event_id, feed.position if after is None else after)
        return EventStream(events(feed, wanted, position, still_valid=still_valid))
    start = (after or BEGINNING) if page.after is None else position_of(page.after)
    until = await feed.horizon.reach(sessions, seconds=_REACH_SECONDS)
    async with reading(sessions) as session:
        rows, position = await read_after(session, start, until=until, limit=page.limit, **asdict(wanted))
    response.headers["Vary"] = "Accept"
    return page.part(response, [event_read(row) for row in rows], str(position) if position < until else None)


@router.get(
    "/jobs/{job_id}/events",
    tags=["jobs"],
    response_model=Page[EventRead],
    responses={
        200: _STREAM,
        204: {"description": "Of streams: the job has ended and nothing is behind the position; do not connect again"},
        **responses(InvalidCursor),
    },
)
async def list_events(
    *,
    job_id: UUID,
    caller: Caller,
    page: Paged,
    feed: Feed,
    sessions: SessionMaker,
    still_valid: StillValid,
    request: Request,
    response: Response,
    after: After = None,
    last_event_id: LastEventId = None,
) -> Any:
    """What happened to a job, oldest first. A stream ends by itself behind the event that ended the job."""
    streaming = wants_stream(request)
    start = (after or BEGINNING) if page.after is None else position_of(page.after)
    if streaming:
        _refuse_pages(request)
        await feed.ready()
        start = await _start(feed, last_event_id, start)
    async with reading(sessions) as session:
        job = await store.find(session, job_id, caller.team)
        if job is None:
            raise NotFound("There is no such job.")
        rows = await store.list_events(session, job_id, after=start, limit=page.limit + 1)
    if not streaming:
        shown = [event_read(row) for row in rows]
        response.headers["Vary"] = "Accept"
        return page.page(response, shown, [str(event.id) for event in shown])
    if job["state"] in TERMINAL and not rows:
        return Response(status_code=HTTPStatus.NO_CONTENT)
    stream = events(feed, Wanted(job_id=job_id), start, still_valid=still_valid, ends_with_job=True)
    return EventStream(stream)


async def _start(feed: LiveFeed, last_event_id: str | None, otherwise: Position) -> Position:
    """Where a stream begins.

    Raises:
        InvalidCursor: the id is none, or one that Postgres has not given out.
    """
    position = otherwise if last_event_id is None else position_of(last_event_id)
    if not await feed.gave_out(position):
        raise InvalidCursor("The position is behind the last event there is; start again without it.")
    return position


def wants_stream(request: Request) -> bool:
    """Whether `Accept` (RFC 9110, 12.5.1) names event streams, and JSON not before them."""
    weights: dict[str, float] = {}
    for part in ",".join(request.headers.getlist("accept")).split(","):
        kind, *parameters = (word.strip().lower() for word in part.split(";"))
        weight = next((word.removeprefix("q=") for word in parameters if word.startswith("q=")), "1")
        weights[kind] = float(weight) if _WEIGHT.fullmatch(weight) else 0.0
    return 0 < weights.get("text/event-stream", 0) >= weights.get("application/json", 0)


def _refuse_pages(request: Request) -> None:
    faults = [
        invalid(("query", name), "A stream has no pages; leave this out, or use `after`", "no-pages")
        for name in ("cursor", "limit")
        if name in request.query_params
    ]
    if faults:
        raise ValidationError(faults)
