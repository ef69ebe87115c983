import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import certifi
import pytest
import structlog
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


async def test_a_token_of_an_exec_plugin_is_kept_fresh_through_failures(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def issue(token: str) -> None:
        status = {"token": token}
        credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
        (tmp_path / "credential").write_text(json.dumps(credential))

    async def used() -> str:
        await Volcano(client).version()
        return server.requests[-1].headers["Authorization"]

    async def until(true: Callable[[str], bool]) -> None:
        async with asyncio.timeout(20):
            while not true(await used()):
                pass  # each look is a call to the server, which gives way to the others

    monkeypatch.setattr("app.cluster.client._TOKEN_CHECK_SECONDS", 0.02)
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "cat",
        "args": [str(tmp_path / "credential")],
    }
    path = tmp_path / "config"
    path.write_text(kubeconfig(server.url, {"exec": plugin}))
    server.answer("GET", "/version", server.json(200, {}))
    issue("one")
    with structlog.testing.capture_logs() as logs:
        async with open_client(ClusterSettings(kubeconfig=str(path))) as client:
            assert await used() == "Bearer one"
            (tmp_path / "credential").unlink()
            await until(lambda token: token == "Bearer one" and bool(logs))
            issue("two")
            await until(lambda token: token == "Bearer two")
    assert {entry["event"] for entry in logs} == {"cluster_token_not_refreshed"}


async def test_the_service_accounts_token_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def token() -> str:
        headers: dict[str, str] = {}
        await client._api.update_params_for_auth(headers, [], ["BearerToken"])
        return headers["authorization"]

    library = "kubernetes_asyncio.config.incluster_config"
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")
    monkeypatch.setattr(f"{library}.SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(f"{library}.SERVICE_CERT_FILENAME", certifi.where())
    monkeypatch.setattr(f"{library}.TOKEN_REFRESH_PERIOD", timedelta(0))
    (tmp_path / "token").write_text("one")
    async with open_client(ClusterSettings(in_cluster=True)) as client:
        assert await token() == "Bearer one"
        (tmp_path / "token").write_text("two")
        assert await token() == "Bearer two"


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
