"""One connection pool to one API server: settings in, JSON out, errors of `app.cluster.errors`.

kubernetes_asyncio reads kubeconfigs and in-cluster credentials, keeps tokens fresh and speaks TLS. Its models and its
`Watch` are not used: objects are dicts here (style notes, kubespawner and the library's Watch).
"""

import asyncio
import ipaddress
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import structlog
from kubernetes_asyncio.client import ApiClient, Configuration
from kubernetes_asyncio.config import load_incluster_config, load_kube_config, refresh_token

from app.cluster.errors import (
    AlreadyExists,
    ClusterError,
    ClusterNotConfigured,
    Conflict,
    Expired,
    Garbled,
    NotFound,
    Rejected,
    RightMissing,
    edge_errors,
    from_status,
)
from app.cluster.rights import Rights

Object = dict[str, Any]
"""A Kubernetes object as its JSON form."""

Query = Mapping[str, str | int | None]
"""Query parameters; those that are None are left out."""

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"

_CONNECT_SECONDS = 5.0
_TOKEN_CHECK_SECONDS = 60
_READ_BUFFER_BYTES = 2**18

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Which cluster, and as whom. Exactly one of `url`, `kubeconfig` and `in_cluster` says where it is.

    Attributes:
        url: address of the API server, for example of the simulated cluster.
        token: bearer token that goes with `url`.
        certificate_authority: file with the CA of `url`.
        kubeconfig: path of a kubeconfig, or several as in KUBECONFIG.
        context: context of the kubeconfig; None takes its current one.
        in_cluster: use the service account of the pod this runs in; its token is read again every minute.
        pool_size: connections at the most, each watch holds one.
    """

    url: str | None = None
    token: str | None = field(default=None, repr=False)
    certificate_authority: Path | None = None
    kubeconfig: str | None = None
    context: str | None = None
    in_cluster: bool = False
    pool_size: int = 64


class ClusterClient:
    """Calls to the API server, none of them repeated: who may repeat what is decided above.

    One exception is aiohttp's own: a GET or DELETE on a kept connection that turns out to be closed is sent once more
    on a new one. POST and PATCH never are.

    Attributes:
        rights: which rights our account was found to lack.
    """

    def __init__(self, api: ApiClient) -> None:
        self._api = api
        self._host = str(api.configuration.host).rstrip("/")
        self.rights = Rights()

    def apart(self) -> "ClusterClient":
        """The same connections with a record of rights of its own, for work that nobody has to wait for."""
        return ClusterClient(self._api)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Any = None,
        content_type: str = "application/json",
        timeout_seconds: float = 15.0,
    ) -> Object:
        """Make one call and return the object that answers it.

        Raises:
            ClusterError: any of `app.cluster.errors`.
        """
        timeout = aiohttp.ClientTimeout(total=timeout_seconds, sock_connect=min(_CONNECT_SECONDS, timeout_seconds))
        with edge_errors():
            response = await self._send(method, path, query, timeout, body=body, content_type=content_type)
            async with response:
                content = await response.read()
        error = None if response.ok else from_status(response.status, content, response.headers)
        self._note_right(error, method, path)
        if error is not None:
            raise error
        return json_object(content)

    @asynccontextmanager
    async def stream(
        self, path: str, query: Query, *, connect_seconds: float, sock_read_seconds: float
    ) -> AsyncIterator[aiohttp.StreamReader]:
        """Open an answer that goes on: a watch or a log.

        Args:
            path: below the address of the API server.
            query: parameters.
            connect_seconds: until the connection stands.
            sock_read_seconds: silence after which the connection counts as dead. There is no limit in total: a single
                number given to kubernetes_asyncio would be one, and would kill a healthy stream.

        Raises:
            ClusterError: the server refused, or the connection failed, before the answer began. Reading from the
                stream raises aiohttp's own errors: wrap each read in `edge_errors`.
        """
        timeout = aiohttp.ClientTimeout(
            connect=connect_seconds, sock_connect=connect_seconds, sock_read=sock_read_seconds
        )
        with edge_errors():
            response = await self._send("GET", path, query, timeout)
        try:
            # Unread answers do not raise by themselves in kubernetes_asyncio.
            if not response.ok:
                with edge_errors():
                    content = await response.read()
                error = from_status(response.status, content, response.headers)
                self._note_right(error, "GET", path, watch="watch" in query)
                raise error
            self._note_right(None, "GET", path, watch="watch" in query)
            yield response.content
        finally:
            # Not release(): that would wait for the rest of a stream that has no end.
            response.close()

    def _note_right(self, error: ClusterError | None, method: str, path: str, *, watch: bool = False) -> None:
        """Remember what an answer says of our rights: whatever refuses after authorization says that they are there."""
        if isinstance(error, RightMissing):
            self.rights.refused(error.right)
        elif error is None or isinstance(error, AlreadyExists | Conflict | Expired | NotFound | Rejected):
            self.rights.used(method, path, watch=watch)

    async def _send(
        self,
        method: str,
        path: str,
        query: Query | None,
        timeout: aiohttp.ClientTimeout,
        *,
        body: Any = None,
        content_type: str = "application/json",
    ) -> aiohttp.ClientResponse:
        headers = {"Accept": "application/json", "Content-Type": content_type, "User-Agent": "pumice"}
        await self._api.update_params_for_auth(headers, [], ["BearerToken"])
        response: aiohttp.ClientResponse = await self._api.rest_client.request(
            method,
            f"{self._host}{path}",
            query_params={name: value for name, value in (query or {}).items() if value is not None},
            headers=headers,
            body=body,
            _preload_content=False,
            _request_timeout=timeout,
        )
        return response


@asynccontextmanager
async def open_client(settings: ClusterSettings) -> AsyncIterator[ClusterClient]:
    """Open a client and close its connections at the end.

    Nothing is sent yet, but an `exec` plugin of a kubeconfig runs.

    Raises:
        ClusterNotConfigured: the settings or the files they name do not lead to a cluster.
    """
    configuration = Configuration()
    configuration.connection_pool_maxsize = settings.pool_size
    try:
        loader = await _configure(configuration, settings)
        api = ApiClient(configuration)
    except ClusterNotConfigured:
        raise
    except Exception as error:  # a malformed file or a failing plugin surfaces in the loader as any exception at all
        raise ClusterNotConfigured("The credentials for the cluster cannot be read.") from error
    async with api:
        _drop_proxies_for_loopback(api)
        async with _fresh_token(loader, configuration):
            yield ClusterClient(api)


async def _configure(configuration: Configuration, settings: ClusterSettings) -> Any:
    """Fill the configuration; returns the kubeconfig's loader, if there is one, for its `exec` tokens."""
    if sum((settings.url is not None, settings.kubeconfig is not None, settings.in_cluster)) != 1:
        raise ClusterNotConfigured("Exactly one of url, kubeconfig and in-cluster credentials names the cluster.")
    if settings.kubeconfig is not None:
        return await load_kube_config(
            config_file=settings.kubeconfig,
            context=settings.context,
            client_configuration=configuration,
            persist_config=False,
        )
    if settings.in_cluster:
        # Kubernetes rotates the token about every hour; this loader's hook reads its file again each minute.
        load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        return None
    configuration.host = settings.url
    if settings.certificate_authority is not None:
        configuration.ssl_ca_cert = str(settings.certificate_authority)
    if settings.token is not None:
        configuration.api_key["BearerToken"] = f"Bearer {settings.token}"
    return None


