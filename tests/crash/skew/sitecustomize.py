"""Shifts the wall clock of one Python process by `CRASH_TEST_SKEW_SECONDS`; its monotonic clock stays as it is.

With `CRASH_TEST_SKEW_AT_SIGNAL` it does so when SIGUSR1 comes, in the middle of its life.

Python imports this by itself at the start when its folder is on PYTHONPATH. `datetime.datetime` is replaced before
anything else imports it; a process that leaves the variable out is not changed.
"""

import datetime as dt
import os
import signal
import time

_SKEW = float(os.environ.get("CRASH_TEST_SKEW_SECONDS", "0"))
_shift = [_SKEW]
_real_time, _real_time_ns, _real_datetime = time.time, time.time_ns, dt.datetime


class _Kind(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _real_datetime)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, _real_datetime)


class _Shifted(_real_datetime, metaclass=_Kind):
    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> dt.datetime:
        return _real_datetime.now(tz) + dt.timedelta(seconds=_shift[0])

    @classmethod
    def utcnow(cls) -> dt.datetime:
        return _real_datetime.utcnow() + dt.timedelta(seconds=_shift[0])


if _SKEW:
    time.time = lambda: _real_time() + _shift[0]
    time.time_ns = lambda: _real_time_ns() + int(_shift[0] * 1e9)
    dt.datetime = _Shifted  # type: ignore[misc]
    if "CRASH_TEST_SKEW_AT_SIGNAL" in os.environ:
        _shift[0] = 0.0
        signal.signal(signal.SIGUSR1, lambda *_: _shift.__setitem__(0, _SKEW))
