"""The simulated Volcano does what a real Volcano v1.15.1 was recorded doing (volcano-traces)."""

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from tests.contract.volcano.facts import reduce
from tests.contract.volcano.replay import Replay

TRACES = Path(__file__).parents[2] / "data" / "traces"
SCENARIOS = sorted(path.stem for path in TRACES.glob("*.json"))

LOST = "the recording lacks an event that every other recording of the same course has"
CUT = "the recording ends while kwok starts one pod after the other; the simulator starts both at once"
ONE_BY_ONE = (
    "kwok ended the pods of the first Jobs one after the other, so that for a moment the cluster had room and only the "
    "queue had not; the simulator ends them at once"
)
STAMPS = (
    "the Job controller takes the condition with the latest stamp for the present one; stamps have whole seconds, and "
    "in a replay that runs faster than time both conditions may have the same"
)
BETWEEN = "a session may come between the pod's failure and the kill that follows; in the recording none did"

NAMED = "which pod's reason a gang's text repeats is the order of a Go map; here it is the first pod that was tried"

FILTERED = (
    "client-go drops events about one object after 25 at once; in the recording the 26th was the first of this text"
)
SCALING = "a session may come between the PodGroup's new minimum and the new pod; in the recording none did"

DIFFERENCES: tuple[tuple[str, str, str], ...] = (
    (
        "00",
        'missing /events: [[]"PodGroup", "*-b", "Normal", "Unschedulable", "queue resource quota insufficient: *',
        ONE_BY_ONE,
    ),
    ("01", 'unexpected /events: [[]"PodGroup", "a", "Warning", "Unschedulable", "0/0 tasks *', LOST),
    ("02", 'unexpected /events: [[]"PodGroup", "a", "Warning", "Unschedulable", "0/4 tasks * 4 Binding, *', LOST),
    (
        "03",
        'missing /events: [[]"PodGroup", "second", "Normal", "Unschedulable", "resource in cluster is overused: *',
        "the recorded scheduler held the cluster for full with two of its six GPUs in use; the trace does not show why",
    ),
    ("07", 'unexpected /events: [[]"*", "a", "Warning", *1 Failed, 1 Running, 2 minAvailable"]', BETWEEN),
    ("07", "unexpected /pod_groups/a/*/conditions: * 1 Failed, 1 Running, 2 minAvailable*", BETWEEN),
    ("07", '/pod_groups/a/*/phases is [[]"", "Inqueue", "Running", "Unknown"] instead of *', BETWEEN),
    ("08", 'unexpected /events: [[]"*", "a", "Warning", *1 Failed, 1 Running, 2 minAvailable"]', BETWEEN),
    ("08", "unexpected /pod_groups/a/*/conditions: * 1 Failed, 1 Running, 2 minAvailable*", BETWEEN),
    ("08", '/pod_groups/a/*/phases is [[]"", "Inqueue", "Running", "Unknown"] instead of *', BETWEEN),
    ("06", 'missing /events: [[]"Job", "a", "Warning", "PodGroupPending", *', STAMPS),
    ("16", 'missing /events: [[]"Job", "a", "Warning", "PodGroupPending", *', STAMPS),
    ("21", 'unexpected /events: [[]"*", "live", "Warning", * 1 Running, 2 minAvailable"]', SCALING),
    ("21", "unexpected /pod_groups/live/0/conditions: * 1 Running, 2 minAvailable*", SCALING),
    ("21", '/pod_groups/live/0/phases is * "Running", "Unknown", *"Running"] instead of *', SCALING),
    ("25", '* /events: [[]"PodGroup", "low", "Warning", "Unschedulable", "5/6 tasks * 1 Binding, *', NAMED),
    ("27", 'unexpected /events: [[]"Job", "borrower", "Warning", "PodGroupPending", *4 Pending, 6 minAvail*', FILTERED),
    ("08", "/jobs/a/counters_last/pending is 2 instead of 1", CUT),
    ("08", "missing /jobs/a/counters_last/running 1", CUT),
    ("08", "/jobs/a/tasks_last/worker/phase/Pending is 2 instead of 1", CUT),
    ("08", "missing /jobs/a/tasks_last/worker/phase/Running 1", CUT),
    ("08", '/pods/a-worker-0/last is "Pending" instead of "Running"', CUT),
)
"""Scenario, form of the line, and why the simulator may differ there."""


_SETS = ("/events", "/order")
_SET_FIELDS = ("/conditions", "/refused")


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Facts as lines: each leaf with its path. A list is a set of lines, but for phases, whose order counts."""
    if isinstance(value, dict) and value:
        for key in value:
            yield from _flat(value[key], f"{path}/{key}")
    elif path.startswith(_SETS) or path.endswith(_SET_FIELDS):
        for item in value:
            yield f"{path}: {json.dumps(item)}", ""
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        yield f"{path}/length", str(len(value))
        for index, item in enumerate(value):
            yield from _flat(item, f"{path}/{index}")
    else:
        yield path, json.dumps(value, sort_keys=True)


def differences(recorded: Any, simulated: Any) -> list[str]:
    """Each fact that only one of both has, or that both have otherwise."""
    before, after = dict(_flat(recorded)), dict(_flat(simulated))
    lines = []
    for path in sorted(before.keys() | after.keys()):
        if path not in after:
            lines.append(f"missing {path} {before[path]}".strip())
        elif path not in before:
            lines.append(f"unexpected {path} {after[path]}".strip())
        elif before[path] != after[path]:
            lines.append(f"{path} is {after[path]} instead of {before[path]}")
    return lines


def _allowed(scenario: str, line: str) -> bool:
    return any(fnmatchcase(scenario[:2], number) and fnmatchcase(line, form) for number, form, _ in DIFFERENCES)


@pytest.mark.parametrize("name", SCENARIOS)
async def test_simulated_volcano_repeats_the_recorded_one(name: str, tmp_path: Path) -> None:
    scenario = json.loads((TRACES / f"{name}.json").read_text())
    async with Replay.on_fresh_cluster(name, scenario, tmp_path) as replay:
        await replay.run()
    found = differences(scenario["facts"], json.loads(json.dumps(reduce(replay.records))))
    unexplained = [line for line in found if not _allowed(name, line)]
    assert not unexplained, "\n".join(unexplained)
