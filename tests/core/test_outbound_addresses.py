"""Which addresses are public, and how hosts are written."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from chyme.core.outbound.addresses import NoHost, address_of, describe_special_range, host_of

PUBLIC = [
    *("1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0"),
    *("169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0"),
    *("198.17.255.255", "198.20.0.0", "223.255.255.255", "9.255.255.255", "11.0.0.0"),
    *("2606:4700:4700::1111", "2a00:1450:4001::200e", "2620:fe::fe", "2400:cb00::1", "2001:4860:4860::8888"),
    *("::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2001:200::1"),
]

SPECIAL = {
    "0.0.0.0": "an address of no host",
    "0.1.2.3": "an address of no host",
    "10.0.0.7": "a private address",
    "10.255.255.255": "a private address",
    "100.64.0.1": "an address inside a provider's network",
    "100.127.255.255": "an address inside a provider's network",
    "100.100.100.200": "an address of cloud metadata",
    "127.0.0.1": "a loopback address",
    "127.255.255.254": "a loopback address",
    "168.63.129.16": "an address of cloud metadata",
    "169.254.1.1": "a link-local address",
    "169.254.169.254": "an address of cloud metadata",
    "169.254.170.2": "an address of cloud metadata",
    "172.16.0.1": "a private address",
    "172.31.255.255": "a private address",
    "192.0.0.8": "a reserved address",
    "192.0.0.192": "an address of cloud metadata",
    "192.0.2.1": "an address for documentation",
    "192.88.99.1": "an address of 6to4 relays",
    "192.168.1.1": "a private address",
    "198.18.0.1": "an address for benchmarks",
    "198.19.255.255": "an address for benchmarks",
    "198.51.100.1": "an address for documentation",
    "203.0.113.1": "an address for documentation",
    "224.0.0.1": "a multicast address",
    "239.255.255.255": "a multicast address",
    "240.0.0.1": "a reserved address",
    "255.255.255.255": "the broadcast address",
    "::": "an address of no host",
    "::1": "a loopback address",
    "::127.0.0.1": "an IPv4-compatible address",
    "::8.8.8.8": "an IPv4-compatible address",
    "::ffff:127.0.0.1": "a loopback address",
    "::ffff:10.0.0.7": "a private address",
    "::ffff:169.254.169.254": "an address of cloud metadata",
    "::ffff:0:127.0.0.1": "a reserved address",
    "64:ff9b::127.0.0.1": "a loopback address, translated",
    "64:ff9b::169.254.169.254": "an address of cloud metadata, translated",
    "64:ff9b:1::8.8.8.8": "an address of a private translator",
    "64:ff9b:2::1": "a reserved address",
    "100::1": "an address that is thrown away",
    "2001::1": "a Teredo tunnel",
    "2001:0:7f00:1::": "a Teredo tunnel",
    "2001:2::1": "an address for benchmarks",
    "2001:10::1": "a reserved address",
    "2001:20::1": "a reserved address",
    "2001:db8::1": "an address for documentation",
    "2002:7f00:1::": "a 6to4 tunnel",
    "2002:808:808::1": "a 6to4 tunnel",
    "2a00::5efe:10.0.0.7": "an ISATAP tunnel",
    "2a00::200:5efe:10.0.0.7": "an ISATAP tunnel",
    "2a00::1%3": "an address of one network card",
    "3ffe::1": "a reserved address",
    "3fff::1": "an address for documentation",
    "4000::1": "a reserved address",
    "5f00::1": "a reserved address",
    "fc00::1": "a private address",
    "fd00:ec2::254": "an address of cloud metadata",
    "fd12:3456::1": "a private address",
    "fd20:ce::254": "an address of cloud metadata",
    "fe80::1": "a link-local address",
    "fe80::1%eth0": "a link-local address",
    "fec0::1": "a site-local address",
    "ff02::1": "a multicast address",
}


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses_are_public(text: str) -> None:
    assert describe_special_range(ip_address(text)) is None


@pytest.mark.parametrize(("text", "reason"), SPECIAL.items())
def test_special_addresses_are_described(text: str, reason: str) -> None:
    assert describe_special_range(ip_address(text)) == reason


def test_ipv4_inside_ipv6_becomes_ipv4() -> None:
    assert str(address_of("::ffff:127.0.0.1")) == "127.0.0.1"
    assert str(address_of("::FFFF:7f00:1")) == "127.0.0.1"
    assert str(address_of("fe80::1%2")) == "fe80::1%2"
    assert address_of("127.1") is None
    assert address_of("example.com") is None
    assert address_of("127.0.0.1/8") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0x7F.1", "127.0.0.1"),
        ("0X7f.0.0.1", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("127.0.1", "127.0.0.1"),
        ("0", "0.0.0.0"),
        ("0xa9fea9fe", "169.254.169.254"),
        ("169.16689662", "169.254.169.254"),
        ("１２７.０.０.１", "127.0.0.1"),
        ("127。0。0。1", "127.0.0.1"),
        ("①②⑦.0.0.1", "127.0.0.1"),
        ("[::1]", "::1"),
        ("::1", "::1"),
        ("[::FFFF:127.0.0.1]", "127.0.0.1"),
        ("[0:0:0:0:0:ffff:7f00:1]", "127.0.0.1"),
    ],
)
def test_every_way_to_write_an_address_is_that_address(text: str, expected: str) -> None:
    assert host_of(text) == ip_address(expected)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("example.com", "example.com"),
        ("EXAMPLE.Com.", "example.com"),
        ("a_b.example", "a_b.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        ("straße.example", "xn--strae-oqa.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("ｅｘａｍｐｌｅ.com", "example.com"),
        ("127.0.0.1.nip.io", "127.0.0.1.nip.io"),
        ("r3---sn-x.example", "r3---sn-x.example"),
    ],
)
def test_names_become_plain(text: str, name: str) -> None:
    assert host_of(text) == name


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "..", "a..b", ".example.com", "example.com..", "[", "]", "[]", "[example.com]", "[127.0.0.1]"),
        *("exa mple.com", " example.com", "example.com ", "example.com\0.evil", "example.com\n", "a\tb", "a/b", "a\\b"),
        *("a?b", "a#b", "user@host", "user:pw@host", "%31%32%37.0.0.1", "127%2e0.0.1", "a%00b", "exämple%2ecom"),
        *("256.0.0.1", "1.2.3.4.5", "0x100000000", "4294967296", "09.0.0.1", "0xg.1.1.1", "1.2.3.0x", "a.b.99999"),
        *("fe80::1%eth0", "[fe80::1%25eth0]", "::1%lo", ":::", "1::2::3", "::1:", "12345::1", "example.com:80"),
        *("[::1", "::1]", "[::1]x", "a" * 64, "a." * 130, "ä" * 300, "a\u200bb\ud800", "*", "*.com", "a\u202eb"),
    ],
)
def test_text_that_makes_no_sense_is_no_host(text: str) -> None:
    with pytest.raises(NoHost):
        host_of(text)
