"""How far a job is: the sum of what its workers say of themselves. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.cluster.observed import ObservedPod, Progress
from app.controller.facts import PodFacts

EVENT = "progress"
_TENTHS = 10

Stored = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class News:
    """What the job's row is to say of its progress, and the sentence for its history, if this is worth one.

    Attributes:
        stored: `done`, `total` and `at`, if any worker spoke; and which tenth was told of in which run.
    """

    stored: dict[str, Any] | None
    sentence: str | None = None


def progress_of(pods: Iterable[PodFacts], before: Stored | None, attempt: int, at: datetime) -> News:
    """Sum up what the newest pod of each place says.

    A pod that has ended says what it said last, whether it is still there or not, so a finished one never falls back.
    A pod that runs a place again starts at what it says itself, and counts for nothing until it speaks.

    The history gets a line when another tenth of the whole is reached for the first time in a run: at most eleven
    lines a run, however often workers speak and whatever they say.

    Args:
        pods: all pods of the job, recorded ones too.
        before: what the row says now, as this function made it.
        attempt: which run the job is in.
        at: the present moment.
    """
    told = before["told"] if before and before["attempt"] == attempt else -1
    spoken = [pod.progress for pod in _newest(pods) if pod.progress is not None]
    if not spoken:
        # what was told stays known, so that who falls silent and speaks again is told of no more often
        return News({"attempt": attempt, "told": told} if before else None)
    done, total = sum(each.done for each in spoken), sum(each.total for each in spoken)
    if before and (done, total, attempt) == (before.get("done"), before.get("total"), before["attempt"]):
        return News(dict(before))
    tenth = _TENTHS * done // total if total else 0
    stored = {"done": done, "total": total, "at": at.isoformat(), "attempt": attempt, "told": max(told, tenth)}
    return News(stored, _sentence(Progress(done, total)) if tenth > told else None)


def last_word(pod: ObservedPod, said: Progress | None) -> Progress | None:
    """What counts of a pod: what stands on it, else what its worker said before, here or over HTTP.

    Of a pod that has ended nothing less is believed than it said before.
    """
    if pod.progress is None:
        return said
    over = pod.phase in {"Succeeded", "Failed"}
    return said if over and said is not None and said.done > pod.progress.done else pod.progress


def _newest(pods: Iterable[PodFacts]) -> Iterable[PodFacts]:
    """Of each place (task and index) the pod that was made last."""
    places: dict[tuple[str, int], PodFacts] = {}
    for pod in pods:
        other = places.get((pod.task, pod.index))
        if other is None or _order(pod) > _order(other):
            places[pod.task, pod.index] = pod
    return places.values()


def _order(pod: PodFacts) -> tuple[int, datetime, str]:
    return pod.attempt, pod.created_at, pod.uid


def _sentence(progress: Progress) -> str:
    share = 100 * progress.done // progress.total if progress.total else 0
    return f"{progress.done} of {progress.total} done ({share} %)."
