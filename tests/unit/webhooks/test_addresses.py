import ipaddress

import pytest

from app.webhooks.addresses import Allowed, is_public, is_written_oddly, literal

NOT_PUBLIC = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.254",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.254",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "224.0.1.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",  # compatible form
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:10.1.2.3",
    "64:ff9b::10.0.0.1",  # NAT64
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::8.8.8.8",  # NAT64 of the local network
    "100::1",
    "2001::1",  # Teredo
    "2001:0:53aa:64c:0:0:f5ff:fffe",
    "2001:db8::1",
    "2001:1ff::1",
    "2002:7f00:1::",  # 6to4 of 127.0.0.1
    "2002:808:808::",  # 6to4 of a public one: obsolete
    "3fff::1",
    "::5efe:10.0.0.1",  # ISATAP
    "fc00::1",
    "fd12:3456:789a::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
]
PUBLIC = ["1.1.1.1", "8.8.8.8", "100.63.255.255", "172.32.0.1", "192.169.0.1", "2606:4700::1111", "2a00:1450::1"]
PUBLIC_INSIDE = ["::ffff:8.8.8.8", "64:ff9b::8.8.8.8"]


@pytest.mark.parametrize("text", NOT_PUBLIC)
def test_an_address_that_is_not_public(text: str) -> None:
    address = ipaddress.ip_address(text)
    assert not is_public(address)
    assert not Allowed().takes(address)


@pytest.mark.parametrize("text", PUBLIC + PUBLIC_INSIDE)
def test_an_address_that_is_public(text: str) -> None:
    address = ipaddress.ip_address(text)
    assert is_public(address)
    assert Allowed().takes(address)


def test_what_the_operator_lists_is_allowed_and_nothing_beside_it() -> None:
    allowed = Allowed.of(["10.1.0.0/16", "127.0.0.1", "fd00::/8", "Hooks.Internal.Test."])
    taken = ["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "127.0.0.1", "fd12::1", "8.8.8.8"]
    refused = ["10.2.0.1", "127.0.0.2", "::1", "fe80::1", "169.254.169.254", "::ffff:10.2.0.1"]
    assert [text for text in taken if not allowed.takes(ipaddress.ip_address(text))] == []
    assert [text for text in refused if allowed.takes(ipaddress.ip_address(text))] == []
    assert allowed.takes_host("hooks.internal.test")
    assert allowed.takes_host("HOOKS.internal.test.")
    assert not allowed.takes_host("x.hooks.internal.test")


@pytest.mark.parametrize("host", ["127.1", "0x7f.1", "0x7f000001", "2130706433", "0177.0.0.1", "010.0.0.1", "127.1."])
def test_an_address_that_only_a_resolver_understands(host: str) -> None:
    assert is_written_oddly(host)
    assert literal(host) is None


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1.", "::1", "hooks.test", "1.2.3.4.hooks.test", "a", "xn--a"])
def test_a_host_that_is_written_plainly(host: str) -> None:
    assert not is_written_oddly(host)