def _drop_proxies_for_loopback(api: ApiClient) -> None:
    """Let no HTTP_PROXY of the environment come between us and an API server on this machine.

    kubernetes_asyncio opens its session with `trust_env=True` and has no switch for it, so the session is replaced; the
    connector with its TLS settings stays.
    """
    if not _is_loopback(urlsplit(str(api.configuration.host)).hostname or ""):
        return
    session = api.rest_client.pool_manager
    connector = session.connector
    session.detach()
    api.rest_client.pool_manager = aiohttp.ClientSession(
        connector=connector, trust_env=False, read_bufsize=_READ_BUFFER_BYTES
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


@asynccontextmanager
async def _fresh_token(loader: Any, configuration: Configuration) -> AsyncIterator[None]:
    """Keep the token of an `exec` plugin fresh (EKS, GKE, AKS give tokens of minutes)."""
    user = getattr(loader, "_user", None)
    if user is None or "exec" not in user:
        yield
        return
    task = asyncio.create_task(_refresh_for_ever(loader, configuration))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _refresh_for_ever(loader: Any, configuration: Configuration) -> None:
    while True:
        try:
            await refresh_token(loader, configuration, interval=_TOKEN_CHECK_SECONDS)
        except Exception:  # noqa: BLE001 - a plugin may fail in any way; the old token is used until it works again
            _log.warning("cluster_token_not_refreshed")


def json_object(content: bytes | bytearray) -> Object:
    """Read a JSON object.

    Raises:
        Garbled: it is something else.
    """
    try:
        answer = json.loads(content)
    except ValueError as error:
        raise Garbled("The cluster's answer is not JSON.", outcome_unknown=True) from error
    if not isinstance(answer, dict):
        raise Garbled("The cluster's answer is not an object.", outcome_unknown=True)
    return answer
