"""What stands in a cluster before anybody uses it: namespaces, roles, priority classes, Volcano's deployments."""

from app.simulator.kinds import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, DEPLOYMENT, NAMESPACE, PRIORITY_CLASS, RBAC, Kind
from app.simulator.objects import ApiError, Object, Objects

VOLCANO_NAMESPACE = "volcano-system"
VOLCANO_VERSION = "v1.15.1"
"""The version that the simulated Volcano imitates (volcano-traces)."""
_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease", VOLCANO_NAMESPACE)
_PRIORITIES = {
    "low": -1000,  # below 0, which is what a pod without a class has
    "high": 1000,
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
_DEPLOYMENTS = {
    "volcano-scheduler": "vc-scheduler",
    "volcano-controllers": "vc-controller-manager",
    "volcano-admission": "vc-webhook-manager",
}
_PUBLIC_PATHS = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_DISCOVERY_PATHS = (*_PUBLIC_PATHS, "/openapi", "/openapi/*", "/api", "/api/*", "/apis", "/apis/*")
_ALL_RULES: tuple[Object, ...] = (
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
)
_REVIEWS: Object = {
    "apiGroups": ["authorization.k8s.io"],
    "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    "verbs": ["create"],
}
_ROLES: dict[str, tuple[tuple[Object, ...], tuple[str, ...]]] = {
    "cluster-admin": (_ALL_RULES, ("system:masters",)),
    "system:discovery": (
        ({"nonResourceURLs": list(_DISCOVERY_PATHS), "verbs": ["get"]},),
        ("system:authenticated",),
    ),
    "system:basic-user": ((_REVIEWS,), ("system:authenticated",)),
}
"""Those of a kube-apiserver's own cluster roles that matter here, each with the groups that it is bound to."""

_SIMULATED = {"pumice.dev/simulated": "true"}


async def plant_seeds(objects: Objects) -> None:
    """Create what is missing. A restored store keeps what it has."""
    for name in _NAMESPACES:
        await _create_if_missing(objects, NAMESPACE, {"metadata": {"name": name}})
    for name, value in _PRIORITIES.items():
        labels = {} if name.startswith("system-") else _SIMULATED
        metadata = {"name": name, "labels": labels}
        await _create_if_missing(
            objects, PRIORITY_CLASS, {"metadata": metadata, "value": value, "globalDefault": False}
        )
    for name, (rules, groups) in _ROLES.items():
        await _plant_role(objects, name, rules, groups)
    for name, image in _DEPLOYMENTS.items():
        await _plant_deployment(objects, name, image)


async def _plant_role(objects: Objects, name: str, rules: tuple[Object, ...], groups: tuple[str, ...]) -> None:
    metadata = {"name": name, "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}
    await _create_if_missing(objects, CLUSTER_ROLE, {"metadata": metadata, "rules": list(rules)})
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    subjects = [{"apiGroup": RBAC, "kind": "Group", "name": group} for group in groups]
    binding: Object = {"metadata": metadata, "roleRef": reference, "subjects": subjects}
    await _create_if_missing(objects, CLUSTER_ROLE_BINDING, binding)


async def _plant_deployment(objects: Objects, name: str, image: str) -> None:
    labels = {"app": name, **_SIMULATED}
    container = {"name": name, "image": f"volcanosh/{image}:{VOLCANO_VERSION}"}
    deployment: Object = {
        "metadata": {"name": name, "namespace": VOLCANO_NAMESPACE, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
    if await _create_if_missing(objects, DEPLOYMENT, deployment):
        counts = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas", "updatedReplicas"), 1)
        condition = {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"}
        status = {"observedGeneration": 1, **counts, "conditions": [condition]}
        await objects.patch(DEPLOYMENT, VOLCANO_NAMESPACE, name, {"status": status}, "status")


async def _create_if_missing(objects: Objects, kind: Kind, obj: Object) -> bool:
    try:
        await objects.create(kind, obj)
    except ApiError as refusal:
        if refusal.reason != "AlreadyExists":
            raise
        return False
    return True
