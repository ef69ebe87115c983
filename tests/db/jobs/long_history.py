"""A history of jobs in which filters meet as they do in life: rarely evenly, and rarely independently.

Teams are of very different sizes. In each a robot submits half of the jobs and never cancels one; people cancel more.
Names and labels are of every frequency, some belong to a part of the time only, and what lives is new.
"""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import text

from app.db import Sessions
from app.jobs.wanted import JobFilter

ROWS = 60_000
TEAMS = 20
SECONDS = 300
BEGIN = 1_893_456_000
"""Of the first job; the others follow every `SECONDS`."""

_TEAM_ROWS = text(
    "INSERT INTO teams (name, namespace, created_at, updated_at)"
    " SELECT 'team-' || n, 'of-team-' || n, now(), now() FROM generate_series(0, :teams - 1) AS n"
)

_JOB_ROWS = text(
    """
    INSERT INTO jobs (id, team, name, queue, k8s_namespace, k8s_name, spec, charges, charged, priority,
                      priority_rank, labels, submitted_by, desired, state, counts, attempt, created_at, ended_at)
    SELECT (lpad(to_hex(extract(epoch FROM at)::bigint * 1000), 12, '0') || lpad(to_hex(n), 20, '0'))::uuid,
           'team-' || team,
           CASE WHEN live OR b % 10 < 5 THEN 'job-' || n WHEN b % 10 < 8 THEN 'nightly-' || c % 50 ELSE 'score' END,
           CASE WHEN c % 10 < 7 THEN 'q-' || team WHEN c % 10 < 9 THEN 'shared' ELSE 'batch-' || team END,
           'of-team-' || team, 'job-' || n, jsonb_build_object('tasks', '[]'::jsonb, 'padding', repeat('x', 700)), '{}',
           live, 'normal', 1,
           jsonb_build_object('stage', CASE WHEN a % 10 < 7 THEN 'production' ELSE 'test' END,
                              'dataset', 'd' || n / 1000, 'batch', 'b' || b % 6000)
             || CASE WHEN n <= 3000 THEN '{"pilot": "yes"}'::jsonb ELSE '{}' END,
           CASE WHEN robot THEN 'robot-' || team ELSE 'u-' || team || '-' || a % 25 END,
           'run',
           CASE WHEN live THEN (ARRAY['held', 'pending', 'running'])[1 + b % 3]
                WHEN b % 1000 = 0 THEN 'lost'
                WHEN NOT robot AND c % 12 = 0 THEN 'cancelled'
                WHEN NOT robot AND c % 11 = 1 OR c % 200 = 1 THEN 'failed' ELSE 'succeeded' END,
           '{}', 1, at, CASE WHEN live THEN NULL ELSE at END
    FROM (SELECT n, a, b, c, floor(:teams * power(d % 100000 / 100000.0, 3))::int AS team, b % 2 = 0 AS robot,
                 n > :rows - 300 OR n % 5000 = 0 AS live, to_timestamp(:begin + n::bigint * :seconds) AS at
          FROM (SELECT n, abs(hashint4(n)::bigint) AS a, abs(hashint4(n # 85731)::bigint) AS b,
                       abs(hashint4(n # 1234567)::bigint) AS c, abs(hashint4(n # 7654321)::bigint) AS d
                FROM generate_series(1, :rows) AS n) AS random) AS drawn
    """
)


def moment(share: float, rows: int = ROWS) -> datetime:
    """A moment of the history, 0 at its beginning and 1 at its end."""
    return datetime.fromtimestamp(BEGIN, UTC) + timedelta(seconds=share * rows * SECONDS)


async def fill(sessions: Sessions, *, rows: int) -> None:
    """Write the history of so many jobs."""
    async with sessions.begin() as session:
        await session.execute(_TEAM_ROWS, {"teams": TEAMS})
        await session.execute(_JOB_ROWS, {"rows": rows, "teams": TEAMS, "begin": BEGIN, "seconds": SECONDS})


def _filters(rows: int) -> dict[str, list[Any]]:
    """Values of each filter: frequent, rare, old, new, and not there."""
    return {
        "states": [["succeeded"], ["failed"], ["running"], ["lost"], ["suspended"], ["failed", "cancelled"]],
        "queue": ["q-0", "shared", "batch-19", "nobody"],
        "name": ["job-777", "nightly-7", "score", "nobody"],
        "labels": [
            *({"stage": "production"}, {"dataset": "d3"}, {"batch": "b77"}, {"pilot": "yes"}, {"pilot": "no"}),
            {"stage": "test", "pilot": "yes"},
        ],
        "submitted_by": ["robot-0", "robot-7", "u-0-3", "nobody"],
        "created_after": [moment(0.02, rows), moment(0.98, rows)],
        "created_before": [moment(0.02, rows), moment(0.98, rows)],
    }


def lists(size: int, rows: int = ROWS) -> Iterator[tuple[str, JobFilter]]:
    """Every list under `size` filters besides the team's, with every value of each, of two teams and of all."""
    filters = _filters(rows)
    for names in itertools.combinations(filters, size):
        for values in itertools.product(*(filters[name] for name in names)):
            given: dict[str, Any] = dict(zip(names, values, strict=True))
            for teams in ((), ("team-0",), ("team-19",)):
                yield f"{teams}: {given}", JobFilter(teams=frozenset(teams), **given)
