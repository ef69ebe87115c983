"""The teams' namespaces: created before their first use, never changed or deleted."""

from contextlib import suppress

from app.cluster.client import ClusterClient
from app.cluster.errors import AlreadyExists

_PATH = "/api/v1/namespaces"


class Namespaces:
    """Remembers which namespaces are known to exist."""

    def __init__(self, client: ClusterClient) -> None:
        self._client = client
        self._known: set[str] = set()

    async def ensure(self, name: str) -> None:
        """Create a namespace if this process does not know that it exists.

        Raises:
            ClusterError: it could not be created; `Rejected` when we may not.
        """
        if name in self._known:
            return
        manifest = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": "pumice"}},
        }
        with suppress(AlreadyExists):
            await self._client.request("POST", _PATH, body=manifest)
        self._known.add(name)

    def forget(self, name: str) -> None:
        """The API server said that it is not there."""
        self._known.discard(name)
