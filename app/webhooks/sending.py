"""One attempt to send a message: look the host up, check every address, connect to one of those, send, read a status.

The name is looked up once and the connection goes to an address that was checked: a second look-up by the HTTP client
could find another (DNS rebinding). Certificates are checked against the name. No redirect is followed, no proxy of the
environment is used, no cookie kept, and of the answer only the status and Retry-After are looked at.
"""

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus

import httpx

from app.db import now
from app.webhooks.addresses import Address, Allowed
from app.webhooks.urls import fault_in_url
from app.webhooks.verdict import Outcome, retry_after

Resolve = Callable[[str, int], Awaitable[list[Address]]]
"""All addresses of a host."""

_MOST_ADDRESSES_TRIED = 3
_CONNECT_SECONDS = 5.0
_DRAIN_SECONDS = 1.0
_DRAIN_BYTES = 16_384
"""Read of an answer so that its connection can be used again; of a longer one the connection is closed."""

_PORTS = {"http": 80, "https": 443}
_FIXED_HEADERS = {"Content-Type": "application/json", "User-Agent": "Pumice-Webhooks", "Accept": "*/*"}


class Resolver:
    """Looks hosts up in threads of its own, so that a name server that hangs holds up nothing else."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="webhook-names")

    async def __call__(self, host: str, port: int) -> list[Address]:
        """All addresses, in the order that the system prefers; OSError when there is none."""
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._pool, _look_up, host, port)
        return [ipaddress.ip_address(each) for each in found]

    def close(self) -> None:
        """Start nothing more; what hangs is left to end by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _look_up(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(place[4][0]) for place in found))


class Line:
    """Connections to one endpoint during one turn; they are never shared with another endpoint."""

    def __init__(self, sender: "Sender", transport: httpx.AsyncHTTPTransport) -> None:
        self._sender = sender
        self._transport = transport

    async def post(self, url: str, headers: dict[str, str], body: str) -> Outcome:
        """Make one attempt. Whatever goes wrong at the other end is an outcome and no error."""
        seconds = self._sender.timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                response = await self._send(httpx.URL(url), headers, body)
        except _Refused as refused:
            return Outcome(error=refused.words)
        except (TimeoutError, httpx.TimeoutException):
            return Outcome(error=f"No answer came within {seconds:g} s.")
        except (httpx.HTTPError, OSError, ValueError) as error:
            return Outcome(error=_words(error))
        outcome = _outcome(response)
        await _drain(response)
        return outcome

    async def _send(self, url: httpx.URL, headers: dict[str, str], body: str) -> httpx.Response:
        addresses = await self._sender.checked_addresses(url)
        for address in addresses[:-1]:
            with suppress(httpx.ConnectError, httpx.ConnectTimeout):  # nothing was sent
                return await self._send_to(address, url, headers, body)
        return await self._send_to(addresses[-1], url, headers, body)

    async def _send_to(self, address: Address, url: httpx.URL, headers: dict[str, str], body: str) -> httpx.Response:
        seconds = self._sender.timeout_seconds
        limits = {"connect": min(_CONNECT_SECONDS, seconds), "read": seconds, "write": seconds, "pool": seconds}
        name = url.raw_host.decode("ascii").removesuffix(".")
        request = httpx.Request(
            "POST",
            url.copy_with(host=str(address)),
            headers={"Host": url.netloc.decode("ascii"), **_FIXED_HEADERS, **headers},
            content=body.encode(),
            extensions={"timeout": limits, "sni_hostname": name},
        )
        return await self._transport.handle_async_request(request)


class Sender:
    """Makes attempts, at addresses that may be called and at no others."""

    def __init__(
        self,
        allowed: Allowed,
        *,
        allow_http: bool,
        timeout_seconds: float,
        resolve: Resolve,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.timeout_seconds = timeout_seconds
        self._allowed = allowed
        self._allow_http = allow_http
        self._resolve = resolve
        self._tls = tls

    @asynccontextmanager
    async def line(self) -> AsyncIterator[Line]:
        """Open a line for one turn at one endpoint."""
        if self._tls is None:  # reading all authorities takes a while, and there may be no webhook at all
            self._tls = await asyncio.to_thread(httpx.create_ssl_context)
        limits = httpx.Limits(max_connections=2, max_keepalive_connections=1)
        async with httpx.AsyncHTTPTransport(verify=self._tls, trust_env=False, limits=limits) as transport:
            yield Line(self, transport)

    async def checked_addresses(self, url: httpx.URL) -> list[Address]:
        """Addresses of the URL's host to try; none unless every one of them may be called."""
        if fault_in_url(str(url), self._allowed, allow_http=self._allow_http) is not None:
            raise _Refused("The URL is not one that may be called any more; see the rules for a webhook's URL.")
        host = url.raw_host.decode("ascii")
        try:
            addresses = await self._resolve(host, url.port or _PORTS[url.scheme])
        except (OSError, UnicodeError) as error:
            raise _Refused("The host's name has no address.") from error
        if not addresses:
            raise _Refused("The host's name has no address.")
        if not self._allowed.takes_host(host) and not all(self._allowed.takes(address) for address in addresses):
            raise _Refused("The host's name leads to an address that is not on the public internet.")
        return addresses[:_MOST_ADDRESSES_TRIED]


class _Refused(Exception):
    """We do not make this call."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


def _outcome(response: httpx.Response) -> Outcome:
    status = response.status_code
    outcome = Outcome(status, None, retry_after(response.headers.get("retry-after"), now()))
    if outcome.succeeded:
        return outcome
    redirect = HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST
    words = "a redirect, which is not followed" if redirect else "which is not a success"
    return Outcome(status, f"It answered {status}, {words}.", outcome.retry_after_seconds)


async def _drain(response: httpx.Response) -> None:
    """Read a little of the answer and close it; nothing that happens here changes the outcome."""
    size = 0
    with suppress(TimeoutError, httpx.HTTPError, OSError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for chunk in response.aiter_raw():
                size += len(chunk)
                if size > _DRAIN_BYTES:
                    break
    with suppress(httpx.HTTPError, OSError):
        await response.aclose()


def _words(error: Exception) -> str:
    """What kept an answer from coming, without any text of the error, which may hold an address."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return "The certificate of the host is not valid for its name, or nobody that we trust has signed it."
        if isinstance(cause, ssl.SSLError):
            return "No TLS connection could be made."
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx.ConnectError):
        return "No connection could be made."
    if isinstance(error, httpx.RemoteProtocolError):
        return "The answer is not HTTP, or the connection was closed without one."
    return "The connection broke."
