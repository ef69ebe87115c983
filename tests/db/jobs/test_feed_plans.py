"""Plans over a long history: no read of the feed looks at more of it than it shows."""

import itertools
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import ClauseElement, Executable, Select, text
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.ext.compiler import compiles

from app.db import Sessions
from app.jobs.feed import scope_statement

ROWS = 100_000

_FILL = text(
    """
    INSERT INTO job_events (job_id, team, at, type, state)
    SELECT (lpad(to_hex(n / 5), 32, '0'))::uuid, CASE WHEN n % 1000 = 0 THEN 'small' ELSE 'large' END, now(),
           'state', 'held'
    FROM generate_series(1, :rows) AS n
    """
)


class Explain(Executable, ClauseElement):
    """EXPLAIN of a statement with its parameters."""

    inherit_cache = False

    def __init__(self, statement: Select[Any]) -> None:
        self.statement = statement


@compiles(Explain)
def _explain(element: Explain, compiler: Any, **arguments: Any) -> str:
    return f"EXPLAIN {compiler.process(element.statement, **arguments)}"


@pytest.fixture
async def full(sessions: Sessions) -> Any:
    async with sessions.begin() as session:
        await session.execute(text("ALTER TABLE job_events DISABLE TRIGGER ALL"))
        await session.execute(_FILL, {"rows": ROWS})
    async with sessions() as session:
        connection = await session.connection(execution_options={"isolation_level": "AUTOCOMMIT"})
        await connection.execute(text("VACUUM ANALYZE job_events"))
        yield connection


async def test_no_read_of_the_feed_scans_or_sorts_the_table(full: AsyncConnection) -> None:
    teams = (None, "large", "small", "absent")
    jobs = (None, UUID(int=17), UUID(int=10**9))
    positions = ((0, ROWS), (ROWS // 2, ROWS), (ROWS - 10, ROWS), (ROWS, ROWS))
    for team, job_id, (position, until) in itertools.product(teams, jobs, positions):
        statement = scope_statement(position, until=until, team=team, job_id=job_id).limit(200)
        plan = "\n".join((await full.execute(Explain(statement))).scalars())
        assert "Seq Scan" not in plan, plan
        if job_id is None:
            assert "Sort" not in plan, plan
