"""Plans over many rows: no list of jobs reads the whole table. Statements are planned as they are sent."""

import itertools
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import ClauseElement, Executable, Select, text
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.ext.compiler import compiles

from app.db import Sessions
from app.jobs.states import JobState
from app.jobs.store import JobFilter, first_id_at, list_statement

ROWS = 100_000
MIDDLE = datetime(2030, 6, 1, tzinfo=UTC)

_FILL = text(
    """
    INSERT INTO jobs (id, team, name, queue, k8s_namespace, k8s_name, spec, charges, charged, priority,
                      priority_rank, labels, submitted_by, desired, state, counts, attempt, created_at, ended_at)
    SELECT (lpad(to_hex((1893456000000 + n::bigint * 300000)), 12, '0') || lpad(to_hex(n), 20, '0'))::uuid,
           'nlp', CASE WHEN n % 1000 = 0 THEN 'live-' || n ELSE 'job-' || n % 4999 END, 'q-nlp', 'team-nlp',
           'job-' || n, '{"tasks": []}', '{}', n % 1000 = 0, 'normal', 1,
           jsonb_build_object('dataset', 'd' || n % 2000), 'u-' || n % 50, 'run',
           CASE WHEN n % 1000 = 0 THEN 'running' WHEN n % 7 = 0 THEN 'failed' ELSE 'succeeded' END, '{}', 1,
           to_timestamp(1893456000 + n::bigint * 300),
           CASE WHEN n % 1000 = 0 THEN NULL ELSE to_timestamp(1893456000 + n::bigint * 300) END
    FROM generate_series(1, :rows) AS n
    """
)


@pytest.fixture
async def full(team: Any, sessions: Sessions) -> Any:
    """A connection to a database with a long history."""
    async with sessions.begin() as session:
        await session.execute(text("ALTER TABLE jobs DISABLE TRIGGER ALL"))
        await session.execute(_FILL, {"rows": ROWS})
        await session.execute(text("ALTER TABLE jobs ENABLE TRIGGER ALL"))
    async with sessions() as session:
        connection = await session.connection(execution_options={"isolation_level": "AUTOCOMMIT"})
        await connection.execute(text("VACUUM ANALYZE jobs"))
        yield connection


class Explain(Executable, ClauseElement):
    """EXPLAIN of a statement with its parameters."""

    inherit_cache = False

    def __init__(self, statement: Select[Any]) -> None:
        self.statement = statement


@compiles(Explain)
def _explain(element: Explain, compiler: Any, **arguments: Any) -> str:
    return f"EXPLAIN {compiler.process(element.statement, **arguments)}"


async def plan_of(connection: AsyncConnection, statement: Select[Any]) -> str:
    return "\n".join((await connection.execute(Explain(statement))).scalars())


FILTERS: dict[str, dict[str, Any]] = {
    "team": {"teams": frozenset({"nlp"})},
    "rare state": {"states": [JobState.RUNNING]},
    "absent state": {"states": [JobState.SUSPENDED]},
    "two states": {"states": [JobState.RUNNING, JobState.FAILED]},
    "queue": {"queue": "q-nlp"},
    "name": {"name": "job-17"},
    "absent name": {"name": "nobody"},
    "label": {"labels": {"dataset": "d17"}},
    "submitted_by": {"submitted_by": "u-17"},
    "after": {"created_after": MIDDLE},
    "before": {"created_before": MIDDLE},
}


async def test_no_list_scans_the_table(full: AsyncConnection) -> None:
    after = first_id_at(MIDDLE)
    alone = [(name, values) for name, values in FILTERS.items() if name not in {"name", "absent name"}]
    pairs = [
        (f"{one} and {two}", {**FILTERS[one], **FILTERS[two]})
        for one, two in itertools.combinations(FILTERS, 2)
        if FILTERS[one].keys().isdisjoint(FILTERS[two])
    ]
    for (name, values), newest_first, start in itertools.product([*alone, *pairs], (True, False), (None, after)):
        statement = list_statement(JobFilter(**values), newest_first=newest_first, after=start, limit=51)
        plan = await plan_of(full, statement)
        assert "Index" in plan
        assert "Seq Scan" not in plan, f"{name}:\n{plan}"


async def test_a_members_page_reads_no_more_than_it_shows(full: AsyncConnection) -> None:
    statement = list_statement(JobFilter(teams=frozenset({"nlp"})), newest_first=True, after=None, limit=51)
    plan = await plan_of(full, statement)
    assert "Sort" not in plan
    rows = (await full.execute(statement)).all()
    assert len(rows) == 51
    assert [row.id for row in rows] == sorted((row.id for row in rows), reverse=True)


async def test_pages_join_without_gaps(full: AsyncConnection) -> None:
    wanted = JobFilter(teams=frozenset({"nlp"}), labels={"dataset": "d17"})
    whole = [row.id for row in await full.execute(list_statement(wanted, newest_first=True, after=None, limit=500))]
    assert len(whole) == ROWS // 2000
    after: UUID | None = None
    seen: list[UUID] = []
    while page := [
        row.id for row in await full.execute(list_statement(wanted, newest_first=True, after=after, limit=7))
    ]:
        seen += page
        after = page[-1]
    assert seen == whole
