"""What a kube-apiserver fills in: the defaults of core kinds and of Volcano's CRDs. Objects are changed in place."""

import base64
from collections.abc import Callable
from typing import Any

from app.simulator.access.checks import default_binding
from app.simulator.kinds import (
    CLUSTER_ROLE_BINDING,
    CONFIG_MAP,
    DEPLOYMENT,
    EVENT,
    NAMESPACE,
    POD,
    PRIORITY_CLASS,
    ROLE_BINDING,
    SECRET,
    SERVICE,
    Kind,
)
from app.simulator.objects import Object
from app.simulator.schema_checks import prune
from app.simulator.schemas import DEFAULTS, SCHEMAS

_NOT_READY_TOLERATIONS = tuple(
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("not-ready", "unreachable")
)


def apply_defaults(kind: Kind, obj: Object) -> None:
    """Fill in what is missing in `spec` and, for new core objects, in `status`."""
    for field, value in DEFAULTS.get(kind, {}).items():
        spec = obj.get("spec")  # an object without a spec gets none: the CRDs have no default for it
        if isinstance(spec, dict) and spec.get(field) is None:
            spec[field] = value
    special = _SPECIAL.get(kind)
    if special is not None:
        special(obj)


def drop_nulls(kind: Kind, obj: Object) -> None:
    """Drop the nulls that mean "absent".

    For core kinds those are all in `spec`, and those right below the object and its `status`; events keep theirs, as a
    null `eventTime` is written out. For custom resources they are those of the fields that the schema knows.
    """
    spec = obj.get("spec")
    if kind in SCHEMAS:
        prune(SCHEMAS[kind], obj)
        return
    for part in () if kind is EVENT else (obj, obj.get("status")):
        if isinstance(part, dict):
            for field in [field for field, value in part.items() if value is None]:
                del part[field]
    if spec is not None:
        obj["spec"] = _without_nulls(spec)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value if item is not None]
    return value


def _pod(pod: Object) -> None:
    spec = pod.setdefault("spec", {})
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        _container(container)
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("enableServiceLinks", True)
    # DefaultTolerationSeconds, an admission plugin that every cluster has on.
    tolerations = spec.setdefault("tolerations", [])
    tolerations.extend(dict(t) for t in _NOT_READY_TOLERATIONS if t["key"] not in {o.get("key") for o in tolerations})
    pod.setdefault("status", {}).setdefault("phase", "Pending")
    pod["status"].setdefault("qosClass", _quality_of_service(spec))


def _container(container: Object) -> None:
    resources = container.setdefault("resources", {})
    limits = resources.get("limits") or {}
    if limits:
        resources["requests"] = {**limits, **(resources.get("requests") or {})}
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    image = str(container.get("image") or "")
    tagged = ":" in image.rpartition("/")[2] and not image.endswith(":latest")
    container.setdefault("imagePullPolicy", "IfNotPresent" if tagged or "@" in image else "Always")


def _quality_of_service(spec: Object) -> str:
    """`Guaranteed` when every container's cpu and memory have limits equal to the requests (docs, "Pod QoS")."""
    resources = [container["resources"] for container in spec.get("containers") or ()]
    named = [{**(r.get("requests") or {}), **(r.get("limits") or {})} for r in resources]
    if not any("cpu" in names or "memory" in names for names in named):
        return "BestEffort"
    equal = all(
        name in (r.get("limits") or {}) and str(r["limits"][name]) == str(r["requests"][name])
        for r in resources
        for name in ("cpu", "memory")
    )
    return "Guaranteed" if equal else "Burstable"


def _namespace(namespace: Object) -> None:
    labels = namespace["metadata"].setdefault("labels", {})
    labels["kubernetes.io/metadata.name"] = namespace["metadata"].get("name") or ""
    namespace.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"])
    namespace.setdefault("status", {}).setdefault("phase", "Active")


def _priority_class(priority_class: Object) -> None:
    priority_class.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _secret(secret: Object) -> None:
    secret.setdefault("type", "Opaque")
    plain = secret.pop("stringData", None) or {}
    if plain:
        encoded = {key: base64.b64encode(str(text).encode()).decode() for key, text in plain.items()}
        secret["data"] = {**(secret.get("data") or {}), **encoded}


def _config_map(config_map: Object) -> None:
    data = config_map.get("data")
    if data:
        config_map["data"] = {key: "" if value is None else value for key, value in data.items()}


def _service(service: Object) -> None:
    spec = service.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    service.setdefault("status", {"loadBalancer": {}})


def _deployment(deployment: Object) -> None:
    deployment.setdefault("spec", {}).setdefault("replicas", 1)
    deployment.setdefault("status", {})


_SPECIAL: dict[Kind, Callable[[Object], None]] = {
    POD: _pod,
    NAMESPACE: _namespace,
    PRIORITY_CLASS: _priority_class,
    SECRET: _secret,
    CONFIG_MAP: _config_map,
    SERVICE: _service,
    DEPLOYMENT: _deployment,
    ROLE_BINDING: default_binding,
    CLUSTER_ROLE_BINDING: default_binding,
}
