from __future__ import annotations

import pytest

from holdfast.system.address_policy import is_public, may_ask

INWARD = [
    *("127.0.0.1", "127.8.9.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254"),
    *("100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.0.192", "192.88.99.1", "198.18.0.1", "203.0.113.1"),
    *("224.0.0.1", "239.1.2.3", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "::127.0.0.1"),
    *("fec0::1", "3fff::1", "64:ff9b:1::7f00:1", "::ffff:0:127.0.0.1"),
]
OUTWARD = ["1.1.1.1", "93.184.215.14", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]


@pytest.mark.parametrize("address", INWARD)
def test_what_is_near_is_not_asked_in_whatever_clothes(address: str) -> None:
    assert not is_public(address)
    assert not may_ask(address)


@pytest.mark.parametrize("address", OUTWARD)
def test_what_is_public_is(address: str) -> None:
    assert may_ask(address)


def test_the_user_may_name_networks() -> None:
    assert may_ask("127.0.0.1", ["10.0.0.0/8", "127.0.0.1"])
    assert may_ask("::ffff:10.9.9.9", ["10.0.0.0/8"])
    assert may_ask("fd00::1", ["fd00::/8"])
    assert not may_ask("127.0.0.2", ["10.0.0.0/8", "127.0.0.1", "::1"])
