"""What Pumice asks of Kubernetes and Volcano, as verbs on raw dicts.

Writes are made once: only the controller's reconciling may repeat them, since it knows what a repetition would mean.
Reads may be repeated a few times here. Objects are those of Volcano v1.15.1 (volcano-facts 1).
"""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

import stamina

from app.cluster.client import JSON_PATCH, MERGE_PATCH, ClusterClient, Object, Query
from app.cluster.errors import AlreadyExists, ClusterUnavailable, Conflict, NotFound, Rejected
from app.cluster.kinds import COMMAND, JOB, QUEUE, WatchedKind
from app.cluster.watching import WatchEvent, watch_events

Propagation = Literal["Background", "Foreground", "Orphan"]
CommandAction = Literal["AbortJob", "ResumeJob", "TerminateJob", "RestartJob"]

_WRITE_SECONDS = 15.0
_READ_SECONDS = 10.0
_LIST_SECONDS = 60.0
_FINALIZER_TRIES = 5


@dataclass(frozen=True, slots=True)
class JobReference:
    """One Volcano Job and no other of the same name: the uid tells them apart."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list.

    Attributes:
        items: the objects.
        resource_version: of the whole list: where a watch goes on. "" when the server sent none.
        continue_token: asks for the next page; "" after the last.
    """

    items: list[Object]
    resource_version: str
    continue_token: str


