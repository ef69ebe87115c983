"""From a recording of a Volcano to a scenario: its requests, the state each was made in, and the facts of the run.

Run as a program it turns a folder of raw traces into the scenarios under `tests/data/traces`:

    python -m tests.contract.volcano.reduce_trace <folder of raw traces> tests/data/traces
"""

import json
import re
import sys
from http import HTTPStatus
from pathlib import Path

from tests.contract.volcano.facts import Facts, made_queues, reduce
from tests.contract.volcano.surroundings import LEFT_OVER, LeftOver
from tests.contract.volcano.worlds import Record, at_rest, only, without_pod_phases, world_of

SCENARIOS = frozenset({f"{number:02d}" for number in range(30)})
BURST_MILLISECONDS = 200
QUIET_MILLISECONDS = 1500
ANSWER_MILLISECONDS = 25
START_SECONDS = "6"  # as kwok's stages needed at most, so that sessions and starts come in the recorded order
CREATED_AT_ONCE = frozenset({"00"})
"""Here Jobs that compete were made within one second, so that in Volcano chance, their uids, gave the order."""

_KWOK = "pod-complete.stage.kwok.x-k8s.io/"
_SIMULATOR = "simulator.pumice.dev/"


def steps_of(records: list[Record], gone_ms: int | None = None) -> list[Facts]:
    """The requests of a recording, each with the world it was made in.

    `gone_ms` is when what was left of an earlier recording went: a step without a request.
    """
    steps: list[Facts] = []
    made: set[str] = set()
    last_request, last_change = -BURST_MILLISECONDS, 0
    for index, record in enumerate(records):
        if "watch" in record:
            last_change = record["t_ms"]
        moment = record["t_ms"]
        if gone_ms is not None and moment >= gone_ms:
            steps.append({"left_over_goes": True, "world": only(world_of(records[:index]), made)})
            gone_ms = None
        if "request" not in record:
            continue
        # A watch may be ahead of the answer to the request that caused it: look a little back.
        seen = [r for r in records[:index] if r["t_ms"] < moment - ANSWER_MILLISECONDS]
        step = {"request": _translated(record["request"], records)}
        if moment - last_request >= BURST_MILLISECONDS and steps:
            step["world"] = only(world_of(seen), made)
            step["settle"] = moment - last_change > QUIET_MILLISECONDS
        steps.append(step)
        made |= made_queues([record])
        last_request = last_change = moment
    return steps


def _translated(request: Record, records: list[Record]) -> Record:
    """A request with the simulator's annotations in place of kwok's, and with names in place of uids."""
    text = json.dumps(request)
    for record in records:
        if record.get("watch") in ("Job", "Queue"):
            metadata = record["object"]["metadata"]
            text = text.replace(metadata["uid"], f"$uid/{record['watch']}/{metadata['name']}")
    text = re.sub(rf'"{re.escape(_KWOK)}delay": "(\d+)s"', rf'"{_SIMULATOR}run-seconds": "\1"', text)
    text = re.sub(
        rf'"{re.escape(_KWOK)}jitter-delay": "\d+s"',
        # kwok lets a pod go only when its grace period is over
        f'"{_SIMULATOR}start-seconds": "{START_SECONDS}", "{_SIMULATOR}ignore-sigterm": "true"',
        text,
    )
    translated: Record = json.loads(text)
    return translated


def scenario_of(records: list[Record], left_over: LeftOver | None = None) -> Facts:
    """Everything that a replay needs."""
    end = only(world_of(records), made_queues(records))
    namespaces = {r["object"]["metadata"].get("namespace") for r in records if r.get("watch") == "Job"}
    paths = (r["request"]["path"] for r in records if "request" in r)
    namespaces |= {match[1] for path in paths if (match := re.search(r"/namespaces/([^/]+)/", path))}
    before = _made_before(records)
    return {
        **({"before": before} if before else {}),
        "namespaces": sorted(namespace for namespace in namespaces if namespace and namespace != "default"),
        "steps": steps_of(records, left_over.gone_ms if left_over else None),
        "end": {"world": without_pod_phases(end), "settle": at_rest(end)},
        "facts": reduce(records),
    }


def _made_before(records: list[Record]) -> list[Record]:
    """The requests for PriorityClasses that an earlier recording had made already."""
    requests = (record for record in records if "request" in record and record["status"] == HTTPStatus.CONFLICT)
    return [
        {"path": record["request"]["path"], "body": record["request"]["body"]}
        for record in requests
        if record["request"]["path"].endswith("/priorityclasses")
    ]


def in_order(scenario: Facts) -> Facts:
    """The scenario with each request made once a session has seen what the ones before it made."""
    return {**scenario, "steps": [{**step, "after_session": True} for step in scenario["steps"]]}


def main(source: Path, target: Path) -> None:
    """Reduce every raw trace of a folder."""
    for path in sorted(source.glob("*.jsonl")):
        if path.name[:2] in SCENARIOS:
            records = [json.loads(line) for line in path.read_text().splitlines()]
            scenario = scenario_of(records, LEFT_OVER.get(path.name[:2]))
            if path.name[:2] in CREATED_AT_ONCE:
                scenario = in_order(scenario)
            text = json.dumps(scenario, indent=1, sort_keys=True)
            (target / f"{path.stem}.json").write_text(text + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
