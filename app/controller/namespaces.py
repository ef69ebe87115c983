"""The teams' namespaces: created before their first use, never changed or deleted."""

from contextlib import suppress

from app.cluster.client import ClusterClient
from app.cluster.errors import AlreadyExists, Rejected, RightMissing

_PATH = "/api/v1/namespaces"


class Namespaces:
    """Remembers which namespaces are known to exist."""

    def __init__(self, client: ClusterClient) -> None:
        self._client = client
        self._known: set[str] = set()
        self._barred: dict[str, str] = {}

    async def ensure(self, name: str) -> None:
        """Create a namespace if this process does not know that it exists.

        Where we may not create namespaces, somebody else makes them: then it is taken to be there, and the Job's own
        create call says if it is not.

        Raises:
            ClusterError: the API server did not answer.
        """
        if name in self._known:
            return
        manifest = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": "pumice"}},
        }
        self._barred.pop(name, None)
        try:
            with suppress(AlreadyExists, Rejected):
                await self._client.request("POST", _PATH, body=manifest)
        except RightMissing as error:
            self._barred[name] = error.message
        self._known.add(name)

    def why_missing(self, name: str) -> str | None:
        """Say why we could not make a namespace; None when that was not for want of a right."""
        return self._barred.get(name)

    def forget(self, name: str) -> None:
        """The API server said that it is not there."""
        self._known.discard(name)
