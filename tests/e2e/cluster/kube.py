"""The administrator's view of the cluster: the few verbs of the Kubernetes API that the suite needs, on raw dicts."""

from typing import Any

import stamina

from app.cluster.client import MERGE_PATCH, ClusterClient, Object
from app.cluster.errors import ClusterThrottled, ClusterUnavailable, Conflict, NotFound
from app.cluster.kinds import QUEUE, WatchedKind

NAMESPACE = WatchedKind("Namespace", "v1", "namespaces", namespaced=False)
EVENT = WatchedKind("Event", "v1", "events")
SERVICE_ACCOUNT = WatchedKind("ServiceAccount", "v1", "serviceaccounts")
CLUSTER_ROLE = WatchedKind("ClusterRole", "rbac.authorization.k8s.io/v1", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDING = WatchedKind(
    "ClusterRoleBinding", "rbac.authorization.k8s.io/v1", "clusterrolebindings", namespaced=False
)
PRIORITY_CLASS = WatchedKind("PriorityClass", "scheduling.k8s.io/v1", "priorityclasses", namespaced=False)

CLUSTER_WIDE = (NAMESPACE, QUEUE, CLUSTER_ROLE, CLUSTER_ROLE_BINDING, PRIORITY_CLASS)
"""Kinds without a namespace of which the suite makes objects."""

_away = stamina.retry(on=(ClusterUnavailable, ClusterThrottled), attempts=6, timeout=60.0, wait_max=5.0)


class Kube:
    """Requests of one account. Reads and deletes are repeated while the API server is away or busy."""

    def __init__(self, client: ClusterClient) -> None:
        self.client = client

    @_away
    async def get(self, path: str) -> Object | None:
        """Read an object; None when it is not there."""
        try:
            return await self.client.request("GET", path)
        except NotFound:
            return None

    @_away
    async def list(self, path: str, selector: str | None = None) -> list[Object]:
        """All objects of a collection; none when the cluster does not know the kind."""
        items: list[Object] = []
        token = None
        while True:
            query = {"limit": 500, "continue": token, "labelSelector": selector}
            try:
                page = await self.client.request("GET", path, query=query, timeout_seconds=30)
            except NotFound:
                return []
            items += page["items"]
            token = page["metadata"].get("continue")
            if not token:
                return items

    async def create(self, path: str, body: Any) -> Object:
        """Create an object."""
        return await self.client.request("POST", path, body=body)

    async def merge(self, path: str, body: Any) -> Object:
        """Change an object by a merge patch."""
        return await self.client.request("PATCH", path, body=body, content_type=MERGE_PATCH)

    @_away
    async def delete(self, path: str, uid: str | None = None, grace_seconds: int | None = None) -> None:
        """Delete an object; one that is gone, or that is another by now, is no fault."""
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        try:
            await self.client.request("DELETE", path, body=options)
        except (NotFound, Conflict):
            return
