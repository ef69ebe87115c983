"""Which whole devices a pod holds (Kubernetes docs, "Extended resources" and "Init containers: resource sharing")."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from app.cluster import fields
from app.quantity import QuantityError, whole


def extended_resources(spec: Mapping[str, Any]) -> dict[str, int]:
    """Return the extended resources of a pod, by resource name; those of zero are left out.

    Containers and sidecars (init containers with `restartPolicy: Always`) hold theirs at the same time; an init
    container holds its own before them, beside the sidecars that have started already. The larger of the two counts.
    """
    together: Counter[str] = Counter()
    largest: Counter[str] = Counter()
    for container in fields.mappings(spec.get("initContainers")):
        if container.get("restartPolicy") == "Always":
            together.update(_of_container(container))
        else:
            largest |= together + _of_container(container)
    for container in fields.mappings(spec.get("containers")):
        together.update(_of_container(container))
    return dict(together | largest)


def is_extended(resource: str) -> bool:
    """Tell whether a resource is an extended one: qualified by a domain that is not Kubernetes' own."""
    domain, slash, _ = resource.partition("/")
    return bool(slash) and domain != "kubernetes.io" and not domain.endswith(".kubernetes.io")


def _of_container(container: Mapping[str, Any]) -> Counter[str]:
    resources = fields.mapping(container, "resources")
    # For extended resources requests equal limits, where both stand (validated by the API server).
    amounts = {**fields.quantities(resources.get("requests")), **fields.quantities(resources.get("limits"))}
    found: Counter[str] = Counter()
    for name, quantity in amounts.items():
        if is_extended(name):
            try:
                found[name] = whole(quantity)
            except QuantityError:  # the API server lets none in
                continue
    return found
