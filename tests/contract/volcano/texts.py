"""Texts of traces without what a run chooses by chance: uids, nodes, and the order in which Go walks a map."""

import re

_UID = re.compile(r"-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NODE = re.compile(r"\bgpu-\d+\b")
_ORIGIN = re.compile(r"Origin reason is \S+:")
_ASSIGNED = re.compile(r"Pod \S+ can possibly")
_LIST = re.compile(r"(valid (?:events|actions) are )\[([^\]]*)\]")
_GANG = re.compile(r"^(\d+)/(\d+) tasks in gang")
_LEAVING = re.compile(r"(\d+) Releasing, ")


def without_uid(name: str) -> str:
    """The name of a PodGroup as that of its Job."""
    return _UID.sub("", name)


def plain(text: str | None) -> str:
    """A text with its random parts replaced.

    Pods that are on their way out are left out of the counts: whether a session still sees them depends on the moment
    it runs, and the text is the same one otherwise.
    """
    text = _NODE.sub("<node>", text or "")
    text = _ORIGIN.sub("Origin reason is <pod>:", text)
    text = _ASSIGNED.sub("Pod <pod> can possibly", text)
    text = _LIST.sub(lambda match: f"{match[1]}[{' '.join(sorted(match[2].split()))}]", text)
    return _without_leaving(without_uid(text))


def _without_leaving(text: str) -> str:
    leaving = _LEAVING.search(text)
    if leaving is None:
        return text
    count = int(leaving[1])
    head, _, tail = text.partition("reason: ") if "reason: " in text else ("", "", text)
    tail = _GANG.sub(lambda match: f"{match[1]}/{int(match[2]) - count} tasks in gang", tail)
    return _LEAVING.sub("", f"{head}reason: {tail}" if head else tail)
