"""The kinds of objects that the simulated cluster serves."""

from dataclasses import dataclass

VOLCANO_BATCH = "batch.volcano.sh"
VOLCANO_SCHEDULING = "scheduling.volcano.sh"
VOLCANO_BUS = "bus.volcano.sh"
RBAC = "rbac.authorization.k8s.io"
_CUSTOM_GROUPS = frozenset({VOLCANO_BATCH, VOLCANO_SCHEDULING, VOLCANO_BUS})


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """One resource type of the API: where it lives in the paths and what it allows.

    `subresources` names those that have their own path below an object, for example `status`.
    Volcano's PodGroup has none: its status is written with the object (volcano-facts 1.1).
    There is one instance of each, compared by identity: kinds are keys of every table.
    """

    group: str
    version: str
    plural: str
    name: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    subresources: frozenset[str] = frozenset()

    @property
    def api_version(self) -> str:
        """`v1` for the core group, else `group/version`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def custom(self) -> bool:
        """Whether a CustomResourceDefinition makes it: such kinds are decoded and checked by other rules."""
        return self.group in _CUSTOM_GROUPS


_STATUS = frozenset({"status"})

NAMESPACE = Kind("", "v1", "namespaces", "Namespace", namespaced=False, short_names=("ns",), subresources=_STATUS)
NODE = Kind("", "v1", "nodes", "Node", namespaced=False, short_names=("no",), subresources=_STATUS)
POD = Kind(
    "",
    "v1",
    "pods",
    "Pod",
    short_names=("po",),
    subresources=frozenset({"status", "binding", "log", "eviction"}),
)
EVENT = Kind("", "v1", "events", "Event", short_names=("ev",))
SERVICE = Kind("", "v1", "services", "Service", short_names=("svc",), subresources=_STATUS)
CONFIG_MAP = Kind("", "v1", "configmaps", "ConfigMap", short_names=("cm",))
SECRET = Kind("", "v1", "secrets", "Secret")
SERVICE_ACCOUNT = Kind(
    "", "v1", "serviceaccounts", "ServiceAccount", short_names=("sa",), subresources=frozenset({"token"})
)
RESOURCE_QUOTA = Kind("", "v1", "resourcequotas", "ResourceQuota", short_names=("quota",), subresources=_STATUS)
PRIORITY_CLASS = Kind(
    "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False, short_names=("pc",)
)
LEASE = Kind("coordination.k8s.io", "v1", "leases", "Lease")
DEPLOYMENT = Kind("apps", "v1", "deployments", "Deployment", short_names=("deploy",), subresources=_STATUS)
ROLE = Kind(RBAC, "v1", "roles", "Role")
ROLE_BINDING = Kind(RBAC, "v1", "rolebindings", "RoleBinding")
CLUSTER_ROLE = Kind(RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDING = Kind(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
JOB = Kind(VOLCANO_BATCH, "v1alpha1", "jobs", "Job", short_names=("vcjob", "vj"), subresources=_STATUS)
POD_GROUP = Kind(VOLCANO_SCHEDULING, "v1beta1", "podgroups", "PodGroup", short_names=("pg", "podgroup-v1beta1"))
QUEUE = Kind(
    VOLCANO_SCHEDULING,
    "v1beta1",
    "queues",
    "Queue",
    namespaced=False,
    short_names=("q", "queue-v1beta1"),
    subresources=_STATUS,
)
COMMAND = Kind(VOLCANO_BUS, "v1alpha1", "commands", "Command")

KINDS: tuple[Kind, ...] = (
    NAMESPACE,
    NODE,
    POD,
    EVENT,
    SERVICE,
    CONFIG_MAP,
    SECRET,
    SERVICE_ACCOUNT,
    RESOURCE_QUOTA,
    PRIORITY_CLASS,
    LEASE,
    DEPLOYMENT,
    ROLE,
    ROLE_BINDING,
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    JOB,
    POD_GROUP,
    QUEUE,
    COMMAND,
)
