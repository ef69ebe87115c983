"""The scripted cluster: plays recorded objects, and stands by what an API server promises about what Pumice writes."""

import itertools
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from app.cluster.cache import key_of
from app.cluster.kinds import JOB, NODE, POD, POD_GROUP, QUEUE, WATCHED_KINDS
from app.cluster.names import RECORDED_FINALIZER
from tests.replay.recording import Change
from tests.replay.watched import Mischief, Watched

Object = dict[str, Any]

RECORDERS_FINALIZER = "example.test/recorded"
KINDS = {kind.name: kind for kind in WATCHED_KINDS}


@dataclass
class Write:
    """One request by which Pumice changed something, or tried to."""

    verb: str
    plural: str
    name: str
    body: Any

    def __str__(self) -> str:
        return f"{self.verb} {self.plural}/{self.name}"


@dataclass
class Answer:
    """What a create call of Pumice's is answered with: a recorded object, or a recorded refusal."""

    status: int
    body: Object = field(default_factory=dict)


class Cluster:
    """Objects, and who made what.

    Attributes:
        answers: to create calls that are expected, by plural and key.
        made: the manifests of Pumice's Jobs by the uid of the recorded Job.
        unexpected: requests that no script foresaw; a test that ends with any has failed.
    """

    def __init__(self, mischief: Mischief | None = None) -> None:
        self.mischief = mischief or Mischief()
        self.kinds = {kind.name: Watched(kind) for kind in WATCHED_KINDS}
        self.answers: dict[tuple[str, str], Answer] = {}
        self.made: dict[str, Object] = {}
        self.writes: list[Write] = []
        self.unexpected: list[str] = []
        self._versions = itertools.count(1001)
        self.version = 1000
        for name in ("gpu-1", "gpu-2", "gpu-3"):
            self.put("Node", "ADDED", _node(name))

    def put(self, kind: str, change: str, obj: Object) -> Object:
        self.version = next(self._versions)
        return self.kinds[kind].write(change, obj, self.version)

    def find(self, kind: str, namespace: str | None, name: str) -> Object | None:
        return self.kinds[kind].objects.get(key_of(namespace, name))

    def create(self, plural: str, body: Object) -> Answer:
        """Answer a create call as the script says."""
        metadata = body["metadata"]
        name = metadata.get("name", "")
        self.writes.append(Write("POST", plural, name, body))
        if plural in {"namespaces", "commands"}:
            return Answer(201, body)  # Volcano takes a Command away before anybody sees it (volcano-facts 1.6)
        answer = self.answers.get((plural, key_of(metadata.get("namespace"), name)))
        if answer is None:
            self.unexpected.append(f"POST {plural}/{name}")
            return Answer(403, {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "not in the script"})
        if answer.status != 201:
            return answer
        kind = "Job" if plural == JOB.plural else "Queue"
        if kind == "Job":
            self.made[answer.body["metadata"]["uid"]] = body
        return Answer(201, self.put(kind, "ADDED", self._dressed(kind, answer.body, self._finalizers_of(body))))

    def play(self, change: Change, at: datetime) -> None:
        """Do what a recorded event tells, as it would have been with Pumice's labels and finalizer."""
        metadata = change.object["metadata"]
        stored = self.find(change.kind, metadata.get("namespace"), metadata["name"])
        if change.kind != "Job":
            if change.type != "DELETED" or stored is not None:
                self.put(change.kind, change.type, self._dressed(change.kind, change.object))
            return
        if stored is None:
            return  # it was held by the recorder's finalizer only, and ours had gone before
        left = self._left(stored)
        obj = self._dressed("Job", change.object, left)
        if change.type == "DELETED":
            obj["metadata"]["finalizers"] = left
        if change.type == "DELETED" and left:
            # the recorder had no finalizer: with one, the same request leaves the Job there (recordings 13 and 14)
            obj["metadata"].setdefault("deletionTimestamp", at.isoformat())
        self._store_job(obj, gone=change.type == "DELETED" and not left)

    def strip(self, job: Object) -> None:
        """Take our finalizer off, as a person can who wants a Job gone."""
        self._store_job({**job, "metadata": {**job["metadata"], "finalizers": []}})

    def patch_job(self, job: Object, patch: list[Object]) -> Object | None:
        """Take a finalizer off by a JSON patch (RFC 6902); None when a test in it fails."""
        self.writes.append(Write("PATCH", JOB.plural, job["metadata"]["name"], patch))
        finalizers = list(job["metadata"].get("finalizers") or [])
        for step in patch:
            if step["path"] == "/metadata/uid" and step["value"] != job["metadata"]["uid"]:
                return None
            place = step["path"].removeprefix("/metadata/finalizers/")
            if place.isdigit() and step["op"] == "test" and finalizers[int(place)] != step["value"]:
                return None
            if place.isdigit() and step["op"] == "remove":
                del finalizers[int(place)]
        return self._store_job({**job, "metadata": {**job["metadata"], "finalizers": finalizers}})

    def delete_job(self, job: Object, options: Object, at: datetime) -> int:
        """Delete a Job with what it owns; the status of the answer."""
        self.writes.append(Write("DELETE", JOB.plural, job["metadata"]["name"], options))
        if (options.get("preconditions") or {}).get("uid") != job["metadata"]["uid"]:
            return 409
        deleting = {**job, "metadata": {**job["metadata"], "deletionTimestamp": at.isoformat()}}
        self._store_job(deleting)
        if not job["metadata"].get("finalizers"):
            self._collect(job["metadata"]["uid"])
        return 200

    def _store_job(self, obj: Object, *, gone: bool = False) -> Object:
        metadata = obj["metadata"]
        gone = gone or bool(metadata.get("deletionTimestamp") and not metadata.get("finalizers"))
        return self.put("Job", "DELETED" if gone else "MODIFIED", obj)

    def _collect(self, uid: str) -> None:
        for kind in (POD.name, POD_GROUP.name):
            for obj in list(self.kinds[kind].objects.values()):
                if _owner(obj) == uid:
                    self.put(kind, "DELETED", obj)

    def _dressed(self, kind: str, obj: Object, finalizers: list[str] | None = None) -> Object:
        """A recorded object with the labels that Volcano copies from Pumice's manifest."""
        dressed = deepcopy(obj)
        metadata = dressed["metadata"]
        manifest = self.made.get(metadata["uid"] if kind == JOB.name else _owner(obj))
        if kind == QUEUE.name or manifest is None:
            return dressed
        template = manifest["spec"]["tasks"][0]["template"] if kind == POD.name else manifest
        metadata["labels"] = {**(metadata.get("labels") or {}), **(template["metadata"].get("labels") or {})}
        if finalizers is not None:
            foreign = [name for name in metadata.get("finalizers") or [] if name != RECORDERS_FINALIZER]
            metadata["finalizers"] = [*finalizers, *foreign]
        return dressed

    def _finalizers_of(self, manifest: Object) -> list[str]:
        return list(manifest["metadata"].get("finalizers") or [])

    def _left(self, stored: Object) -> list[str]:
        return [name for name in stored["metadata"].get("finalizers") or [] if name == RECORDED_FINALIZER]


def _owner(obj: Object) -> str:
    return next((owner["uid"] for owner in obj["metadata"].get("ownerReferences") or []), "")


def _node(name: str) -> Object:
    return {
        "kind": NODE.name,
        "apiVersion": NODE.api_version,
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {},
        "status": {
            "allocatable": {"cpu": "32", "memory": "256Gi", "nvidia.com/gpu": "2", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
