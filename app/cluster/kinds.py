"""The kinds of objects that Pumice reads, writes and watches, and where they live in the API."""

from dataclasses import dataclass
from urllib.parse import quote

from app.cluster.names import JOB_ID_LABEL


@dataclass(frozen=True, slots=True)
class WatchedKind:
    """One resource type (volcano-facts 1.1, Volcano v1.15.1).

    Attributes:
        name: the object's `kind`.
        api_version: its `apiVersion`.
        plural: its name in paths.
        namespaced: False for cluster-wide objects.
        label_selector: narrows what is listed and watched; None takes everything.
    """

    name: str
    api_version: str
    plural: str
    namespaced: bool = True
    label_selector: str | None = None

    @property
    def collection_path(self) -> str:
        """Path of all objects, over all namespaces."""
        root = "apis" if "/" in self.api_version else "api"
        return f"/{root}/{self.api_version}/{self.plural}"

    def namespace_path(self, namespace: str) -> str:
        """Path of the objects of one namespace."""
        root, _, plural = self.collection_path.rpartition("/")
        return f"{root}/namespaces/{quote(namespace, safe='')}/{plural}"

    def object_path(self, namespace: str | None, name: str) -> str:
        """Path of one object; the namespace is None if and only if the kind has none."""
        collection = self.collection_path if namespace is None else self.namespace_path(namespace)
        return f"{collection}/{quote(name, safe='')}"


JOB = WatchedKind("Job", "batch.volcano.sh/v1alpha1", "jobs", label_selector=JOB_ID_LABEL)
POD_GROUP = WatchedKind("PodGroup", "scheduling.volcano.sh/v1beta1", "podgroups")
POD = WatchedKind("Pod", "v1", "pods", label_selector=JOB_ID_LABEL)
QUEUE = WatchedKind("Queue", "scheduling.volcano.sh/v1beta1", "queues", namespaced=False)
NODE = WatchedKind("Node", "v1", "nodes", namespaced=False)

WATCHED_KINDS: tuple[WatchedKind, ...] = (JOB, POD_GROUP, POD, QUEUE, NODE)
"""Every kind that the controller holds an informer for.

Jobs and pods are ours alone: the label must stand on the Job and on its pod templates. PodGroups are not narrowed,
since the queues' counts are over everybody's work (`Queue.status` has none since Volcano 1.11).
"""

COMMAND = WatchedKind("Command", "bus.volcano.sh/v1alpha1", "commands")
