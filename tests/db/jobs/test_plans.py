"""Plans over many rows: no page of jobs walks through those that it does not show. Statements run as they are sent."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import ClauseElement, Executable, Select, text
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.ext.compiler import compiles

from app.db import Sessions
from app.jobs.listing import list_statement
from app.jobs.wanted import Cut, first_id_at
from tests.db.jobs.long_history import ROWS, TEAMS, fill, lists, moment

LIMIT = 51


@pytest.fixture
async def full(sessions: Sessions) -> Any:
    """A connection to a database with a long history."""
    await fill(sessions, rows=ROWS)
    async with sessions() as session:
        connection = await session.connection(execution_options={"isolation_level": "AUTOCOMMIT"})
        for name in ("jobs", "job_labels", "teams"):
            await connection.execute(text(f"VACUUM ANALYZE {name}"))
        await connection.execute(text("SET plan_cache_mode = force_custom_plan"))  # as list_jobs does
        yield connection


class Explain(Executable, ClauseElement):
    """What Postgres did to carry out a statement with its parameters."""

    inherit_cache = False

    def __init__(self, statement: Select[Any]) -> None:
        self.statement = statement


@compiles(Explain)
def _explain(element: Explain, compiler: Any, **arguments: Any) -> str:
    return f"EXPLAIN (ANALYZE, FORMAT JSON) {compiler.process(element.statement, **arguments)}"


@dataclass(frozen=True)
class Work:
    """How much was read: rows and index entries together, rows alone; and by which kinds of scans."""

    read: int
    rows: int
    scans: frozenset[tuple[str, str]]
    plan: str


async def work_of(connection: AsyncConnection, statement: Select[Any]) -> Work:
    (found,) = (await connection.execute(Explain(statement))).scalars()
    (plan,) = found if isinstance(found, list) else json.loads(found)
    scans = [node for node in _nodes(plan["Plan"]) if "Scan" in node["Node Type"] and node.get("Relation Name")]
    return Work(
        read=round(sum(_rows(node) for node in scans)),
        rows=round(
            sum(
                _rows(node)
                for node in scans
                if node["Node Type"] != "Index Only Scan" and node["Relation Name"] == "jobs"
            )
        ),
        scans=frozenset((node["Node Type"], node["Relation Name"]) for node in scans),
        plan=json.dumps(plan, indent=1),
    )


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for below in node.get("Plans", []):
        yield from _nodes(below)


def _rows(node: dict[str, Any]) -> float:
    passed: float = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    return passed * node["Actual Loops"]


MOST = {0: (2 * LIMIT, 2 * LIMIT), 1: (2 * LIMIT + 10, (TEAMS + 2) * LIMIT), 2: (4_500, ROWS // 2)}
"""By the number of filters: how many entries and rows a page of one team may read, and one of any team."""


@pytest.mark.parametrize("filters", [0, 1, 2])
async def test_no_page_walks_through_the_table(full: AsyncConnection, filters: int) -> None:
    """Also when what is looked for is rare, old, or not there at all, and under filters that never meet."""
    for number, (name, wanted) in enumerate(lists(filters)):
        of_a_team, of_any = MOST[min(2, filters + max(0, len(wanted.labels) - 1))]
        for newest_first, after in ((True, None), (False, first_id_at(moment(0.5)))):
            if filters > 1 and (number % 2 == 0) == newest_first:
                continue  # half of the many pairs in one direction, half in the other
            work = await work_of(full, list_statement(wanted, Cut(newest_first, after, LIMIT)))
            assert ("Seq Scan", "jobs") not in work.scans, f"{name}:\n{work.plan}"
            assert ("Seq Scan", "job_labels") not in work.scans, f"{name}:\n{work.plan}"
            assert work.read <= (of_any if wanted.team is None else of_a_team), f"{name}:\n{work.plan}"
            assert work.rows <= LIMIT, f"{name} reads more rows than it shows:\n{work.plan}"
