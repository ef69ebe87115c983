"""Parts of the objects that the projections are tried on."""

from datetime import UTC, datetime
from typing import Any

NAMED = {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7"}


def at(second: int) -> datetime:
    return datetime(2026, 11, 30, 22, 0, second, tzinfo=UTC)


def stamp(second: int) -> str:
    return f"2026-11-30T22:00:{second:02}Z"


def container(state: dict[str, Any], last: dict[str, Any] | None = None, restarts: int = 0) -> dict[str, Any]:
    return {"state": state, "lastState": last, "restartCount": restarts}


def ended(code: int, reason: str = "", message: str = "", start: int = 2, end: int = 5) -> dict[str, Any]:
    times = {"startedAt": stamp(start), "finishedAt": stamp(end)}
    return {"terminated": {"exitCode": code, "reason": reason, "message": message, **times}}
