"""A connection pool to the API server that a kubeconfig names: one request in, one answer out."""

import asyncio
import io
import ipaddress
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import structlog
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import load_kube_config, refresh_token

from app.simulator.objects import ApiError, Object
from app.simulator.remote.answers import json_object, network_errors, refusal_of, seconds_to_wait

Query = Mapping[str, str]

MERGE_PATCH = "application/merge-patch+json"
CALL_SECONDS = 30.0
SILENCE_SECONDS = 100.0
"""A watch that says nothing for so long is dead: a kube-apiserver sends a bookmark about every minute."""

_CONNECT_SECONDS = 5.0
_CALLS_AT_ONCE = 32
_ATTEMPTS = 5
_TOKEN_CHECK_SECONDS = 60
_READ_BUFFER_BYTES = 2**18

log = structlog.get_logger(__name__)


class NoCluster(Exception):
    """The kubeconfig does not lead to an API server. The message is one sentence for the person who named it."""


class Connection:
    """Calls to one API server.

    As in client-go, an answer that asks to wait (`Retry-After`) is waited for and the call made again: nothing was
    done then. No other call is repeated.

    Attributes:
        server: the address that the kubeconfig names.
    """

    def __init__(self, session: aiohttp.ClientSession, configuration: Configuration) -> None:
        self._session = session
        self._configuration = configuration
        self._slots = asyncio.Semaphore(_CALLS_AT_ONCE)
        self.server = str(configuration.host).rstrip("/")

    def another(self) -> "Connection":
        """The same server and credentials for other callers, whose calls do not wait for those of this one."""
        return Connection(self._session, self._configuration)

    async def call(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        *,
        query: Query | None = None,
        content_type: str = "application/json",
    ) -> Object:
        """Make one call and return the object that answers it.

        Raises:
            ApiError: the server's refusal; 503 when it cannot be reached or breaks off.
        """
        for _ in range(_ATTEMPTS - 1):
            try:
                return await self._once(method, path, body, query, content_type)
            except ApiError as refusal:
                seconds = seconds_to_wait(refusal)
                if seconds is None:
                    raise
                await asyncio.sleep(seconds)
        return await self._once(method, path, body, query, content_type)

    async def _once(
        self, method: str, path: str, body: Object | None, query: Query | None, content_type: str
    ) -> Object:
        timeout = aiohttp.ClientTimeout(total=CALL_SECONDS, sock_connect=_CONNECT_SECONDS)
        async with self._slots:  # outside of the time limit, which is for the server and not for our own queue
            with network_errors():
                headers = {**await self._headers(), "Content-Type": content_type}
                async with self._session.request(
                    method,
                    self.server + path,
                    params=query,
                    data=None if body is None else io.BytesIO(json.dumps(body).encode()),
                    headers=headers,
                    timeout=timeout,
                    **self._server_name(),
                ) as answer:
                    content = await answer.read()
        if not answer.ok:
            raise refusal_of(answer.status, content, answer.headers)
        return json_object(content)

    @asynccontextmanager
    async def stream(self, path: str, query: Query) -> AsyncIterator[aiohttp.StreamReader]:
        """Open an answer that goes on.

        Raises:
            ApiError: the server's refusal; 503 when it cannot be reached, or breaks off while the block reads.
        """
        timeout = aiohttp.ClientTimeout(sock_connect=_CONNECT_SECONDS, sock_read=SILENCE_SECONDS)
        with network_errors():
            answer = await self._session.get(
                self.server + path, params=query, headers=await self._headers(), timeout=timeout, **self._server_name()
            )
            try:
                if not answer.ok:
                    raise refusal_of(answer.status, await answer.read(), answer.headers)
                yield answer.content
            finally:
                answer.close()  # release() would wait for the rest of a stream that has no end

    async def _headers(self) -> dict[str, str]:
        token = await self._configuration.get_api_key_with_prefix("BearerToken")
        headers = {"Accept": "application/json", "User-Agent": "pumice-simulate"}
        return {**headers, "Authorization": token} if token else headers

    def _server_name(self) -> dict[str, Any]:
        name = self._configuration.tls_server_name
        return {"server_hostname": name} if name else {}


@asynccontextmanager
async def open_connection(kubeconfig: str) -> AsyncIterator[Connection]:
    """Open a connection pool and close it at the end. Nothing is sent yet, but an `exec` plugin runs.

    Raises:
        NoCluster: the kubeconfig or a file that it names cannot be read.
    """
    configuration = Configuration()
    try:
        loader = await load_kube_config(
            config_file=kubeconfig, client_configuration=configuration, persist_config=False
        )
        context = _tls(configuration)
    except Exception as error:  # a malformed file or a failing plugin surfaces in the loader as any exception at all
        raise NoCluster(f"The kubeconfig {kubeconfig} cannot be read: {type(error).__name__}.") from error
    loopback = _is_loopback(urlsplit(str(configuration.host)).hostname or "")
    connector = aiohttp.TCPConnector(limit=0, ssl=context)  # watches hold one each, calls are counted above
    async with aiohttp.ClientSession(
        connector=connector, trust_env=not loopback, read_bufsize=_READ_BUFFER_BYTES
    ) as session:
        refreshing = asyncio.create_task(_keep_token_fresh(loader, configuration))
        try:
            yield Connection(session, configuration)
        finally:
            refreshing.cancel()
            await asyncio.gather(refreshing, return_exceptions=True)


def _tls(configuration: Configuration) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # CAs of kubeadm and k3s lack extensions that Go does not ask for
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def _keep_token_fresh(loader: Any, configuration: Configuration) -> None:
    """Run the `exec` plugin again before its token ends; does nothing for other users of a kubeconfig."""
    while True:
        try:
            await refresh_token(loader, configuration, interval=_TOKEN_CHECK_SECONDS)
        except Exception:  # noqa: BLE001 - a plugin may fail in any way; the old token is used until it works again
            log.warning("The token of the kubeconfig could not be refreshed.")
        await asyncio.sleep(_TOKEN_CHECK_SECONDS)
