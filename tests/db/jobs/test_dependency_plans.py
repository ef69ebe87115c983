"""Plans over many jobs that wait for others, most of them for long: what is looked at is what is due."""

from typing import Any

import pytest
from sqlalchemy import ClauseElement, Executable, Select, text
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.ext.compiler import compiles

from app.db import Sessions
from app.jobs import settlements

_ID = "('00000000-0000-7000-8000-' || lpad(to_hex({}), 12, '0'))::uuid"
_FILL = f"""
    INSERT INTO jobs (id, team, name, queue, k8s_namespace, k8s_name, spec, charges, charged, priority, priority_rank,
                      labels, submitted_by, desired, state, counts, attempt, created_at, ended_at, open_parents)
    SELECT {_ID.format("n")}, 'nlp', 'job-' || n, 'q-nlp', 'team-nlp', 'job-' || n, '{{"tasks": []}}', '{{}}', false,
           'normal', 1, '{{}}', 'u', 'run', CASE WHEN n <= 20000 THEN 'succeeded' ELSE 'held' END, '{{}}', 1, now(),
           CASE WHEN n <= 20000 THEN now() END, CASE WHEN n <= 20000 THEN 0 ELSE 1 END
    FROM generate_series(1, 40000) AS n
"""
_LINKS = f"""
    INSERT INTO job_dependencies (job_id, place, parent_id, condition, otherwise, settled_at)
    SELECT {_ID.format("n")}, 0, {_ID.format("n - 1")}, 'succeeded', 'fail', CASE WHEN n <= 20000 THEN now() END
    FROM generate_series(2, 40000) AS n
"""


class Planned(Executable, ClauseElement):
    """EXPLAIN of a statement as it is sent, with its parameters."""

    inherit_cache = False

    def __init__(self, statement: Select[Any]) -> None:
        self.statement = statement


@compiles(Planned)
def _planned(element: Planned, compiler: Any, **arguments: Any) -> str:
    return f"EXPLAIN {compiler.process(element.statement, **arguments)}"


async def plan_of(connection: AsyncConnection, statement: Select[Any]) -> str:
    return "\n".join((await connection.execute(Planned(statement))).scalars())


@pytest.fixture
async def waiting(team: Any, sessions: Sessions) -> Any:
    """A connection to a database in which 20,000 jobs wait, each for the one before."""
    async with sessions.begin() as session:
        for statement in (_FILL, _LINKS, f"UPDATE jobs SET dependents_due = true WHERE id = {_ID.format(20000)}"):
            await session.execute(text(statement))
    async with sessions() as session:
        connection = await session.connection(execution_options={"isolation_level": "AUTOCOMMIT"})
        await connection.execute(text("VACUUM ANALYZE jobs"))
        await connection.execute(text("VACUUM ANALYZE job_dependencies"))
        yield connection


async def test_settling_reads_what_is_due_and_no_more(waiting: AsyncConnection) -> None:
    due = (await waiting.execute(settlements.due_statement("nlp", 100))).scalars().all()
    assert len(due) == 1
    dependents = [row.id for row in await waiting.execute(settlements.dependents_statement(due, 100))]
    assert len(dependents) == 1
    for statement in (
        settlements.due_statement("nlp", 100),
        settlements.dependents_statement(due, 100),
        settlements.links_statement(dependents),
    ):
        plan = await plan_of(waiting, statement)
        assert "Index" in plan
        assert "Seq Scan" not in plan, plan
