"""Faults that tests switch on: wrong answers, lost answers, delays, broken watches, an API server that is away."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from app.simulator.access.tokens import Tokens
from app.simulator.history import encode
from app.simulator.kinds import Kind
from app.simulator.objects import ApiError
from app.simulator.rest.pages import Pages
from app.simulator.rest.paths import Target
from app.simulator.rest.pod_logs import PodLogs
from app.simulator.rest.watching import Stream, Streams, too_old_line
from app.simulator.store import Store

Effect = Literal["answer", "drop_answer", "delay_before", "delay_after"]
EVICTION_SECONDS = 300.0
"""How long Kubernetes leaves pods on a lost node: the toleration that every pod gets."""
EFFECTS: tuple[Effect, ...] = ("answer", "drop_answer", "delay_before", "delay_after")


@dataclass(slots=True)
class Fault:
    """What happens to the next `count` requests that match; None matches everything.

    `answer` refuses with `status`, `reason`, `message` (and `Retry-After`) instead of doing it. `drop_answer` does it
    and then breaks the connection. `delay_before` and `delay_after` wait `seconds` (real ones) before doing it, or
    between doing and answering.
    """

    effect: Effect
    method: str | None = None
    plural: str | None = None
    namespace: str | None = None
    name: str | None = None
    subresource: str | None = None
    count: int = 1
    status: int = 503
    reason: str = "ServiceUnavailable"
    message: str = "simulated fault"
    retry_after_seconds: int | None = None
    seconds: float = 0.0
    identifier: int = field(default=0)

    def matches(self, method: str, target: Target) -> bool:
        """Whether a request is meant."""
        return all(
            wanted is None or wanted == given
            for wanted, given in (
                (self.method, method),
                (self.plural, target.kind.plural),
                (self.namespace, target.namespace),
                (self.name, target.name),
                (self.subresource, target.subresource),
            )
        )

    def refusal(self) -> ApiError:
        """The answer of the effect `answer`."""
        details = {"retryAfterSeconds": self.retry_after_seconds} if self.retry_after_seconds is not None else None
        return ApiError(self.status, self.reason, self.message, details)


class NodeSwitch(Protocol):
    """What can take a node away and bring it back."""

    async def lose(self, name: str, evict_after_seconds: float = EVICTION_SECONDS) -> None:
        """Let it fall silent."""
        ...

    async def restore(self, name: str) -> None:
        """Let it come back."""
        ...


class Faults:
    """The switchboard. Volcano's parts and the nodes inside the process do not use HTTP and feel nothing of it."""

    def __init__(self, store: Store, pages: Pages, streams: Streams, tokens: Tokens, logs: PodLogs) -> None:
        self._store = store
        self._pages = pages
        self._streams = streams
        self._tokens = tokens
        self.logs = logs
        self._active: list[Fault] = []
        self._identifiers = itertools.count(1)
        self.suspend: Callable[[], Awaitable[None]] | None = None
        self.resume: Callable[[], Awaitable[None]] | None = None
        self.nodes: NodeSwitch | None = None

    def add(self, fault: Fault) -> Fault:
        """Switch a fault on."""
        fault.identifier = next(self._identifiers)
        self._active.append(fault)
        return fault

    def clear(self, identifier: int | None = None) -> None:
        """Switch one fault off, or all of them, and let stalled watches go on."""
        self._active = [f for f in self._active if identifier is not None and f.identifier != identifier]
        if identifier is None:
            self.stall_watches(stalled=False)

    def active(self) -> list[dict[str, Any]]:
        """The faults that still wait for requests."""
        return [asdict(fault) for fault in self._active]

    def take(self, method: str, target: Target) -> Fault | None:
        """The fault of a request, counted down."""
        for fault in self._active:
            if fault.matches(method, target):
                fault.count -= 1
                if fault.count <= 0:
                    self._active.remove(fault)
                return fault
        return None

    def open_watches(self, plural: str | None = None) -> int:
        """How many watches are open."""
        return len(self._open(plural))

    def cut_watches(self, plural: str | None = None, *, abrupt: bool = False) -> int:
        """End the open watches, cleanly or by breaking their connections; returns how many."""
        streams = self._open(plural)
        for stream in streams:
            transport = self._streams.open[stream].transport
            if abrupt and transport is not None:
                transport.abort()
            else:
                stream.end()
        return len(streams)

    def stall_watches(self, plural: str | None = None, *, stalled: bool = True) -> int:
        """Keep the open watches open but silent, or let them go on; returns how many."""
        streams = self._open(plural)
        for stream in streams:
            stream.stall(stalled)
        return len(streams)

    def expire_watches(self, plural: str | None = None) -> int:
        """End the open watches with an ERROR event of 410; returns how many."""
        streams = self._open(plural)
        for stream in streams:
            stream.send(too_old_line().rstrip(b"\n"), last=True)
        return len(streams)

    def send_line(self, line: bytes | dict[str, Any], plural: str | None = None) -> int:
        """Send one line as it is (bytes) or one JSON value on the open watches; returns on how many."""
        streams = self._open(plural)
        for stream in streams:
            stream.send(line if isinstance(line, bytes) else encode(line))
        return len(streams)

    def compact(self) -> None:
        """Forget the history: watches from an older version get 410."""
        self._store.compact()

    def expire_continues(self) -> None:
        """Make every continue token too old."""
        self._pages.expire()

    def expire_tokens(self, namespace: str | None = None, name: str | None = None) -> int:
        """End the tokens that service accounts have, of one account or of all; new ones are good. Returns how many."""
        return self._tokens.expire(namespace, name)

    def vanish(self, kind: Kind, namespace: str | None, name: str) -> None:
        """Remove an object without an event, as a watch that lost one would show it."""
        if self._store.get(kind, (namespace or "", name)) is not None:
            self._store.remove(kind, (namespace or "", name), silent=True)

    async def away(self, seconds: float | None = None) -> None:
        """Refuse connections and break the open ones; come back after `seconds` when given."""
        if self.suspend is not None:
            await self.suspend()
        if seconds is not None:
            await asyncio.sleep(seconds)
            await self.back()

    async def back(self) -> None:
        """Accept connections again, at the same address."""
        if self.resume is not None:
            await self.resume()

    async def lose_node(self, name: str, evict_after_seconds: float = EVICTION_SECONDS) -> None:
        """Let a node fall silent; see `nodes.Nodes.lose`."""
        if self.nodes is not None:
            await self.nodes.lose(name, evict_after_seconds)

    async def restore_node(self, name: str) -> None:
        """Let a lost node come back."""
        if self.nodes is not None:
            await self.nodes.restore(name)

    def _open(self, plural: str | None) -> list[Stream]:
        return [stream for stream in self._streams.open if plural in (None, stream.target.kind.plural)]
