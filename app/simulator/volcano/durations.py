"""Durations as Go writes them (`time.Duration`): `90s`, `1m30s`, `8.476526565s`."""

import re

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(h|ms|m|s|us|µs|ns)")
_MINUTE = 60
_HOUR = 3600


def seconds(text: str | None) -> float:
    """Read a duration; None and anything unreadable count as no time at all."""
    parts = _PART.findall(text or "")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def text(duration_seconds: float) -> str:
    """Write a duration as Go's `Duration.String` does for a second and more."""
    hours, rest = divmod(max(0.0, duration_seconds), _HOUR)
    minutes, rest = divmod(rest, _MINUTE)
    last = f"{rest:.9f}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{int(hours)}h{int(minutes)}m{last}"
    return f"{int(minutes)}m{last}" if minutes else last
