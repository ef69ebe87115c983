"""How an informer reads, what it reports, and its time: everything that is given to it from outside."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


class InformerMetrics:
    """What happens, for whoever counts it. Every method does nothing here; `kind` is one of a few fixed names."""

    def listed(self, kind: str, objects: int) -> None:
        """A complete list has come in."""

    def event(self, kind: str) -> None:
        """The watch has brought a line."""

    def skipped(self, kind: str, reason: str) -> None:
        """Something was not understood and left out; `reason` is one of a few fixed words."""

    def failed(self, kind: str, error: str) -> None:
        """A list or a watch failed; `error` is the name of the error's class."""


@dataclass(frozen=True, slots=True)
class InformerSettings:
    """How one informer reads.

    Attributes:
        page_size: objects in one page of a list.
        watch_seconds: when the server is to end a watch; up to a tenth is taken off at random, so that informers do not
            all reconnect at once.
        inactivity_seconds: silence after which a connection counts as dead and the watch goes on over a new one. A
            kube-apiserver sends a bookmark about once a minute, so a healthy watch is rarely cut, and cutting one costs
            no list. A half-open connection (no FIN) is noticed after this long and not after `watch_seconds`.
        connect_seconds: until a connection stands.
        relist_seconds: age after which a list is read anew when the next watch would begin. A watch loses nothing by
            its contract, but caches of API servers have done so, and nothing else would ever tell.
    """

    page_size: int = 500
    watch_seconds: float = 290.0
    inactivity_seconds: float = 75.0
    connect_seconds: float = 5.0
    relist_seconds: float = 900.0


@dataclass(frozen=True, slots=True)
class Timing:
    """Time and chance, to be replaced in tests."""

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    uniform: Callable[[float, float], float] = random.uniform
