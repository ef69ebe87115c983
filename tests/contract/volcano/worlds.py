"""The state of a trace's objects at one moment: what a replay waits for before its next request."""

from collections.abc import Iterable
from typing import Any

from tests.contract.volcano.texts import without_uid

Record = dict[str, Any]
World = dict[str, dict[str, Any]]


def empty_world() -> World:
    """Nothing yet."""
    return {"Job": {}, "Pod": {}, "PodGroup": {}, "Queue": {}}


def world_of(records: Iterable[Record]) -> World:
    """Jobs, pods, PodGroups and Queues as the watch events up to a moment show them."""
    world = empty_world()
    for record in records:
        change(world, record)
    return world


def change(world: World, record: Record) -> None:
    """Take over what one watch event says."""
    kind = record.get("watch")
    if kind not in world:
        return
    obj = record["object"]
    name = without_uid(obj["metadata"]["name"])
    if record["type"] == "DELETED":
        world[kind].pop(name, None)
    else:
        world[kind][name] = _state(kind, obj)


def _state(kind: str, obj: Record) -> Any:
    status = obj.get("status") or {}
    leaving = bool(obj["metadata"].get("deletionTimestamp"))
    if kind == "Job":
        return [(status.get("state") or {}).get("phase"), leaving]
    if kind == "Pod":
        return [status.get("phase"), bool(obj["spec"].get("nodeName")), leaving]
    if kind == "PodGroup":
        return [status.get("phase"), sorted({c["type"] for c in status.get("conditions") or []})]
    return status.get("state")


def only(world: World, namespaceless: set[str]) -> World:
    """A world without the Queues that the scenario has not made."""
    queues = {name: state for name, state in world["Queue"].items() if name in namespaceless}
    return {**world, "Queue": queues}


def at_rest(world: World) -> bool:
    """Whether nothing is about to happen: no bound pod waits for its start, none is leaving."""
    return not any(leaving or (phase == "Pending" and bound) for phase, bound, leaving in world["Pod"].values())


def reached(now: World, wanted: World) -> bool:
    """Whether a world is the wanted one; a PodGroup may have conditions more than it."""
    same = all(now[kind] == wanted[kind] for kind in ("Job", "Pod", "Queue"))
    groups, others = now["PodGroup"], wanted["PodGroup"]
    return (
        same
        and groups.keys() == others.keys()
        and all(groups[n][0] == others[n][0] and set(groups[n][1]) >= set(others[n][1]) for n in groups)
    )


def without_pod_phases(world: World) -> World:
    """A world that knows of pods only which there are."""
    return {**world, "Pod": dict.fromkeys(world["Pod"])}
