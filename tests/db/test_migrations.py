import asyncio

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from app.migrate import current_revision, downgrade, drift, head_revision, upgrade
from migrations.metadata import METADATA


async def test_the_models_and_the_migrated_schema_agree(engine: AsyncEngine) -> None:
    assert await current_revision(engine) == head_revision()
    assert await drift(engine, METADATA) == []


async def test_three_processes_may_migrate_at_once(empty_database_url: str) -> None:
    engines = [create_async_engine(empty_database_url, poolclass=NullPool) for _ in range(3)]
    await asyncio.gather(*(upgrade(engine) for engine in engines))
    async with engines[0].connect() as connection:
        rows = (await connection.execute(text("SELECT version_num FROM alembic_version"))).scalars().all()
    assert rows == [head_revision()]
    for engine in engines:
        await engine.dispose()


async def test_every_migration_can_be_taken_back_and_made_again(empty_database_url: str) -> None:
    engine = create_async_engine(empty_database_url, poolclass=NullPool)
    await upgrade(engine)
    await downgrade(engine, "base")
    async with engine.connect() as connection:
        tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
        assert (await connection.execute(text(tables))).scalar_one() == 0
    await upgrade(engine)
    assert await drift(engine, METADATA) == []
    await engine.dispose()
