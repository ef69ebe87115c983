"""The account that the service runs as: `deploy/rbac.yaml` as it ships, with names of this run, and a token for it."""

import json
from pathlib import Path
from typing import Any

import yaml
from kubernetes_asyncio.config.kube_config import KubeConfigMerger

from app.cluster.client import Object
from tests.e2e.cluster.kube import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, NAMESPACE, SERVICE_ACCOUNT, Kube

SHIPPED = Path(__file__).resolve().parents[3] / "deploy" / "rbac.yaml"
_KINDS = {kind.name: kind for kind in (NAMESPACE, SERVICE_ACCOUNT, CLUSTER_ROLE, CLUSTER_ROLE_BINDING)}
_TOKEN_SECONDS = 7200


async def make_account(kube: Kube, run: str) -> str:
    """Create what `deploy/rbac.yaml` has and return a token of its service account."""
    documents = [_renamed(document, run) for document in yaml.safe_load_all(SHIPPED.read_text()) if document]
    for document in documents:
        kind = _KINDS[document["kind"]]
        namespace = document["metadata"].get("namespace")
        await kube.create(kind.namespace_path(namespace) if namespace else kind.collection_path, document)
    (account,) = [document["metadata"] for document in documents if document["kind"] == SERVICE_ACCOUNT.name]
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": _TOKEN_SECONDS},
    }
    path = SERVICE_ACCOUNT.object_path(account["namespace"], account["name"])
    made = await kube.create(f"{path}/token", request)
    return str(made["status"]["token"])


def _renamed(document: Any, run: str) -> Any:
    """The same with names of this run, wherever one object names another."""
    if isinstance(document, dict):
        return {key: _renamed(value, run) for key, value in document.items()}
    if isinstance(document, list):
        return [_renamed(value, run) for value in document]
    return f"{run}-{document}" if document in {"pumice", "pumice-controller"} else document


def write_kubeconfig(path: Path, administrator: str, token: str) -> Path:
    """A kubeconfig for the same cluster as the administrator's, with a token and nothing of the administrator."""
    config = KubeConfigMerger(administrator).config
    wanted = config["contexts"].get_with_name(config["current-context"])["context"]["cluster"]
    found = config["clusters"].get_with_name(wanted)
    cluster: Object = dict(found["cluster"].value)
    if "certificate-authority" in cluster:  # relative to the file that names it
        cluster["certificate-authority"] = str(Path(found.path).parent / cluster["certificate-authority"])
    ours = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "e2e", "cluster": cluster}],
        "users": [{"name": "e2e", "user": {"token": token}}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
        "current-context": "e2e",
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(ours))
    return path
