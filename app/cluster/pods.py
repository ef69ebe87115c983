"""What Pumice asks of Kubernetes about single pods: a turn for one that waits behind our gate, and a deletion.

Both are made once and may be repeated by the caller: each names the pod's uid, and does nothing the second time.
"""

from app.cluster.client import JSON_PATCH, ClusterClient, Object
from app.cluster.containers import PodReference
from app.cluster.errors import Conflict, NotFound, Rejected
from app.cluster.kinds import POD
from app.cluster.names import INDEX_ANNOTATION, TURN_GATE

__all__ = ["PodReference", "Pods"]

_NOT_APPLICABLE = "the server rejected our request due to an error in our request"
"""What a kube-apiserver says, with 422, of a JSON patch whose test fails or whose path is not there (v1.36).

Other refusals with 422 say `Pod "..." is invalid: ...`.
"""


class Pods:
    """Verbs about pods. Every method raises the errors of `app.cluster.errors`."""

    def __init__(self, client: ClusterClient) -> None:
        self._client = client

    async def admit_pod(self, pod: PodReference, gates: tuple[str, ...], index: int) -> bool:
        """Give a gated pod its index and take our gate off, in one step; gates of others stay.

        A pod that had its turn before keeps the index that it got then, whoever asks again: the patch tests the gate.

        Args:
            pod: which one; it has annotations, as every pod of a Volcano Job.
            gates: its gates as they were last observed, in their order.
            index: which of the job's indices it is to be, from 0.

        Returns:
            True when it was done now; False when the pod is not as it was observed: it is gone, another took its name,
            or its gates changed. Look at it again then.

        Raises:
            ValueError: our gate is not among `gates`.
        """
        patch = _turn_patch(pod.uid, gates.index(TURN_GATE), index)
        path = POD.object_path(pod.namespace, pod.name)
        try:
            await self._client.request("PATCH", path, body=patch, content_type=JSON_PATCH)
        except (NotFound, Conflict):
            return False
        except Rejected as error:
            if error.message != _NOT_APPLICABLE:
                raise
            return False
        return True

    async def delete_pod(self, pod: PodReference) -> bool:
        """Delete a pod of exactly this uid, with its own grace period.

        Returns:
            True when the server took the request, False when no pod of that uid is there any more.
        """
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid}}
        try:
            await self._client.request("DELETE", POD.object_path(pod.namespace, pod.name), body=options)
        except (NotFound, Conflict):  # the uid is the only precondition that can fail
            return False
        return True


def _turn_patch(uid: str, place: int, index: int) -> list[Object]:
    """The JSON patch (RFC 6902). Its tests fail for another pod of the name, and when our gate is not in its place."""
    gate = f"/spec/schedulingGates/{place}"
    annotation = f"/metadata/annotations/{INDEX_ANNOTATION.replace('/', '~1')}"
    return [
        {"op": "test", "path": "/metadata/uid", "value": uid},
        {"op": "test", "path": f"{gate}/name", "value": TURN_GATE},
        {"op": "add", "path": annotation, "value": str(index)},
        {"op": "remove", "path": gate},
    ]