class Volcano:
    """Verbs about Jobs, Commands and Queues, and the lists and watches of every kind.

    Every method raises the errors of `app.cluster.errors`.
    """

    def __init__(self, client: ClusterClient) -> None:
        self._client = client

    async def create_job(self, manifest: Object, *, timeout_seconds: float = _WRITE_SECONDS) -> Object:
        """Create a Job and return it as stored. Never repeated: `outcome_unknown` errors may have created it.

        Raises:
            AlreadyExists: read it, and adopt it if its job-id label is ours.
        """
        path = JOB.namespace_path(manifest["metadata"]["namespace"])
        return await self._client.request("POST", path, body=manifest, timeout_seconds=timeout_seconds)

    async def get_job(self, namespace: str, name: str) -> Object:
        """Read a Job."""
        return await self._read(JOB.object_path(namespace, name))

    async def delete_job(self, job: JobReference, *, propagation: Propagation = "Background") -> bool:
        """Delete a Job of exactly this uid.

        Returns:
            True when the server took the request, False when no object of that uid is there any more.
        """
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": propagation,
            "preconditions": {"uid": job.uid},
        }
        try:
            await self._client.request("DELETE", JOB.object_path(job.namespace, job.name), body=options)
        except (NotFound, Conflict):  # the uid is the only precondition that can fail
            return False
        return True

    async def patch_job(self, job: JobReference, patch: Object) -> Object:
        """Change a Job of exactly this uid by a JSON merge patch (RFC 7386) and return it as stored.

        Volcano's webhook lets only metadata, the priority class and numbers of pods change (volcano-facts 2.12).

        Raises:
            Rejected: a webhook refuses the change, or another Job has this name by now (422: its uid cannot change).
        """
        body = {**patch, "metadata": {**patch.get("metadata", {}), "uid": job.uid}}
        path = JOB.object_path(job.namespace, job.name)
        return await self._client.request("PATCH", path, body=body, content_type=MERGE_PATCH)

    async def remove_finalizer(self, job: JobReference, finalizer: str) -> None:
        """Take one finalizer off a Job; other finalizers and other objects of the same name are left alone.

        The JSON patch tests the uid and the finalizer's place in the list, so that a change in between makes the patch
        fail instead of taking off the wrong one; then it is read again.

        Raises:
            Conflict: somebody changed the finalizers at each of several tries.
        """
        path = JOB.object_path(job.namespace, job.name)
        for _ in range(_FINALIZER_TRIES):
            try:
                patch = _finalizer_patch(await self._read(path), job.uid, finalizer)
                if patch is not None:
                    await self._client.request("PATCH", path, body=patch, content_type=JSON_PATCH)
            except NotFound:
                return
            except Conflict:
                continue
            except Rejected as error:
                if error.status != 422:  # noqa: PLR2004 - what a failed test of a JSON patch answers
                    raise
                continue
            return
        raise Conflict(f"The finalizers of the Job changed at each of {_FINALIZER_TRIES} tries.")

    async def create_command(self, job: JobReference, action: CommandAction) -> None:
        """Ask Volcano's job controller for an action.

        Volcano deletes a Command before it carries it out (volcano-facts 1.6): this is at most once, so ask again until
        the Job shows it. The name is fixed, so that asking again does not pile up Commands while nobody takes them.
        """
        target = {"apiVersion": JOB.api_version, "kind": JOB.name, "name": job.name, "uid": job.uid}
        command = {
            "apiVersion": COMMAND.api_version,
            "kind": COMMAND.name,
            "metadata": {
                "name": f"{action.lower()}-{job.uid}",
                "namespace": job.namespace,
                "ownerReferences": [target],
            },
            "action": action,
            "target": target,
        }
        try:
            await self._client.request("POST", COMMAND.namespace_path(job.namespace), body=command)
        except AlreadyExists:
            return

    async def get_queue(self, name: str) -> Object:
        """Read a Queue."""
        return await self._read(QUEUE.object_path(None, name))

    async def create_queue(self, manifest: Object) -> Object:
        """Create a Queue and return it as stored."""
        return await self._client.request("POST", QUEUE.collection_path, body=manifest)

    async def patch_queue(self, name: str, patch: Object, *, resource_version: str | None = None) -> Object:
        """Change a Queue by a JSON merge patch (RFC 7386) and return it as stored.

        Args:
            name: of the Queue.
            patch: what to change; None as a value removes the field.
            resource_version: when given, a Queue that changed since is a `Conflict`.
        """
        body = dict(patch)
        if resource_version is not None:
            body["metadata"] = {**body.get("metadata", {}), "resourceVersion": resource_version}
        return await self._client.request("PATCH", QUEUE.object_path(None, name), body=body, content_type=MERGE_PATCH)

    async def list_page(
        self,
        kind: WatchedKind,
        *,
        limit: int = 500,
        continue_token: str = "",
    ) -> Page:
        """Read one page of all objects of a kind. Not repeated: the informer backs off by itself.

        Args:
            kind: what to list, narrowed by its label selector.
            limit: objects at the most; the server may send fewer.
            continue_token: of the page before; "" starts.

        Raises:
            Expired: the continue token is too old; the list must start anew.
        """
        query: Query = {
            "limit": limit,
            "continue": continue_token or None,
            "labelSelector": kind.label_selector,
        }
        answer = await self._client.request("GET", kind.collection_path, query=query, timeout_seconds=_LIST_SECONDS)
        items, metadata = answer.get("items"), answer.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        return Page(
            items=items if isinstance(items, list) else [],
            resource_version=str(metadata.get("resourceVersion") or ""),
            continue_token=str(metadata.get("continue") or ""),
        )

    @asynccontextmanager
    async def open_watch(
        self,
        kind: WatchedKind,
        resource_version: str,
        *,
        timeout_seconds: int,
        sock_read_seconds: float,
        connect_seconds: float = 5.0,
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        """Open a watch; entering succeeds once the server has accepted it.

        Args:
            kind: what to watch, narrowed by its label selector.
            resource_version: everything after it is sent.
            timeout_seconds: when the server is to end the watch by itself.
            sock_read_seconds: silence after which the connection counts as dead.
            connect_seconds: until the connection stands.

        Raises:
            Expired: 410 as the answer; as an ERROR event it is yielded like any other event.
        """
        query: Query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": timeout_seconds,
            "labelSelector": kind.label_selector,
        }
        async with (
            self._client.stream(
                kind.collection_path, query, connect_seconds=connect_seconds, sock_read_seconds=sock_read_seconds
            ) as content,
            aclosing(watch_events(content)) as events,
        ):
            yield events

    async def version(self) -> str:
        """Return the API server's version, for example `v1.36.1`."""
        return str((await self._read("/version")).get("gitVersion") or "unknown")

    @stamina.retry(on=ClusterUnavailable, attempts=3, timeout=_READ_SECONDS, wait_initial=0.1, wait_max=1.0)
    async def _read(self, path: str, query: Query | None = None) -> Object:
        return await self._client.request("GET", path, query=query, timeout_seconds=_READ_SECONDS)


def _finalizer_patch(job: Object, uid: str, finalizer: str) -> list[dict[str, Any]] | None:
    """Build the JSON patch (RFC 6902) that takes the finalizer off; None when there is nothing to take off."""
    metadata = job.get("metadata") or {}
    finalizers = metadata.get("finalizers") or []
    if metadata.get("uid") != uid or finalizer not in finalizers:
        return None
    place = f"/metadata/finalizers/{finalizers.index(finalizer)}"
    return [
        {"op": "test", "path": "/metadata/uid", "value": uid},
        {"op": "test", "path": place, "value": finalizer},
        {"op": "remove", "path": place},
    ]
