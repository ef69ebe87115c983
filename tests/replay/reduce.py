"""From raw recordings of a real Volcano to the compact ones under `tests/data/replays`.

    python -m tests.replay.reduce <folder of raw recordings> tests/data/replays

Kept are Jobs, PodGroups, pods and Queues, whole, each as what changed since its last version, and the requests that
were refused, with the answer. Volcano's queue `default`, which no team can be granted, is called `batch`.
"""

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.replay.deltas import difference

Object = dict[str, Any]

KINDS = frozenset({"Job", "PodGroup", "Pod", "Queue"})
DEFAULT_QUEUE = "batch"
STANDING = frozenset({"root", DEFAULT_QUEUE, "high-priority", "low-priority"})
_QUEUE_KEYS = frozenset({"queue", "volcano.sh/queue-name"})
_STAMPS = frozenset({"creationTimestamp", "startedAt", "finishedAt", "lastTransitionTime", "startTime"})


def began_at(records: list[Object]) -> datetime:
    """The latest beginning with which no stamp lies behind the event that brought it; stamps have whole seconds."""
    beginnings = [
        datetime.fromisoformat(stamp) - timedelta(milliseconds=record["t_ms"])
        for record in records
        if "watch" in record
        for stamp in _stamps(record["object"])
    ]
    return max(beginnings, default=datetime(2026, 11, 30, tzinfo=UTC))


def _stamps(thing: Any) -> Iterator[str]:
    if isinstance(thing, list):
        for item in thing:
            yield from _stamps(item)
    elif isinstance(thing, dict):
        for name, value in thing.items():
            if name in _STAMPS and isinstance(value, str):
                yield value
            else:
                yield from _stamps(value)


def renamed(thing: Any) -> Any:
    """The same with another name for Volcano's own queue."""
    if isinstance(thing, list):
        return [renamed(item) for item in thing]
    if not isinstance(thing, dict):
        return thing
    return {
        name: DEFAULT_QUEUE if name in _QUEUE_KEYS and value == "default" else renamed(value)
        for name, value in thing.items()
        if name != "managedFields"
    }


def kept(record: Object) -> Object:
    """The object of a watch event as it is kept."""
    obj: Object = renamed(record["object"])
    if record["watch"] == "Queue" and obj["metadata"]["name"] == "default":
        obj["metadata"]["name"] = DEFAULT_QUEUE
    return obj


def reduced(records: list[Object]) -> Iterator[Object]:
    """The lines of a compact recording."""
    yield {"began_at": began_at(records).isoformat(timespec="milliseconds")}
    latest: dict[str, Object] = {}
    note = ""
    for record in records:
        note = record.get("note", note)
        if record.get("watch") in KINDS:
            yield _change(record, latest)
        elif record.get("status", 200) >= 400:
            yield {"refusal": _refusal(record, note)}


def _change(record: Object, latest: dict[str, Object]) -> Object:
    obj = kept(record)
    uid = obj["metadata"]["uid"]
    line = {"ms": record["t_ms"], "watch": record["watch"], "type": record["type"]}
    patch = difference(latest[uid], obj) if uid in latest else None
    latest[uid] = obj
    return {**line, "object": obj} if patch is None else {**line, "of": uid, "patch": patch}


def _refusal(record: Object, note: str) -> Object:
    request = record["request"]
    path = request["path"].partition("?")[0].split("/")
    body = request["body"]
    return {
        "ms": record["t_ms"],
        "note": note,
        "plural": path[-1] if request["method"] == "POST" else path[-2],
        "body": renamed(body) if isinstance(body, dict) else {},
        "status": record["status"],
        "answer": record["response"],
    }


def idle_queues(every: list[list[Object]]) -> dict[str, Object]:
    """The queues that stood before the recordings began, as they are while nothing runs in them."""
    idle: dict[str, Object] = {}
    for record in (record for records in every for record in records if record.get("watch") == "Queue"):
        obj = kept(record)
        status = obj.get("status") or {}
        free = status.get("state") == "Open" and "nvidia.com/gpu" not in status.get("allocated", {})
        if free and obj["metadata"]["name"] in STANDING:
            idle.setdefault(obj["metadata"]["name"], obj)
    return idle


def main(source: Path, target: Path) -> None:
    """Reduce every raw recording of a folder."""
    every = []
    for path in sorted(source.glob("*.jsonl")):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        every.append(records)
        lines = (json.dumps(line, separators=(",", ":"), sort_keys=True) for line in reduced(records))
        (target / path.name).write_text("\n".join(lines) + "\n")
    (target / "queues.json").write_text(json.dumps(idle_queues(every), indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
