"""A real control plane on loopback: etcd, kube-apiserver with RBAC, kube-controller-manager, kwok (design.md 8)."""

import base64
import json
import ssl
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Self

import httpx

from tests.controlplane.binaries import HERE, binary
from tests.controlplane.credentials import Credentials, kubeconfig
from tests.controlplane.service import ControlPlaneFailed, Service, free_ports

_READY_SECONDS = 90.0
_MARK = base64.b64encode(b"compaction").decode()
_CONTROLLERS = (
    "garbage-collector-controller",
    "namespace-controller",
    "pod-garbage-collector-controller",
    "resourcequota-controller",
    "serviceaccount-controller",
)


class ControlPlane:
    """A context manager; everything lives in `directory` and is gone at the end, but for that directory.

    `definitions` are CustomResourceDefinitions that are there from the beginning.
    """

    def __init__(self, directory: Path, definitions: Iterable[dict[str, Any]] = ()) -> None:
        self.directory = directory
        self._definitions = tuple(definitions)
        self._installed: list[str] = []
        self.credentials = Credentials.make(directory)
        store, peer, api, manager, kwok = free_ports(5)
        self.etcd_url = f"http://127.0.0.1:{store}"
        self.url = f"https://127.0.0.1:{api}"
        self.admin_token = self.credentials.administrator
        self.kubeconfig_path = self.kubeconfig(directory / "admin.kubeconfig")
        self.etcd = self._service("etcd", *self._etcd(peer))
        self.api_server = self._service("kube-apiserver", *self._api_server(api))
        self.controller_manager = self._service(
            "kube-controller-manager",
            f"--kubeconfig={self.kubeconfig_path}",
            f"--controllers={','.join(_CONTROLLERS)}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={manager}",
            f"--cert-dir={directory}",
        )
        self.kwok = self._service(
            "kwok",
            f"--kubeconfig={self.kubeconfig_path}",
            f"--config={HERE / 'stages.yaml'}",
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
            "--node-ip=127.0.0.1",
            f"--server-address=127.0.0.1:{kwok}",
        )
        self._services = (self.etcd, self.api_server, self.controller_manager, self.kwok)
        self._http = httpx.Client(
            base_url=self.url,
            verify=_trusting(self.credentials.authority),
            headers={"Authorization": f"Bearer {self.admin_token}"},
            trust_env=False,
            timeout=30,
        )

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start everything and wait until requests are answered and namespaces get their service account."""
        self.etcd.start()
        self.start_api_server()
        # before the garbage collector, which looks for new kinds only every 30 seconds
        self.install(self._definitions)
        self.controller_manager.start()
        self.kwok.start()
        default_account = "/api/v1/namespaces/default/serviceaccounts/default"
        self._until("the controller manager", lambda: self._http.get(default_account).is_success)

    def stop(self) -> None:
        """Stop everything; what is stopped already does no harm."""
        self._http.close()
        for service in reversed(self._services):
            service.stop()

    def start_api_server(self) -> None:
        """Start the API server (again, at the same address) and wait until it serves all that it is to serve.

        Being ready is not enough: a custom resource answers 429 ("storage is (re)initializing") after that.
        """
        self.api_server.start()
        for path in ("/readyz", *self._installed):
            self._until(path, lambda path=path: self._http.get(path).is_success)

    def kubeconfig(self, path: Path, token: str | None = None) -> Path:
        """Write a kubeconfig file: the administrator's, or one with another bearer token."""
        return kubeconfig(path, self.url, self.credentials.authority, token or self.admin_token)

    def call(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        """A request of the administrator; fails unless it succeeds."""
        content = None if body is None else json.dumps(body)
        answer = self._http.request(method, path, content=content, headers={"Content-Type": content_type})
        if not answer.is_success:
            raise ControlPlaneFailed(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer.json()

    def add_nodes(self, count: int = 3, gpus: int = 2) -> None:
        """Create GPU nodes that kwok keeps ready, without the taint that the API server gives to every new node."""
        for number in range(1, count + 1):
            self.call("POST", "/api/v1/nodes", _node(number, gpus))
            untaint = {"spec": {"taints": None}}
            self.call("PATCH", f"/api/v1/nodes/kwok-{number}", untaint, "application/merge-patch+json")

    def install(self, definitions: Iterable[dict[str, Any]]) -> None:
        """Create CustomResourceDefinitions and wait until they are served."""
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        for definition in definitions:
            self.call("POST", path, definition)
            name = definition["metadata"]["name"]
            self._until(name, lambda name=name: _established(self.call("GET", f"{path}/{name}")))
            self._installed.append(_collection(definition))

    def compact(self) -> int:
        """Forget all versions of all objects but the present ones; returns the revision."""
        etcd = f"{self.etcd_url}/v3/kv"
        # one more revision, so that the last one that anybody has seen is gone as well
        moved = httpx.post(f"{etcd}/put", json={"key": _MARK, "value": _MARK}, trust_env=False).raise_for_status()
        revision = moved.json()["header"]["revision"]
        body = {"revision": revision, "physical": True}
        httpx.post(f"{etcd}/compaction", json=body, trust_env=False).raise_for_status()
        return int(revision)

    def _service(self, name: str, *arguments: str) -> Service:
        return Service([binary(name), *arguments], self.directory / f"{name}.log")

    def _etcd(self, peer: int) -> Iterable[str]:
        yield from (f"--data-dir={self.directory / 'etcd'}", "--unsafe-no-fsync", "--log-level=warn")
        yield from (f"--listen-client-urls={self.etcd_url}", f"--advertise-client-urls={self.etcd_url}")
        yield from (f"--listen-peer-urls=http://127.0.0.1:{peer}", f"--initial-cluster=default=http://127.0.0.1:{peer}")
        yield f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}"

    def _api_server(self, port: int) -> Iterable[str]:
        files = self.credentials
        yield from (f"--etcd-servers={self.etcd_url}", "--endpoint-reconciler-type=none")
        yield from ("--bind-address=127.0.0.1", f"--secure-port={port}", "--service-cluster-ip-range=10.0.0.0/24")
        yield from (f"--tls-cert-file={files.certificate}", f"--tls-private-key-file={files.key}")
        yield from (f"--token-auth-file={files.tokens}", "--authorization-mode=RBAC", "--anonymous-auth=false")
        yield "--service-account-issuer=https://controlplane.test"
        yield from (f"--service-account-key-file={files.key}", f"--service-account-signing-key-file={files.key}")

    def _until(self, what: str, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while True:
            for service in self._services:
                if service.process is not None:
                    service.check()
            try:
                if holds():
                    return
            except httpx.TransportError:
                pass  # not listening yet
            if time.monotonic() > deadline:
                raise ControlPlaneFailed(f"{what} is not ready:\n{self.api_server.tail()}")
            time.sleep(0.1)


def _trusting(authority: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(authority))


def _node(number: int, gpus: int) -> dict[str, Any]:
    name = f"kwok-{number}"
    amounts = {"cpu": "32", "memory": "128Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "type": "kwok"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def _collection(definition: dict[str, Any]) -> str:
    spec = definition["spec"]
    return f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}?limit=1"


def _established(definition: dict[str, Any]) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
