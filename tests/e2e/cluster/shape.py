"""What the cluster can do: which resource is counted, how much of it is free, and who plays the kubelet."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from app import quantity
from app.cluster.client import Object
from app.cluster.kinds import NODE, POD
from tests.e2e.cluster.kube import Kube

CPU = "cpu"
_FIRST_CHOICE = "nvidia.com/gpu"
_CARDS = ("gpu", "/mig-", "npu", "dcu", "ascend")
_NO_CARDS = ("volcano.sh/", "requests.", "limits.")
_MOST_UNITS = 6
_LEAST_UNITS = 4
_LARGEST_CPU_UNIT = Decimal("0.5")
_LEAST_CPU_UNIT = Decimal("0.01")
_KWOK = "kwok.x-k8s.io/node"
_OVER = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True)
class Shape:
    """What the scenarios are cut to.

    Attributes:
        resource: the counted one: a GPU resource, else cpu.
        unit: amount of it that one pod asks for.
        units: how many such pods find room now, all nodes together; at most six are ever used.
        largest: most of the resource that any node has in all.
        held: amount that pods of others hold.
        pretending: nodes whose pods run no process (kwok): the suite has to end some of their pods.
        tolerations: what a pod needs to get onto the nodes, as a job's body has it.
        node_selector: keeps pods on those nodes.
    """

    resource: str
    unit: Decimal
    units: int
    largest: Decimal
    held: Decimal
    nodes: tuple[str, ...]
    pretending: frozenset[str]
    tolerations: tuple[dict[str, str], ...]
    node_selector: dict[str, str]

    def amount(self, units: int) -> str:
        """A quantity for so many units."""
        return quantity.canonical(self.unit * units)

    def resources(self, units: int = 1) -> dict[str, str | int]:
        """The `resources` of a task whose pods take so many units each."""
        if self.resource == CPU:
            return {"cpu": self.amount(units)}
        return {"gpus": int(self.unit * units), "gpu_resource": self.resource}

    def units_in(self, amounts: dict[str, str]) -> Decimal:
        """How many units a list of amounts holds."""
        return quantity.parse(amounts.get(self.resource, "0")) / self.unit

    @property
    def too_large(self) -> int:
        """Units that no node has."""
        return int(self.largest / self.unit) + 1

    @property
    def words(self) -> str:
        """For the summary."""
        acting = (
            "no process runs in their pods (kwok)" if self.pretending else "their kubelets run or play the commands"
        )
        return (
            f"{len(self.nodes)} nodes, {acting}; counted is {self.resource} in units of {self.amount(1)}, "
            f"{self.units} units free, {quantity.canonical(self.held)} held by others"
        )


async def detect(kube: Kube, wanted: str | None) -> Shape:
    """Look at nodes and pods.

    Args:
        kube: the administrator.
        wanted: the resource to count; None takes what the cluster has.
    """
    nodes = [node for node in await kube.list(NODE.collection_path) if _usable(node)]
    pods = [pod for pod in await kube.list(POD.collection_path) if pod["status"].get("phase") not in _OVER]
    resources = [wanted] if wanted else [*_cards(nodes), CPU]
    shapes = [_shape(resource, group, nodes, pods) for resource in resources for group in _groups(nodes, resource)]
    enough = [shape for shape in shapes if shape.units >= _LEAST_UNITS and (wanted or len(shape.nodes) > 1)]
    found = enough or sorted(shapes, key=lambda shape: -shape.units)
    if not found:
        raise AssertionError(f"no ready node offers {wanted or 'any resource'} to Volcano's pods")
    return found[0]


def _usable(node: Object) -> bool:
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in node["status"].get("conditions", ()))
    return ready and not node["spec"].get("unschedulable")


def _cards(nodes: Iterable[Object]) -> list[str]:
    names = {name for node in nodes for name, amount in node["status"].get("allocatable", {}).items() if amount != "0"}
    cards = (name for name in names if "/" in name and not name.startswith(_NO_CARDS))
    found = (name for name in cards if any(word in name.lower() for word in _CARDS))
    return sorted(found, key=lambda name: (name != _FIRST_CHOICE, name))


def _groups(nodes: list[Object], resource: str) -> Iterator[list[Object]]:
    """The nodes that have a resource, those with real kubelets apart from those that pretend."""
    having = [node for node in nodes if _allocatable(node, resource) > 0]
    for pretending in (False, True):
        group = [node for node in having if _pretends(node) is pretending and _tolerable(node, resource)]
        if group:
            yield group


def _pretends(node: Object) -> bool:
    version = node["status"].get("nodeInfo", {}).get("kubeletVersion", "")
    return _KWOK in node["metadata"].get("annotations", {}) or version.startswith(("kwok", "fake"))


def _hard_taints(node: Object) -> list[Object]:
    return [taint for taint in node["spec"].get("taints") or () if taint["effect"] != "PreferNoSchedule"]


def _tolerable(node: Object, resource: str) -> bool:
    return all(taint["key"] in {_KWOK, resource} for taint in _hard_taints(node))


def _shape(resource: str, group: list[Object], nodes: list[Object], pods: list[Object]) -> Shape:
    held: dict[str, Decimal] = defaultdict(Decimal)
    for pod in pods:
        held[pod["spec"].get("nodeName", "")] += _requested(pod, resource)
    free = [max(Decimal(0), _allocatable(node, resource) - held[node["metadata"]["name"]]) for node in group]
    unit = _cpu_unit(free) if resource == CPU else Decimal(1)
    taints = {(taint["key"], taint["effect"]) for node in group for taint in _hard_taints(node)}
    return Shape(
        resource=resource,
        unit=unit,
        units=sum(int(amount / unit) for amount in free) if unit >= _LEAST_CPU_UNIT else 0,
        largest=max(_allocatable(node, resource) for node in nodes),
        held=sum(held.values(), Decimal(0)),
        nodes=tuple(node["metadata"]["name"] for node in group),
        pretending=frozenset(node["metadata"]["name"] for node in group if _pretends(node)),
        tolerations=tuple({"key": key, "operator": "Exists", "effect": effect} for key, effect in sorted(taints)),
        node_selector=_selector(group, nodes, resource),
    )


def _cpu_unit(free: list[Decimal]) -> Decimal:
    """Half of what is free is left to others; what a pod asks for is whole hundredths of a core."""
    fair = sum(free, Decimal(0)) / 2 / _MOST_UNITS
    return min(_LARGEST_CPU_UNIT, fair.quantize(_LEAST_CPU_UNIT, rounding="ROUND_DOWN")) or _LEAST_CPU_UNIT / 2


def _selector(group: list[Object], nodes: list[Object], resource: str) -> dict[str, str]:
    """One label that all nodes of the group have and no other does; needed only where others have the resource too."""
    others = [node for node in nodes if node not in group and _allocatable(node, resource) > 0]
    if not others:
        return {}
    shared = set.intersection(*(_labels(node) for node in group)) - set.union(*(_labels(node) for node in others))
    return dict([min(shared)]) if shared else {}


def _labels(node: Object) -> set[tuple[str, str]]:
    return set(node["metadata"].get("labels", {}).items())


def _allocatable(node: Object, resource: str) -> Decimal:
    return quantity.parse(node["status"].get("allocatable", {}).get(resource, "0"))


def _requested(pod: Object, resource: str) -> Decimal:
    containers = pod["spec"]["containers"]
    amounts = (each.get("resources", {}).get("requests", {}).get(resource, "0") for each in containers)
    return sum((quantity.parse(amount) for amount in amounts), Decimal(0))
