"""Looks at the cluster twice a second during the whole run: what was ever there, and what no kubelet would do.

On nodes that only pretend (kwok) it also plays the kubelet: it ends pods that are to fail, and removes pods that are
being deleted, whose process would have ended.
"""

import asyncio
import time
from collections import defaultdict
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal

from app.cluster.client import Object
from app.cluster.errors import ClusterError
from app.cluster.kinds import JOB, POD, QUEUE
from app.cluster.names import JOB_ID_LABEL
from tests.e2e.cluster.bodies import EXIT_CODE
from tests.e2e.cluster.kube import Kube
from tests.e2e.cluster.shape import Shape

_PAUSE_SECONDS = 0.5
_A_KUBELET_WOULD_HAVE_SECONDS = 5.0


class Witness:
    """Remembers which Volcano Jobs each job had, and the most that each queue had allocated."""

    def __init__(self, kube: Kube, shape: Shape, run: str) -> None:
        self.uids: dict[str, set[str]] = defaultdict(set)
        self.by_name: dict[str, set[str]] = defaultdict(set)
        self.at_once: dict[str, set[str]] = defaultdict(set)
        self.peaks: dict[str, Decimal] = defaultdict(Decimal)
        self.rounds = 0
        self._kube = kube
        self.shape = shape
        self._run = run
        self._running_since: dict[str, float] = {}

    async def run(self) -> None:
        """Look for ever; a cluster that is away for a moment is looked at later."""
        while True:
            with suppress(ClusterError):
                await self.look()
            await asyncio.sleep(_PAUSE_SECONDS)

    async def look(self) -> None:
        """Look once."""
        present: dict[str, set[str]] = defaultdict(set)
        for job in await self._kube.list(JOB.collection_path, JOB_ID_LABEL):
            if self._is_ours(job):
                metadata = job["metadata"]
                present[metadata["labels"][JOB_ID_LABEL]].add(metadata["uid"])
                self.by_name[f"{metadata['namespace']}/{metadata['name']}"].add(metadata["uid"])
        for job_id, uids in present.items():
            self.uids[job_id] |= uids
            self.at_once[job_id] |= uids if len(uids) > 1 else set()
        for queue in await self._kube.list(QUEUE.collection_path):
            name = queue["metadata"]["name"]
            if name.startswith(self._run):
                allocated = self.shape.units_in(queue.get("status", {}).get("allocated") or {})
                self.peaks[name] = max(self.peaks[name], allocated)
        for pod in await self._kube.list(POD.collection_path, JOB_ID_LABEL):
            if self._is_ours(pod):
                await self._act(pod)
        self.rounds += 1

    def twice(self) -> dict[str, set[str]]:
        """What was ever there twice: a name that two Jobs had, or a job that had two Jobs at the same time.

        A job has one Volcano Job for each of its runs, each with a name of its own, one after the other.
        """
        by_name = {name: uids for name, uids in self.by_name.items() if len(uids) > 1}
        return by_name | {job_id: uids for job_id, uids in self.at_once.items() if uids}

    def _is_ours(self, obj: Object) -> bool:
        return str(obj["metadata"]["namespace"]).startswith(self._run)

    async def _act(self, pod: Object) -> None:
        metadata = pod["metadata"]
        path = POD.object_path(metadata["namespace"], metadata["name"])
        pretended = pod["spec"].get("nodeName") in self.shape.pretending
        if "deletionTimestamp" in metadata:
            if pretended:
                await self._kube.delete(path, metadata["uid"], grace_seconds=0)
        elif pod["status"].get("phase") == "Running" and EXIT_CODE in metadata.get("annotations", {}):
            since = self._running_since.setdefault(metadata["uid"], time.monotonic())
            if pretended or time.monotonic() - since > _A_KUBELET_WOULD_HAVE_SECONDS:
                await self._kube.merge(f"{path}/status", _ended(pod, int(metadata["annotations"][EXIT_CODE])))


def _ended(pod: Object, exit_code: int) -> Object:
    """The status that a kubelet writes when the container has ended."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    terminated = {"exitCode": exit_code, "reason": "Error", "startedAt": now, "finishedAt": now}
    statuses = [
        {
            "name": container["name"],
            "image": container["image"],
            "imageID": "",
            "ready": False,
            "restartCount": 0,
            "state": {"terminated": terminated},
        }
        for container in pod["spec"]["containers"]
    ]
    # the version makes it fail when a kubelet, or another round of ours, was faster
    version = {"resourceVersion": pod["metadata"]["resourceVersion"]}
    return {"metadata": version, "status": {"phase": "Failed", "containerStatuses": statuses}}
