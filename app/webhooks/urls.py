"""Which URLs a webhook may have. Pure; the address behind a name is checked at each call, when it is known."""

import re

import httpx

from app.webhooks.addresses import Allowed, is_written_oddly, literal, plain_host

MAX_LENGTH = 2048
MAX_PORT = 65_535

_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_LONGEST_NAME = 253

NOT_PUBLIC = "This address is not on the public internet, and PUMICE_WEBHOOK_ALLOW does not list it"


def fault_in_url(url: str, allowed: Allowed, *, allow_http: bool) -> tuple[str, str] | None:
    """What is wrong with a URL, as words and a code; None when nothing is.

    It is read by the code that later sends to it, so that both see the same host in it.
    """
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        return "This has to be an absolute URL, such as https://hooks.example.com/pumice", "url"
    if parsed.scheme != "https" and not (allow_http and parsed.scheme == "http"):
        return (
            "This has to begin with http:// or https://" if allow_http else "This has to begin with https://"
        ), "url"
    if parsed.userinfo:
        return "User names and passwords do not belong into the URL; messages are signed instead", "url-userinfo"
    if "#" in url:
        return "A fragment (#...) is never sent; leave it out", "url-fragment"
    if parsed.port is not None and not 0 < parsed.port <= MAX_PORT:
        return f"A port is a number from 1 to {MAX_PORT}", "url-port"
    return _fault_in_host(parsed.raw_host.decode("ascii"), allowed)


def _fault_in_host(host: str, allowed: Allowed) -> tuple[str, str] | None:
    if is_written_oddly(host):
        return "Write an IPv4 address as four decimal numbers with dots", "url-host"
    address = literal(host)
    if address is not None:
        return None if allowed.takes(address) or allowed.takes_host(host) else (NOT_PUBLIC, "address-not-public")
    name = plain_host(host)
    if len(name) > _LONGEST_NAME or _NAME.fullmatch(name) is None:
        return "The host is neither a DNS name nor an IP address", "url-host"
    local = name == "localhost" or name.endswith(".localhost")  # RFC 6761: always this machine
    return (NOT_PUBLIC, "address-not-public") if local and not allowed.takes_host(name) else None
