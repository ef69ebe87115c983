"""What a benchmark needs to know about a running service, and the objects that it works with."""

from dataclasses import dataclass
from typing import Any

import httpx


@dataclass(frozen=True, slots=True)
class Service:
    """Where the API listens, the token to use, and its process."""

    url: str
    token: str
    pid: int = 0

    @property
    def headers(self) -> dict[str, str]:
        """Headers of every call."""
        return {"Authorization": f"Bearer {self.token}"}

    def post(self, path: str, body: dict[str, Any]) -> None:
        """POST something that must be created."""
        httpx.post(self.url + path, json=body, headers=self.headers).raise_for_status()

    def put(self, path: str, body: dict[str, Any]) -> None:
        """PUT something that must be taken."""
        httpx.put(self.url + path, json=body, headers=self.headers).raise_for_status()


def job_body(name: str) -> dict[str, Any]:
    """A one-pod, one-GPU job of ordinary size."""
    return {
        "name": name,
        "labels": {"dataset": "bench"},
        "tasks": [
            {
                "name": "worker",
                "replicas": 1,
                "image": "registry.test/llm:1",
                "command": ["sleep", "600"],
                "env": {"MODEL": "llama", "SHARD": "0"},
                "resources": {"cpu": "4", "memory": "16Gi", "gpus": 1},
            }
        ],
    }


def make_team(service: Service, name: str, *, gpus: int) -> None:
    """A queue and a team of the same name, with room for `gpus` GPUs."""
    service.post("/v1/queues", {"name": name, "weight": 1, "capability": {"nvidia.com/gpu": gpus}})
    service.post("/v1/teams", {"name": name, "namespace": f"team-{name}", "queues": [name], "default_queue": name})
    service.put(
        f"/v1/teams/{name}/quota",
        {"limits": {"nvidia.com/gpu": {"per_job": 8, "outstanding": 10_000_000}}, "max_jobs": 10_000_000},
    )


QUEUE_MANIFEST = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "Queue",
    "spec": {"weight": 1, "capability": {"nvidia.com/gpu": "800"}},
}
