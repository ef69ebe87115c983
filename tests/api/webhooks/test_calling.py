"""Where a message goes, and where it never does. Nothing here resolves a real name."""

import asyncio
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trustme
from aiohttp import web

from app.webhooks.addresses import Address, Allowed
from app.webhooks.sending import Line, Resolver, Sender
from app.webhooks.verdict import Outcome
from tests.api.webhooks.receiver import Receiver, receiving

NOT_PUBLIC = "The host's name leads to an address that is not on the public internet."


class Names:
    """A name server: each look-up of a host gives the next of its answers, the last one again and again."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self._answers = answers
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> list[Address]:
        self.asked.append((host, port))
        answers = self._answers.get(host.split(".", maxsplit=1)[0])
        if answers is None:
            raise OSError("no such name")
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        return [ipaddress.ip_address(text) for text in found]


@asynccontextmanager
async def line(
    names: Names, *allow: str, tls: ssl.SSLContext | None = None, seconds: float = 5.0
) -> AsyncIterator[Line]:
    sender = Sender(Allowed.of(allow), allow_http=True, timeout_seconds=seconds, resolve=names, tls=tls)
    async with sender.line() as opened:
        yield opened


async def post(names: Names, url: str, *allow: str, tls: ssl.SSLContext | None = None) -> Outcome:
    async with line(names, *allow, tls=tls) as opened:
        return await opened.post(url, {}, "{}")


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver


async def test_the_connection_goes_to_the_address_that_was_checked(receiver: Receiver) -> None:
    names = Names(hooks=[["127.0.0.1"], ["10.0.0.1"]])
    assert await post(names, receiver.url("/a?b=%2F", "hooks.test"), "127.0.0.1") == Outcome(204)
    (message,) = receiver.messages
    assert (message.headers["host"], message.path) == (f"hooks.test:{receiver.port}", "/a?b=%2F")
    assert names.asked == [("hooks.test", receiver.port)]


@pytest.mark.parametrize("found", [["127.0.0.1"], ["::1"], ["::ffff:127.0.0.1"], ["8.8.8.8", "127.0.0.1"]])
async def test_a_name_that_leads_inside_is_not_called(receiver: Receiver, found: list[str]) -> None:
    assert await post(Names(hooks=[found]), receiver.url(host="hooks.test")) == Outcome(error=NOT_PUBLIC)
    assert receiver.messages == []


async def test_a_name_is_looked_up_and_checked_at_each_call(receiver: Receiver) -> None:
    names = Names(hooks=[["127.0.0.1"], ["127.0.0.2"]])
    async with line(names, "127.0.0.1") as opened:
        first = await opened.post(receiver.url(host="hooks.test"), {}, "{}")
        second = await opened.post(receiver.url(host="hooks.test"), {}, "{}")
    assert (first.status, second.error) == (204, NOT_PUBLIC)
    assert len(receiver.messages) == 1


async def test_a_host_can_be_allowed_by_its_name(receiver: Receiver) -> None:
    names = Names(hooks=[["127.0.0.1"]], other=[["127.0.0.1"]])
    assert (await post(names, receiver.url(host="hooks.test"), "hooks.test")).status == 204
    assert (await post(names, receiver.url(host="other.test"), "hooks.test")).error == NOT_PUBLIC


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "[::1]", "localhost"])
async def test_an_address_that_was_stored_when_it_was_still_allowed_is_not_called(
    receiver: Receiver, host: str
) -> None:
    found = await post(Names(**{host: [["127.0.0.1"]]}), receiver.url(host=host))
    assert found.status is None
    assert found.error is not None
    assert receiver.messages == []


async def test_where_no_connection_can_be_made_the_next_address_is_tried(receiver: Receiver) -> None:
    names = Names(hooks=[["127.0.0.2", "127.0.0.1"]])
    assert (await post(names, receiver.url(host="hooks.test"), "127.0.0.0/8")).status == 204
    assert len(receiver.messages) == 1


async def test_a_message_is_not_sent_to_a_second_address_when_the_first_has_taken_it(receiver: Receiver) -> None:
    receiver.usual = 500
    names = Names(hooks=[["127.0.0.1", "127.0.0.1"]])
    assert (await post(names, receiver.url(host="hooks.test"), "127.0.0.1")).status == 500
    assert len(receiver.messages) == 1


async def test_a_name_without_an_address() -> None:
    assert await post(Names(), "https://hooks.test/") == Outcome(error="The host's name has no address.")
    assert await post(Names(hooks=[[]]), "https://hooks.test/") == Outcome(error="The host's name has no address.")


async def test_a_name_server_that_hangs_takes_no_longer_than_an_attempt_may() -> None:
    async def hang(host: str, port: int) -> list[Address]:
        await asyncio.Event().wait()
        raise AssertionError

    sender = Sender(Allowed(), allow_http=False, timeout_seconds=0.1, resolve=hang)
    async with sender.line() as opened:
        assert await opened.post("https://hooks.test/", {}, "{}") == Outcome(error="No answer came within 0.1 s.")


async def test_nobody_listens() -> None:
    async with receiving() as gone:
        url = gone.url()
    assert await post(Names(**{"127": [["127.0.0.1"]]}), url, "127.0.0.1") == Outcome(
        error="No connection could be made."
    )


async def test_what_answers_is_not_http() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"220 mail.test ESMTP\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        found = await post(Names(hooks=[["127.0.0.1"]]), f"http://hooks.test:{port}/", "127.0.0.1")
    assert found == Outcome(error="The answer is not HTTP, or the connection was closed without one.")


async def test_no_proxy_of_the_environment_is_used(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiving() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url(""))
        assert (await post(Names(hooks=[["127.0.0.1"]]), receiver.url(host="hooks.test"), "127.0.0.1")).status == 204
        assert (len(receiver.messages), len(proxy.messages)) == (1, 0)


async def test_no_cookie_is_kept(receiver: Receiver) -> None:
    answer = web.Response(status=204, headers={"Set-Cookie": "a=b"})
    receiver.script = [answer]
    async with line(Names(hooks=[["127.0.0.1"]]), "127.0.0.1") as opened:
        for _ in range(2):
            await opened.post(receiver.url(host="hooks.test"), {}, "{}")
    assert [message.headers.get("cookie") for message in receiver.messages] == [None, None]


async def test_retry_after_is_read(receiver: Receiver) -> None:
    receiver.usual = web.Response(status=503, headers={"Retry-After": "120"}, text="hunter2 " * 1000)
    found = await post(Names(hooks=[["127.0.0.1"]]), receiver.url(host="hooks.test"), "127.0.0.1")
    assert found == Outcome(503, "It answered 503, which is not a success.", 120.0)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def serving(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(*names).configure_cert(context)
    return context


async def test_a_certificate_is_checked_against_the_name_and_not_the_address(authority: trustme.CA) -> None:
    asked: list[str] = []
    tls = serving(authority, "hooks.test")
    tls.sni_callback = lambda _socket, name, _context: asked.append(name)
    names = Names(hooks=[["127.0.0.1"]], other=[["127.0.0.1"]])
    async with receiving(tls) as receiver:
        url = receiver.url(host="hooks.test")
        assert (await post(names, url, "127.0.0.1", tls=trusting(authority))).status == 204
        other = await post(names, receiver.url(host="other.test"), "127.0.0.1", tls=trusting(authority))
        stranger = await post(names, url, "127.0.0.1", tls=trusting(trustme.CA()))
        assert len(receiver.messages) == 1
    assert asked == ["hooks.test", "other.test", "hooks.test"]
    for found in (other, stranger):
        assert found.status is None
        assert found.error is not None
        assert "certificate" in found.error


async def test_a_certificate_of_an_address(authority: trustme.CA) -> None:
    names = Names(**{"127": [["127.0.0.1"]]})
    async with receiving(serving(authority, "127.0.0.1")) as receiver:
        assert (await post(names, receiver.url(), "127.0.0.1", tls=trusting(authority))).status == 204


async def test_plain_http_on_the_port_of_https(receiver: Receiver) -> None:
    names = Names(hooks=[["127.0.0.1"]])
    found = await post(names, receiver.url(host="hooks.test").replace("http:", "https:"), "127.0.0.1")
    assert found.error == "No TLS connection could be made."


async def test_addresses_are_looked_up_by_the_system() -> None:
    resolver = Resolver(1)
    try:
        assert await resolver("127.0.0.1", 80) == [ipaddress.ip_address("127.0.0.1")]
        assert await resolver("2130706433", 80) == [ipaddress.ip_address("127.0.0.1")]
        with pytest.raises(UnicodeError):
            await resolver("a..b", 80)
    finally:
        resolver.close()
