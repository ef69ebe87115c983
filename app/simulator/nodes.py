"""GPU nodes: what a kubelet and a GPU device plugin register, and what the node lifecycle controller does on a loss."""

import asyncio

from app.simulator.clock import Clock
from app.simulator.faults import EVICTION_SECONDS
from app.simulator.kinds import NODE, POD
from app.simulator.kubelet import SIMULATED_NODE, Kubelet
from app.simulator.objects import ApiError, Object, Objects

_UNREACHABLE = "node.kubernetes.io/unreachable"


def node_object(number: int, gpus: int, gpu_resource: str) -> Object:
    """Node `gpu-<number>`: 32 cores, 128 GiB, 110 pods and `gpus` whole GPUs."""
    name = f"gpu-{number}"
    capacity = {"cpu": "32", "memory": "128Gi", "ephemeral-storage": "100Gi", "pods": "110"}
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "pumice.dev/simulated": "true",
    }
    if gpus:
        capacity[gpu_resource] = str(gpus)
        domain = gpu_resource.partition("/")[0]
        labels |= {
            f"{domain}/gpu.present": "true",
            f"{domain}/gpu.count": str(gpus),
            f"{domain}/gpu.product": "SIMULATED",
        }
    return {
        "metadata": {"name": name, "labels": labels, "annotations": {SIMULATED_NODE: "true"}},
        "spec": {},
        "status": {
            "capacity": capacity,
            "allocatable": dict(capacity),
            "conditions": [_ready("True", "KubeletReady", "simulated kubelet is posting ready status")],
            "addresses": [{"type": "Hostname", "address": name}],
            "nodeInfo": _node_info(),
        },
    }


def _node_info() -> Object:
    empty = dict.fromkeys(("machineID", "systemUUID", "bootID", "kubeProxyVersion"), "")
    return {
        **empty,
        "kernelVersion": "simulated",
        "osImage": "simulated",
        "containerRuntimeVersion": "simulated://1",
        "kubeletVersion": "v1.36.1+pumice-simulated",
        "operatingSystem": "linux",
        "architecture": "amd64",
    }


def _ready(status: str, reason: str, message: str) -> Object:
    stamp = Clock.stamp()
    return {
        "type": "Ready",
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": stamp,
        "lastTransitionTime": stamp,
    }


class Nodes:
    """Registers the nodes, and loses and restores them.

    Simplified from kube-controller-manager: one taint, one deadline for all pods of the node instead of each pod's own
    toleration, and the pods are really removed at the deadline, where Kubernetes leaves them terminating until the node
    is back or is deleted.
    """

    def __init__(self, objects: Objects, kubelet: Kubelet, clock: Clock) -> None:
        self._objects = objects
        self._kubelet = kubelet
        self._clock = clock
        self._evictions: dict[str, asyncio.Task[None]] = {}

    async def register(self, count: int, gpus: int, gpu_resource: str) -> None:
        """Create the nodes that are not there yet."""
        present = {node["metadata"]["name"] for node in await self._objects.list(NODE)}
        for number in range(1, count + 1):
            if f"gpu-{number}" not in present:
                await self._objects.create(NODE, node_object(number, gpus, gpu_resource))

    async def lose(self, name: str, evict_after_seconds: float = EVICTION_SECONDS) -> None:
        """Let a node fall silent; after `evict_after_seconds` of simulated time its pods are deleted.

        Raises:
            ApiError: 404.
        """
        await self._objects.get(NODE, None, name)
        await self._kubelet.lose(name)
        text = "Kubelet stopped posting node status."
        taints = [{"key": _UNREACHABLE, "effect": effect} for effect in ("NoSchedule", "NoExecute")]
        await self._mark(name, _ready("Unknown", "NodeStatusUnknown", text), taints)
        if name not in self._evictions:
            self._evictions[name] = asyncio.get_running_loop().create_task(self._evict(name, evict_after_seconds))

    async def restore(self, name: str) -> None:
        """Let a lost node come back.

        Raises:
            ApiError: 404.
        """
        eviction = self._evictions.pop(name, None)
        if eviction is not None:
            eviction.cancel()
        await self._mark(name, _ready("True", "KubeletReady", "simulated kubelet is posting ready status"), None)
        await self._kubelet.restore(name)

    async def close(self) -> None:
        """Stop waiting for evictions."""
        for eviction in self._evictions.values():
            eviction.cancel()
        await asyncio.gather(*self._evictions.values(), return_exceptions=True)

    async def _mark(self, name: str, condition: Object, taints: list[Object] | None) -> None:
        await self._objects.patch(NODE, None, name, {"spec": {"taints": taints}})
        await self._objects.patch(NODE, None, name, {"status": {"conditions": [condition]}}, "status")

    async def _evict(self, name: str, after_seconds: float) -> None:
        await self._clock.sleep(after_seconds)
        for pod in await self._objects.list(POD):
            if pod["spec"].get("nodeName") == name:
                await self._remove(pod["metadata"])

    async def _remove(self, metadata: Object) -> None:
        namespace, name, uid = metadata["namespace"], metadata["name"], metadata["uid"]
        try:
            await self._objects.delete(POD, namespace, name, uid=uid)
            await self._objects.delete(POD, namespace, name, uid=uid, grace_period_seconds=0)
        except ApiError:
            return
