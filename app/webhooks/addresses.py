"""Which addresses a webhook may be sent to. Pure.

A webhook's URL is written by a team and called from inside the operator's network, so without a check it is a way into
it (OWASP API7:2023, server-side request forgery). Only addresses of the public internet pass; an operator names those
ranges and hosts that may be called all the same.
"""

import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Self

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NOT_FOR_US = tuple(IPv4Network(text) for text in ("192.0.0.0/24", "192.88.99.0/24", "240.0.0.0/4"))
"""IPv4 ranges that `is_global` lets through in some Python versions: protocol assignments, 6to4 relays, reserved."""

_UNICAST = IPv6Network("2000::/3")
"""All that IANA has given out of IPv6 for use on the internet; site-local, compatible and ISATAP forms lie outside."""

_NOT_FOR_US_V6 = tuple(IPv6Network(text) for text in ("2001::/23", "2002::/16", "2001:db8::/32", "3fff::/20"))
"""IPv6 ranges within it that no host on the internet has.

Teredo (in 2001::/23, protocol assignments) and 6to4 (2002::/16) hold an IPv4 address that is reached through a relay;
they are obsolete, so none is let through. The others are for documentation (RFC 3849, RFC 9637).
"""

_NAT64 = IPv6Network("64:ff9b::/96")
"""The well-known prefix of NAT64 (RFC 6052): the IPv4 address stands in the last 32 bits."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """What an operator lets webhooks reach although it is not public."""

    networks: tuple[Network, ...] = field(default=())
    hosts: frozenset[str] = field(default=frozenset())

    @classmethod
    def of(cls, given: Iterable[str]) -> Self:
        """From CIDR ranges, addresses and host names; what is no address is a host name."""
        networks: list[Network] = []
        hosts: set[str] = set()
        for text in given:
            try:
                networks.append(ipaddress.ip_network(text, strict=False))
            except ValueError:
                hosts.add(plain_host(text))
        return cls(tuple(networks), frozenset(hosts))

    def takes_host(self, host: str) -> bool:
        """Whether a host is allowed by its name, whatever its address is."""
        return plain_host(host) in self.hosts

    def takes(self, address: Address) -> bool:
        """Whether an address may be connected to."""
        if any(address in network for network in self.networks if network.version == address.version):
            return True
        inner = _embedded(address)
        return is_public(address) if inner is None else self.takes(inner)


def is_public(address: Address) -> bool:
    """Whether an address belongs to a host on the public internet.

    Private, loopback, link-local (with 169.254.169.254, where clouds keep credentials), carrier-grade NAT, multicast,
    unspecified, documentation and reserved ranges do not. Forms of IPv6 that hold an IPv4 address are judged by it.
    """
    inner = _embedded(address)
    if inner is not None:
        return is_public(inner)
    if isinstance(address, IPv4Address):
        return address.is_global and not address.is_multicast and not any(address in network for network in _NOT_FOR_US)
    outside = address not in _UNICAST or any(address in network for network in _NOT_FOR_US_V6)
    return not outside and address.scope_id is None and address.is_global and not address.is_multicast


def _embedded(address: Address) -> IPv4Address | None:
    """The IPv4 address that a packet to this IPv6 address ends at."""
    if isinstance(address, IPv4Address):
        return None
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped


def plain_host(host: str) -> str:
    """A host name for comparing: in lower case, without the dot at its end."""
    return host.lower().removesuffix(".")


def is_written_oddly(host: str) -> bool:
    """Whether a host is an IPv4 address that only resolvers understand: `127.1`, `0x7f000001`, `2130706433`."""
    bare = plain_host(host)
    try:
        socket.inet_aton(bare)
    except (OSError, UnicodeError):
        return False
    return literal(bare) is None


def literal(host: str) -> Address | None:
    """The address that a host is, when it is no name."""
    try:
        return ipaddress.ip_address(plain_host(host))
    except ValueError:
        return None
