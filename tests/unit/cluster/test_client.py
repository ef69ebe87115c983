from pathlib import Path
from typing import Any

import pytest
import yaml

from app.cluster.client import ClusterSettings, open_client
from app.cluster.errors import ClusterNotConfigured
from app.cluster.volcano import Volcano


def kubeconfig(url: str, user: dict[str, Any]) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "one",
            "contexts": [
                {"name": "one", "context": {"cluster": "here", "user": "me"}},
                {"name": "two", "context": {"cluster": "nowhere", "user": "me"}},
            ],
            "clusters": [
                {"name": "here", "cluster": {"server": url}},
                {"name": "nowhere", "cluster": {"server": "http://127.0.0.1:1"}},
            ],
            "users": [{"name": "me", "user": user}],
        }
    )


@pytest.mark.parametrize(
    ("user", "header"),
    [({"token": "from-file"}, "Bearer from-file"), ({"username": "u", "password": "p"}, "Basic dTpw")],
)
async def test_a_kubeconfig_says_where_and_who(server: Any, tmp_path: Path, user: dict[str, Any], header: str) -> None:
    path = tmp_path / "config"
    path.write_text(kubeconfig(server.url, user))
    server.answer("GET", "/version", server.json(200, {"gitVersion": "v1.36.1"}))
    async with open_client(ClusterSettings(kubeconfig=str(path))) as client:
        assert await Volcano(client).version() == "v1.36.1"
    assert server.requests[0].headers["Authorization"] == header


async def test_a_token_of_an_exec_plugin_is_used_and_nothing_is_left_behind(server: Any, tmp_path: Path) -> None:
    credential = '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"plugged"}}'
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "echo", "args": [credential]}
    path = tmp_path / "config"
    path.write_text(kubeconfig(server.url, {"exec": plugin}))
    server.answer("GET", "/version", server.json(200, {}))
    async with open_client(ClusterSettings(kubeconfig=str(path))) as client:
        await Volcano(client).version()
    assert server.requests[0].headers["Authorization"] == "Bearer plugged"


async def test_proxies_of_the_environment_are_not_used_for_loopback(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    server.answer("GET", "/version", server.json(200, {"gitVersion": "v1.36.1"}))
    async with open_client(ClusterSettings(url=f"{server.url}/")) as client:
        assert await Volcano(client).version() == "v1.36.1"


@pytest.mark.parametrize(
    "content", [None, "", "[]", "not: [closed", "kind: Config", "current-context: gone\ncontexts: []\nclusters: []\n"]
)
async def test_a_kubeconfig_that_leads_nowhere_is_one_sentence(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "config"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ClusterNotConfigured, match="cannot be read"):
        async with open_client(ClusterSettings(kubeconfig=str(path))):
            pass


@pytest.mark.parametrize(
    "settings",
    [ClusterSettings(), ClusterSettings(url="http://127.0.0.1:1", in_cluster=True)],
)
async def test_exactly_one_place_must_be_named(settings: ClusterSettings) -> None:
    with pytest.raises(ClusterNotConfigured, match="Exactly one"):
        async with open_client(settings):
            pass


async def test_in_cluster_credentials_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(ClusterNotConfigured):
        async with open_client(ClusterSettings(in_cluster=True)):
            pass


def test_the_token_is_not_shown() -> None:
    assert "secret" not in repr(ClusterSettings(url="http://127.0.0.1:1", token="secret"))
