"""Reading what containers print: `pods/<name>/log` of the API server, which hands over what the node's kubelet has.

Names of pods return with each run of a Job, and a log is asked for by name. So the uid is compared after the answer has
begun: a pod that still has it then had it when the log was opened.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

import aiohttp

from app.cluster.client import ClusterClient, Object, Query
from app.cluster.containers import Container, LogOptions, PodReference, containers_of
from app.cluster.errors import NOT_FOUND, ContainerWaits, NotFound, PodGone, Rejected, edge_errors
from app.cluster.kinds import POD

_READ_SECONDS = 10.0
_CONNECT_SECONDS = 5.0
_SILENCE_SECONDS = 30.0
_FOLLOWED_SILENCE_SECONDS = 300.0
"""A connection may die without a word; whoever follows opens the log again where it stopped."""

_CHUNK_BYTES = 2**16
_WAITS = ("is waiting to start", "is not available")


class PodLogs:
    """Logs of pods over one client. Every method raises the errors of `app.cluster.errors`; none repeats a call."""

    def __init__(self, client: ClusterClient) -> None:
        self._client = client

    async def containers(self, pod: PodReference) -> tuple[Container, ...]:
        """The pod's containers as they are now.

        Raises:
            PodGone: no pod of that uid is there.
        """
        return containers_of(await self._get(pod))

    @asynccontextmanager
    async def open(self, pod: PodReference, options: LogOptions) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a log; each line of it begins with its time and a space.

        A kubelet sends nothing at all before the first line, so with `follow` this may take as long as that.

        Yields:
            The log in pieces of at most 64 KiB, which end anywhere. Reading them raises `ClusterUnavailable` when the
            connection breaks or is silent for too long.

        Raises:
            PodGone: no pod of that uid is there.
            ContainerWaits: it has not started yet.
        """
        silence = _FOLLOWED_SILENCE_SECONDS if options.follow else _SILENCE_SECONDS
        opened = self._client.stream(
            f"{POD.object_path(pod.namespace, pod.name)}/log",
            _query(options),
            connect_seconds=_CONNECT_SECONDS,
            sock_read_seconds=silence,
        )
        async with AsyncExitStack() as stack:
            with _log_errors():
                content = await stack.enter_async_context(opened)
            await self._get(pod)
            yield _pieces(content)

    async def _get(self, pod: PodReference) -> Object:
        path = POD.object_path(pod.namespace, pod.name)
        try:
            found = await self._client.request("GET", path, timeout_seconds=_READ_SECONDS)
        except NotFound as error:
            if error.reason != NOT_FOUND:
                raise  # a proxy's page says nothing of the pod
            raise PodGone("The pod is not there any more.", status=error.status, reason=error.reason) from error
        if (found.get("metadata") or {}).get("uid") != pod.uid:
            raise PodGone("Another pod has its name now.")
        return found


@contextmanager
def _log_errors() -> Iterator[None]:
    """Tell the refusals that say something of the pod from the others."""
    try:
        yield
    except NotFound as error:
        raise PodGone("The pod is not there any more.", status=error.status, reason=error.reason) from error
    except Rejected as error:
        if any(words in error.message for words in _WAITS):
            raise ContainerWaits(error.message, status=error.status, reason=error.reason) from error
        raise


def _query(options: LogOptions) -> Query:
    return {
        "container": options.container,
        "timestamps": "true",
        "follow": "true" if options.follow else None,
        "previous": "true" if options.previous else None,
        "tailLines": options.tail,
        "sinceTime": None if options.since is None else options.since.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


async def _pieces(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    while True:
        with edge_errors():
            piece = await content.read(_CHUNK_BYTES)
        if not piece:
            return
        yield piece
