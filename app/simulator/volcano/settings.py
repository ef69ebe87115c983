"""How the simulated Volcano behaves where the real one has a flag, a random choice or a known bug."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class VolcanoSettings:
    """Settings of Volcano's controllers and scheduler.

    `schedule_period_seconds` is the scheduler's `--schedule-period`, in simulated seconds.
    `seed` makes the choice among equal nodes repeatable; None chooses anew in each run.
    `loses_finished_counters` keeps Volcano's bug #4616: a finished Job is killed once more, and that second status
    write drops `succeeded`, `failed` and `taskStatusCount`.
    `scheduler_config` is a configuration file in the format of Volcano's scheduler, read again whenever it changes;
    None stands for the one of Volcano's Helm chart.
    """

    schedule_period_seconds: float = 1.0
    seed: int | None = None
    loses_finished_counters: bool = True
    scheduler_config: Path | None = None
