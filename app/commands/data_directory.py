"""The data directory of `pumice up`: who may use it, and where in it things are."""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.commands.failure import CommandFailed

_TOKEN_BYTES = 32


class DataDirectory:
    """Paths below the root, which is made absolute so that a change of the working directory does not matter."""

    def __init__(self, root: Path) -> None:
        self.root = root.expanduser().resolve()
        self.postgres = self.root / "postgres"
        self.cluster_state = self.root / "cluster"
        self.kubeconfig = self.root / "kubeconfig"
        self.admin_token = self.root / "admin-token"
        self.log = self.root / "pumice.log"
        self.lock = self.root / "lock"

    def kept_admin_token(self) -> str:
        """The admin token of this directory: made at random the first time, kept in a file that only we can read."""
        try:
            return self.admin_token.read_text().strip()
        except FileNotFoundError:
            token = secrets.token_urlsafe(_TOKEN_BYTES)
            descriptor = os.open(self.admin_token, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(token + "\n")
            return token


@contextmanager
def locked(root: Path) -> Iterator[DataDirectory]:
    """Hold the data directory for this process alone. The lock ends with the process, however that ends.

    Raises:
        CommandFailed: another process holds it, or the directory cannot be used.
    """
    directory = DataDirectory(root)
    try:
        directory.root.mkdir(parents=True, exist_ok=True)
        lock = directory.lock.open("a+")
    except OSError as error:
        raise CommandFailed(f"The data directory {root} cannot be used: {error.strerror}.") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            raise CommandFailed(
                f"Process {lock.read().strip() or 'unknown'} already uses the data directory {root}; "
                "stop it, or give another one with --data-dir."
            ) from error
        lock.seek(0)
        lock.truncate()
        lock.write(str(os.getpid()))
        lock.flush()
        yield directory
