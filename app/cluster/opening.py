"""The API's own way to the cluster, for logs alone: opened at the first request that needs it, and not before."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from app.cluster.client import ClusterSettings, open_client
from app.cluster.containers import Container, LogOptions, PodReference
from app.cluster.errors import ClusterNotConfigured
from app.cluster.pod_logs import PodLogs

_OTHER_CONNECTIONS = 20
"""For the calls that look at pods."""


class LazyPodLogs:
    """`PodLogs` of a cluster that need not be there, nor even be named, when the process starts.

    Its connections are its own, so that readers of logs never take those with which the controller works.
    """

    def __init__(self, settings: ClusterSettings | None) -> None:
        self._settings = settings
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._logs: PodLogs | None = None

    async def containers(self, pod: PodReference) -> tuple[Container, ...]:
        """See `PodLogs`.

        Raises:
            ClusterNotConfigured: nothing names a cluster, or its credentials cannot be read; also of `open`.
        """
        return await (await self._opened()).containers(pod)

    @asynccontextmanager
    async def open(self, pod: PodReference, options: LogOptions) -> AsyncIterator[AsyncIterator[bytes]]:
        """See `PodLogs`."""
        async with (await self._opened()).open(pod, options) as pieces:
            yield pieces

    async def close(self) -> None:
        """Close the connections."""
        await self._stack.aclose()

    async def _opened(self) -> PodLogs:
        async with self._opening:
            if self._logs is None:
                if self._settings is None:
                    raise ClusterNotConfigured("No cluster is named.")
                self._logs = PodLogs(await self._stack.enter_async_context(open_client(self._settings)))
            return self._logs


@asynccontextmanager
async def lazy_pod_logs(settings: ClusterSettings | None, *, streams: int) -> AsyncIterator[LazyPodLogs]:
    """The logs of a cluster, so many at a time; what was opened is closed at the end."""
    logs = LazyPodLogs(None if settings is None else replace(settings, pool_size=streams + _OTHER_CONNECTIONS))
    try:
        yield logs
    finally:
        await logs.close()
