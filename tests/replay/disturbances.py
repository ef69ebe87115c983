"""Watches that end while things happen: cut, ended, or told that their version is too old."""

import random
from dataclasses import dataclass

from tests.replay.play import Play
from tests.replay.recording import Change
from tests.replay.watched import Watched

WINDOWS = 4
LONGEST_WINDOW = 5


@dataclass(frozen=True)
class Window:
    """A while in which a kind is not served: from `first`, for `length` changes of anything."""

    first: int
    length: int
    kind: str
    how: str


def windows(changes: tuple[Change, ...], chance: random.Random, hows: tuple[str, ...]) -> dict[int, Window]:
    """Some windows, at random, each of the kind that is about to change."""
    starts = sorted(chance.sample(range(len(changes)), min(WINDOWS, len(changes))))
    return {
        start: Window(start, chance.randint(1, LONGEST_WINDOW), changes[start].kind, chance.choice(hows))
        for start in starts
    }


async def play_disturbed(play: Play, chance: random.Random, hows: tuple[str, ...]) -> None:
    """Play as fast as it goes, with windows in which Pumice does not see what happens.

    It does see the few moments that no later state tells of: when a job's first pod runs (kwok gives a pod that has
    ended another start), that a Job was aborted before it was resumed, that one was deleted.
    """
    changes = play.recording.changes
    planned = windows(changes, chance, hows)
    cluster, stops = play.world.cluster, _stops(changes)
    # a row may be read long before what it is decided with: no look is earlier than the end of what comes unobserved
    looks = _next_stop_ms(changes, stops, play.recording.ends_ms)
    window: Window | None = None
    for index, change in enumerate(changes):
        stop_here = index in stops and _landmark(change) is not None
        if window is not None and (index >= window.first + window.length or stop_here or change.type == "ADDED"):
            _close(cluster.kinds[window.kind], window, cluster.version)
            window = None
        if window is None and not stop_here and index in planned:
            window = planned[index]
            await cluster.kinds[window.kind].interrupt(window.how)
        if window is not None and change.type == "ADDED" and change.kind in {"Job", "Queue"}:
            _close(cluster.kinds[window.kind], window, cluster.version)
            window = None
        if stop_here:
            await play.world.settled()
        await play.step(change, looks[index])
        if stop_here:
            await play.world.settled()
    if window is not None:
        _close(cluster.kinds[window.kind], window, cluster.version)
    await play.world.settled()


def _stops(changes: tuple[Change, ...]) -> set[int]:
    """The changes that Pumice sees at their own moment: the first of each landmark, and what it makes itself."""
    seen: set[tuple[str, str]] = set()
    stops = set()
    for index, change in enumerate(changes):
        landmark = _landmark(change)
        if landmark is not None and landmark not in seen:
            seen.add(landmark)
            stops.add(index)
        elif change.type == "ADDED" and change.kind in {"Job", "Queue"}:
            stops.add(index)
    return stops


def _next_stop_ms(changes: tuple[Change, ...], stops: set[int], end: float) -> list[float]:
    """For each change the moment of the next one that is a stop, itself included."""
    moments: list[float] = []
    for index in reversed(range(len(changes))):
        end = changes[index].ms if index in stops else end
        moments.append(end)
    return moments[::-1]


def _close(watched: Watched, window: Window, version: int) -> None:
    watched.resume(version, compacted=window.how == "gone")


def _landmark(change: Change) -> tuple[str, str] | None:
    metadata = change.object["metadata"]
    if change.kind == "Pod" and change.phase == "Running":
        return metadata["labels"]["volcano.sh/job-name"], "runs"
    if change.kind == "Job":
        if change.type == "DELETED" or metadata.get("deletionTimestamp"):
            return change.name, "deleted"
        if ((change.object.get("status") or {}).get("state") or {}).get("phase") == "Aborted":
            return change.name, "aborted"
    return None
