"""The demo on a terminal: a live picture of jobs, queues and GPUs, and what it proved. Builds rich's objects only."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from app.commands.demo_checks import Verdict
from app.commands.demo_evidence import PodSeen, Sample
from app.commands.demo_timeline import in_use

_COLOURS = {"running": "cyan", "succeeded": "green", "failed": "red", "lost": "red", "cancelled": "yellow"}
_HOLDING = frozenset({"Pending", "Running"})


def live_view(sample: Sample, gpus_per_node: int) -> RenderableType:
    """Jobs, queues and GPUs at one moment."""
    return Group(
        Text(f"{sample.at:5.1f} s after the first submission", style="dim"),
        _jobs(sample),
        _queues(sample),
        _gpus(list(sample.pods), gpus_per_node),
    )


def proof_view(verdicts: Iterable[Verdict], end: Sample) -> RenderableType:
    """What the scenario proves, and the GPUs in use by queue over time."""
    checks = Table(box=None, show_header=False)
    for verdict in verdicts:
        mark = Text("ok", style="green") if verdict.ok else Text("FAILED", style="bold red")
        facts = "" if verdict.ok else "; ".join(f"{name}: {value}" for name, value in verdict.facts.items())
        checks.add_row(mark, verdict.check, facts)
    over_time = Text(
        "\nGPUs in use by queue, from the pods' own times in seconds after the first start", style="italic"
    )
    return Group(over_time, _timeline(end), Text("\nWhat this proves", style="italic"), checks)


def state_changes(before: Sample | None, now: Sample) -> list[str]:
    """One line for each job whose state changed, for logs and terminals that cannot show a live picture."""
    lines = []
    for name, job in now.jobs.items():
        if before is None or before.jobs[name].state != job.state:
            where = f" on {', '.join(job.nodes)}" if job.nodes else ""
            lines.append(f"{now.at:5.1f} s  {name} is {job.state}{where}")
    return lines


def _jobs(sample: Sample) -> Table:
    table = _table("Jobs")
    for column in ("job", "queue", "GPUs", "state", "done", "why", "nodes"):
        table.add_column(column)
    for job in sample.jobs.values():
        table.add_row(
            job.name,
            job.queue,
            str(job.gpus),
            Text(job.state, style=_COLOURS.get(job.state, "yellow")),
            "" if job.percent is None else f"{job.percent} %",
            job.reason or "",
            ", ".join(job.nodes),
        )
    return table


def _queues(sample: Sample) -> Table:
    table = _table("Queues")
    for column in ("queue", "GPUs allocated", "capability", "PodGroups"):
        table.add_column(column)
    for queue in sample.queues.values():
        groups = ", ".join(f"{count} {phase}" for phase, count in queue.pod_groups.items() if count)
        table.add_row(queue.name, _bar(queue.allocated, queue.capability), str(queue.capability), groups)
    return table


def _gpus(pods: Sequence[PodSeen], gpus_per_node: int) -> Table:
    table = _table("GPUs")
    holders: dict[str, list[str]] = defaultdict(list)
    for pod in pods:
        if pod.node and pod.phase in _HOLDING:
            holders[pod.node] += [pod.job] * pod.gpus
    for column in ("node", *(f"GPU {number}" for number in range(gpus_per_node))):
        table.add_column(column, min_width=8)
    for node in sorted({pod.node for pod in pods if pod.node}):
        held = holders.get(node, [])[:gpus_per_node]
        table.add_row(node, *held, *["-"] * (gpus_per_node - len(held)))
    return table


def _timeline(end: Sample) -> Table:
    table = Table(box=None, show_header=False)
    starts = [pod.started_at for pod in end.pods if pod.started_at]
    for name in end.queues:
        steps = in_use(pod for pod in end.pods if pod.queue == name)
        table.add_row(name, "  ".join(f"{gpus} from {(at - min(starts)).total_seconds():.0f} s" for at, gpus in steps))
    return table


def _table(title: str) -> Table:
    """Without lines, so that the whole picture fits into 24 lines."""
    return Table(title=f"\n{title}", title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))


def _bar(used: int, most: int) -> Text:
    return Text("#" * used + "." * max(most - used, 0) + f"  {used}", style="cyan" if used else "dim")
