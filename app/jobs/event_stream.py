"""Server-sent events (WHATWG HTML, "Server-sent events") of jobs: how they are written, and how a stream goes on."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable

from fastapi.sse import EventSourceResponse, format_sse_event
from starlette.types import Message, Receive, Scope, Send

from app import telemetry
from app.jobs.feed import Position
from app.jobs.kept_events import Wanted
from app.jobs.live import LiveFeed
from app.jobs.states import TERMINAL
from app.jobs.store import Row
from app.jobs.views import event_read

HEARTBEAT_SECONDS = 10.0
"""A line at least so often, so that proxies and clients know the connection alive; and the token is looked at again."""

SEND_SECONDS = 20.0
"""A reader that takes nothing for so long is cut. It loses nothing: it resumes."""

_RETRY_MILLISECONDS = (1000, 4000)
"""When to connect again. Not all at the same moment, after a restart of ours."""

_log = telemetry.get_logger(__name__)


def encode(row: Row) -> bytes:
    """One event: `id` is its position, `event` its type, `data` the same JSON as on a page."""
    return format_sse_event(data_str=event_read(row).model_dump_json(), event=row["type"], id=str(row["id"]))


async def events(
    feed: LiveFeed,
    wanted: Wanted,
    position: Position,
    *,
    still_valid: Callable[[], Awaitable[bool]],
    ends_with_job: bool = False,
) -> AsyncGenerator[bytes, None]:
    """What a stream sends from a position on.

    It ends when the feed does, when the token is not valid any more, and with `ends_with_job` behind the event that
    ended the job. Quiet streams tell their position too, so that a client that was cut before its first event, or long
    after its last, goes on where it was.
    """
    with feed.following():
        yield format_sse_event(comment="pumice", id=str(position), retry=random.randint(*_RETRY_MILLISECONDS))
        checked = spoke = time.monotonic()
        while True:
            part = await feed.next(wanted, position, seconds=HEARTBEAT_SECONDS)
            moment = time.monotonic()
            if moment - checked >= HEARTBEAT_SECONDS:
                checked = moment
                if not await still_valid():
                    return
            if part is None:
                return
            position = part.position
            if part.entries:
                spoke = moment
                yield b"".join([entry.encoded for entry in part.entries])
            elif moment - spoke >= HEARTBEAT_SECONDS:
                spoke = moment
                yield format_sse_event(comment="still here", id=str(position))
            if ends_with_job and part.entries and part.entries[-1].row["state"] in TERMINAL:
                return


class EventStream(EventSourceResponse):
    """The answer that sends them. Ends with its reader, and cuts one that takes nothing."""

    def __init__(self, stream: AsyncGenerator[bytes, None]) -> None:
        # X-Accel-Buffering: nginx would else wait for a whole buffer
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "Vary": "Accept"}
        super().__init__(stream, headers=headers)
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the stream or its reader ends."""

        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(SEND_SECONDS):
                await send(message)

        try:
            await super().__call__(scope, receive, send_in_time)
        except TimeoutError:
            telemetry.EVENT_STREAMS_CUT.inc()
            _log.info("event_stream_cut")
        finally:
            await self._stream.aclose()  # now, and not when the garbage is collected: it counts as a follower
