"""Knowing what is in the cluster: a list, then a watch, for ever, for one kind of object.

`informer_step.step` decides, this module does what it says. What is kept of each object is what the given `project`
function makes of it; the raw object is dropped at once, since a Job of 1.4 MiB is legal and there may be thousands.
A change is a hint that says "look again": the callback gets the key, the old and the new projection.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Generic, Protocol, TypeVar

import structlog

from app.cluster.cache import Cache, IndexBy, key_of
from app.cluster.errors import ClusterError, RightMissing
from app.cluster.informer_settings import InformerMetrics, InformerSettings, Timing
from app.cluster.informer_step import (
    Apply,
    Effect,
    Ended,
    Event,
    Failed,
    Listed,
    Opened,
    Outdated,
    Phase,
    Remove,
    Skip,
    State,
    Streamed,
    Wait,
    step,
)
from app.cluster.kinds import WatchedKind
from app.cluster.volcano import Page
from app.cluster.watching import WatchEvent

_log = structlog.get_logger(__name__)

ObservedT = TypeVar("ObservedT")

OnChange = Callable[[str, ObservedT | None, ObservedT | None], None]
"""Called with (key, old, new); old is None for an object that appeared, new for one that vanished."""


class Source(Protocol):
    """Where lists and watches come from; `Volcano` is one."""

    async def list_page(self, kind: WatchedKind, *, limit: int = 500, continue_token: str = "") -> Page:
        """Read one page; raises `ClusterError`."""
        ...

    def open_watch(
        self,
        kind: WatchedKind,
        resource_version: str,
        *,
        timeout_seconds: int,
        sock_read_seconds: float,
        connect_seconds: float = 5.0,
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """Open a watch; raises `ClusterError`, as reading the events does."""
        ...


class Informer(Generic[ObservedT]):
    """What is known about the objects of one kind.

    Attributes:
        kind: what is watched.
        synced: set after the first complete list. Before it nothing may be concluded from an absence.
        last_contact_at: when the server last said anything, on the monotonic clock; None before the first time.
    """

    def __init__(
        self,
        source: Source,
        kind: WatchedKind,
        project: Callable[[Mapping[str, Any]], ObservedT | None],
        *,
        on_change: OnChange[ObservedT] | None = None,
        index_by: IndexBy[ObservedT] | None = None,
        metrics: InformerMetrics | None = None,
        settings: InformerSettings | None = None,
        timing: Timing | None = None,
    ) -> None:
        self.kind = kind
        self.synced = asyncio.Event()
        self.last_contact_at: float | None = None
        self._source = source
        self._project = project
        self._on_change = on_change
        self._metrics = metrics or InformerMetrics()
        self._settings = settings or InformerSettings()
        self._timing = timing or Timing()
        self._cache: Cache[ObservedT] = Cache(index_by)
        self._stack = AsyncExitStack()
        self._events: AsyncIterator[WatchEvent] | None = None
        self._opened_at = 0.0
        self._listed_at = 0.0

    @property
    def cache(self) -> Mapping[str, ObservedT]:
        """All objects by key (`namespace/name`, or `name` for cluster-wide ones)."""
        return self._cache.objects

    def get(self, key: str) -> ObservedT | None:
        """Return the object of a key, as far as is known."""
        return self._cache.get(key)

    def indexed(self, value: Hashable) -> tuple[ObservedT, ...]:
        """Return the objects that `index_by` files under a value, for example the pods of a job id."""
        return self._cache.indexed(value)

    async def run(self) -> None:
        """List and watch until cancelled; no error of the cluster ends it."""
        state = State()
        try:
            while True:
                # A call of its own, so that no raw object is held while waiting for the next.
                state = await self._advance(state)
        finally:
            await self._close_watch()

    async def _advance(self, state: State) -> State:
        state, effects = step(state, await self._next(state))
        if state.phase is not Phase.WATCHING:
            await self._close_watch()
        for effect in effects:
            await self._carry_out(effect)
        return state

    async def _next(self, state: State) -> Event:
        """Do what the state asks for and tell what came of it."""
        try:
            if state.phase is Phase.EMPTY:
                return await self._list()
            if state.phase is Phase.LISTED:
                return await self._open_watch(state.version)
            return await self._read_event()
        except ClusterError as error:
            self._note_failure(error)
            return Failed(error, self._lasted_seconds() if state.phase is Phase.WATCHING else 0.0)

    async def _list(self) -> Listed:
        fresh: dict[str, ObservedT] = {}
        self._listed_at = self._timing.monotonic()
        version = await self._list_into(fresh)
        self._touch()
        differences = self._cache.replace(fresh)
        self.synced.set()
        self._metrics.listed(self.kind.name, len(fresh))
        for key, old, new in differences:
            self._tell(key, old, new)
        return Listed(version)

    async def _list_into(self, fresh: dict[str, ObservedT]) -> str:
        """Read all pages and return the version of the list; a page is dropped before the next is asked for."""
        token = ""
        while True:
            page = await self._source.list_page(self.kind, limit=self._settings.page_size, continue_token=token)
            self._project_into(fresh, page.items)
            token, version = page.continue_token, page.resource_version
            del page
            if not token:
                return version

    async def _open_watch(self, version: str) -> Opened | Outdated:
        settings = self._settings
        if self._timing.monotonic() - self._listed_at >= settings.relist_seconds:
            return Outdated()
        await self._close_watch()
        watch = self._source.open_watch(
            self.kind,
            version,
            timeout_seconds=max(1, round(self._timing.uniform(0.9, 1.0) * settings.watch_seconds)),
            sock_read_seconds=settings.inactivity_seconds,
            connect_seconds=settings.connect_seconds,
        )
        self._events = await self._stack.enter_async_context(watch)
        self._opened_at = self._timing.monotonic()
        self._touch()
        return Opened()

    async def _read_event(self) -> Streamed | Ended:
        assert self._events is not None  # noqa: S101 - WATCHING is entered only through _open_watch
        event = await anext(self._events, None)
        self._touch()
        if event is None:
            return Ended(self._lasted_seconds())
        self._metrics.event(self.kind.name)
        return Streamed(event.type, event.object, self._lasted_seconds())

    async def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Apply(obj):
                self._apply(obj)
            case Remove(obj):
                self._remove(obj)
            case Skip(reason):
                self._metrics.skipped(self.kind.name, reason)
            case Wait(at_least, up_to):
                await self._timing.sleep(at_least + self._timing.uniform(0.0, up_to))

    def _apply(self, obj: Mapping[str, Any]) -> None:
        key, new = self._key(obj), self._projected(obj)
        if key is None or new is None:
            self._metrics.skipped(self.kind.name, "strange_object")
            return
        old = self._cache.put(key, new)
        if old != new:
            self._tell(key, old, new)

    def _remove(self, obj: Mapping[str, Any]) -> None:
        key = self._key(obj)
        old = None if key is None else self._cache.pop(key)
        if key is not None and old is not None:
            self._tell(key, old, None)

    def _project_into(self, fresh: dict[str, ObservedT], items: list[dict[str, Any]]) -> None:
        for obj in items:
            key, new = self._key(obj), self._projected(obj)
            if key is None or new is None:
                self._metrics.skipped(self.kind.name, "strange_object")
            else:
                fresh[key] = new

    def _projected(self, obj: Any) -> ObservedT | None:
        try:
            return self._project(obj)
        except Exception as error:  # noqa: BLE001 - one strange object must not stop what is known about all others
            _log.warning("object_not_understood", kind=self.kind.name, error=type(error).__name__)
            return None

    def _key(self, obj: Any) -> str | None:
        metadata = obj.get("metadata") if isinstance(obj, Mapping) else None
        name = metadata.get("name") if isinstance(metadata, Mapping) else None
        if not isinstance(name, str) or not name or not isinstance(metadata, Mapping):
            return None
        namespace = metadata.get("namespace")
        return key_of(namespace if isinstance(namespace, str) else None, name)

    def _tell(self, key: str, old: ObservedT | None, new: ObservedT | None) -> None:
        if self._on_change is not None:
            self._on_change(key, old, new)

    def _note_failure(self, error: ClusterError) -> None:
        self._metrics.failed(self.kind.name, type(error).__name__)
        if isinstance(error, RightMissing):
            return  # the client's `rights` say it once, and not at each try
        _log.warning("watch_failed", kind=self.kind.name, error=type(error).__name__, message=error.message)

    def _touch(self) -> None:
        self.last_contact_at = self._timing.monotonic()

    def _lasted_seconds(self) -> float:
        return self._timing.monotonic() - self._opened_at

    async def _close_watch(self) -> None:
        self._events = None
        await self._stack.aclose()
