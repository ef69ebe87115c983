"""Connections that write events and commit in any order."""

from typing import Any
from uuid import UUID

import asyncpg

from app.db import now

WRITERS = 3
COLUMNS = ("job_id", "team", "at", "type", "state")


class Writer:
    """A connection that writes events, with at most one transaction open."""

    def __init__(self, connection: asyncpg.Connection, job_id: UUID) -> None:
        self.connection = connection
        self.written: list[int] = []
        self.committed: set[int] = set()
        self._job_id = job_id
        self._transaction: Any = None

    async def do(self, action: str) -> None:
        if self._transaction is None:
            self._transaction = self.connection.transaction()
            await self._transaction.start()
        await getattr(self, action)()

    async def write(self, team: str = "nlp") -> None:
        sql = f"INSERT INTO job_events ({', '.join(COLUMNS)}) VALUES ($1, $2, $3, 'state', 'held') RETURNING id"
        self.written.append(await self.connection.fetchval(sql, self._job_id, team, now()))

    async def copy(self) -> None:
        """Three events as the bulk path writes them."""
        records = [(self._job_id, "nlp", now(), "accepted", "held")] * 3
        await self.connection.copy_records_to_table("job_events", columns=COLUMNS, records=records)
        last = await self.connection.fetchval("SELECT currval('job_events_id_seq')")
        rows = await self.connection.fetch("SELECT id FROM job_events WHERE id <= $1 ORDER BY id DESC LIMIT 3", last)
        self.written += [row["id"] for row in rows]

    async def take_back(self) -> None:
        """An event in a savepoint that is rolled back: its id is never used."""
        savepoint = self.connection.transaction()
        await savepoint.start()
        await self.write()
        self.written.pop()
        await savepoint.rollback()

    async def commit(self) -> None:
        await self._transaction.commit()
        self.committed |= set(self.written)
        self._end()

    async def abort(self) -> None:
        await self._transaction.rollback()
        self._end()

    def _end(self) -> None:
        self._transaction = None
        self.written = []

    async def keep_writing(self, transactions: int, first: int) -> None:
        """So many transactions of different sizes, some of which are rolled back."""
        for number in range(first, first + transactions):
            for action in ("write", "copy", "write")[: number % 3 + 1]:
                await self.do(action)
            await self.do("abort" if number % 7 == 0 else "commit")

    @property
    def is_open(self) -> bool:
        return self._transaction is not None
