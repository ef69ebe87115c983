"""Logs over HTTP: an answer that opens what it shows, writes as fast as it is read, and ends with its reader."""

import asyncio
from contextlib import AbstractAsyncContextManager

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from app.logs.service import Body

MEDIA_TYPE = "text/plain; charset=utf-8"


class LogAnswer(StreamingResponse):
    """Streams a body that is opened when the answer begins.

    Starlette's own way learns that the reader has gone when it next sends, which a silent log may never do. Here the
    reader's going is waited for, and closes everything behind the answer. A problem in opening is told as such.
    """

    def __init__(self, opened: AbstractAsyncContextManager[Body], closing: asyncio.Event) -> None:
        """`closing` ends it before its end, which its reader is told by a connection that breaks."""
        super().__init__((), media_type=MEDIA_TYPE)
        self._opened = opened
        self._closing = closing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        answering = asyncio.create_task(self._answer(send))
        ends = [asyncio.create_task(_until_gone(receive)), asyncio.create_task(self._closing.wait())]
        try:
            await asyncio.wait([answering, *ends], return_when=asyncio.FIRST_COMPLETED)
        finally:
            finished = answering.done()
            for task in (answering, *ends):
                task.cancel()
            await asyncio.gather(answering, *ends, return_exceptions=True)
        if finished:
            answering.result()

    async def _answer(self, send: Send) -> None:
        async with self._opened as body:
            self.headers.update({"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", **body.headers})
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            # headers go out with the first bytes; whoever follows a silent log should see at once that it is there
            await send({"type": "http.response.body", "body": b"", "more_body": True})

            async def write(text: bytes) -> None:
                await send({"type": "http.response.body", "body": text, "more_body": True})

            await body.write_to(write)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
