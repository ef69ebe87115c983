"""The demo as one JSON object. Pure."""

from collections.abc import Sequence
from typing import Any

from app.commands.demo_checks import Verdict
from app.commands.demo_evidence import Sample


def report(samples: Sequence[Sample], verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Jobs as they ended, queues with what was allocated over time, and every check. Times become RFC 3339."""
    end = samples[-1]
    jobs = [
        {
            "name": job.name,
            "queue": job.queue,
            "state": job.state,
            "submitted_at": job.submitted_at,
            "started_at": job.started_at,
            "ended_at": job.ended_at,
            "nodes": job.nodes,
        }
        for job in end.jobs.values()
    ]
    queues = [
        {"name": name, "capability": queue.capability, "allocated": _allocated(samples, name)}
        for name, queue in end.queues.items()
    ]
    checks = [{"check": verdict.check, "ok": verdict.ok, "facts": verdict.facts} for verdict in verdicts]
    return {"jobs": jobs, "queues": queues, "checks": checks, "ok": all(verdict.ok for verdict in verdicts)}


def _allocated(samples: Sequence[Sample], queue: str) -> list[dict[str, float]]:
    """GPUs allocated, one entry for each change; `at` is in seconds after the first submission."""
    changes: list[dict[str, float]] = []
    for sample in samples:
        gpus = sample.queues[queue].allocated
        if not changes or changes[-1]["gpus"] != gpus:
            changes.append({"at": round(sample.at, 2), "gpus": gpus})
    return changes
