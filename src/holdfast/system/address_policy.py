"""Which network addresses pages may be fetched from: public ones, and those the user allows. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

_NAT64 = IPv6Network("64:ff9b::/96")
_NEVER = tuple(
    map(
        ip_network,
        (
            "100.64.0.0/10",  # carrier NAT; some clouds serve metadata there
            "168.63.129.16/32",  # a cloud's own, despite its public number
            "192.0.0.0/24",  # protocol assignments; a cloud's metadata
            "192.88.99.0/24",  # 6to4 relays
            "240.0.0.0/4",
            "3fff::/20",  # documentation
            "fec0::/10",  # site-local, now deprecated
        ),
    )
)


def is_public(address: str) -> bool:
    """Return whether an IP address is public: not of this machine, its network or its cloud.

    An IPv6 address that contains an IPv4 address is judged by the latter.
    """
    ip = _bare(ip_address(address))
    return ip.is_global and not (ip.is_multicast or ip.is_reserved) and not any(ip in each for each in _NEVER)


def may_ask(address: str, networks: Iterable[str] = ()) -> bool:
    """Return whether a page may be fetched from the address: it is public, or in one of the allowed `networks`."""
    ip = _bare(ip_address(address))
    return is_public(address) or any(ip in ip_network(each) for each in networks)


def _bare(ip: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    if isinstance(ip, IPv4Address):
        return ip
    if ip in _NAT64:
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or ip
