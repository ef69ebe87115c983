"""A PostgreSQL server of one test, to be killed as `kill -9` does it and started again over what it kept."""

from pathlib import Path

import psutil

from app.embedded import EmbeddedPostgres


class OwnPostgres:
    """The server of the embedded wheel; its address stays the same across restarts."""

    def __init__(self, directory: Path) -> None:
        self._embedded = EmbeddedPostgres(directory)
        self.url = self._embedded.url

    def kill(self) -> None:
        """SIGKILL to the postmaster; its children end by themselves, and whoever starts it again waits for them."""
        postmaster = psutil.Process(self._embedded.pid)
        children = postmaster.children(recursive=True)
        postmaster.kill()
        psutil.wait_procs([postmaster, *children], timeout=30)

    def start(self) -> None:
        """Start it over the same directory: PostgreSQL recovers from its log."""
        self._embedded._server.ensure_postgres_running()

    def stop(self) -> None:
        self._embedded.stop()
