"""Recordings of a real Volcano v1.15.1, as `reduce.py` wrote them, read back as what happened at which moment."""

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.replay.deltas import applied

Object = dict[str, Any]

FOLDER = Path(__file__).parents[1] / "data" / "replays"
SCENARIOS = sorted(path.stem for path in FOLDER.glob("[0-9]*.jsonl"))


@dataclass(frozen=True, slots=True)
class Change:
    """What a watch brought."""

    ms: int
    kind: str
    type: str
    object: Object

    @property
    def name(self) -> str:
        return str(self.object["metadata"]["name"])

    @property
    def phase(self) -> str:
        return str((self.object.get("status") or {}).get("phase", ""))


@dataclass(frozen=True, slots=True)
class Refusal:
    """What Volcano's webhooks or the API server answered to a request of the recorder."""

    ms: int
    note: str
    plural: str
    body: Object
    status: int
    answer: Object


@dataclass(frozen=True, slots=True)
class Recording:
    """One scenario.

    Attributes:
        began_at: the moment at which the recording's milliseconds begin.
        changes: of Jobs, PodGroups, pods and Queues, in the order in which they came.
        refusals: in order.
    """

    name: str
    began_at: datetime
    changes: tuple[Change, ...]
    refusals: tuple[Refusal, ...]

    def at(self, ms: float) -> datetime:
        return self.began_at + timedelta(milliseconds=ms)

    @property
    def ends_ms(self) -> int:
        return max((change.ms for change in self.changes), default=0)

    @property
    def made_queues(self) -> dict[str, Object]:
        """Queues that the recorder made, as they were at first."""
        return {one.name: one.object for one in self.changes if (one.kind, one.type) == ("Queue", "ADDED")}


def load(name: str) -> Recording:
    """Read a scenario by its name, or by the two digits with which it begins."""
    path = next(FOLDER.glob(f"{name[:2]}-*.jsonl"))
    head, *lines = (json.loads(line) for line in path.read_text().splitlines())
    return Recording(
        path.stem,
        datetime.fromisoformat(head["began_at"]),
        tuple(_changes(line for line in lines if "watch" in line)),
        tuple(Refusal(**line["refusal"]) for line in lines if "refusal" in line),
    )


def idle_queues() -> dict[str, Object]:
    """The recorder's queues as they are while nothing runs in them."""
    found: dict[str, Object] = json.loads((FOLDER / "queues.json").read_text())
    return found


def _changes(lines: Iterator[Object]) -> Iterator[Change]:
    latest: dict[str, Object] = {}
    for line in lines:
        uid = line.get("of") or line["object"]["metadata"]["uid"]
        latest[uid] = line["object"] if "object" in line else applied(latest[uid], line["patch"])
        yield Change(line["ms"], line["watch"], line["type"], deepcopy(latest[uid]))
