"""Functions of addresses and networks (apiserver pkg/cel/library/ip.go and cidr.go)."""

from __future__ import annotations

from collections.abc import Callable

from webhook.cel.declare import overload
from webhook.cel.errors import EvaluationError, no_overload
from webhook.cel.networks import Address, Network, read_cidr, read_ip


def _can(read: Callable[[str], object]) -> Callable[[str], bool]:
    def run(text: str) -> bool:
        try:
            read(text)
        except EvaluationError:
            return False
        return True

    return run


def _is_loopback(address: Address) -> bool:
    return address.number >> 24 == 127 if address.family == 4 else address.number == 1


def _is_multicast(address: Address) -> bool:
    return address.number >> 28 == 0xE if address.family == 4 else address.number >> 120 == 0xFF


def _is_link_local_multicast(address: Address) -> bool:
    return address.number >> 8 == 0xE00000 if address.family == 4 else address.number >> 112 & 0xFF0F == 0xFF02


def _is_link_local_unicast(address: Address) -> bool:
    return address.number >> 16 == 0xA9FE if address.family == 4 else address.number >> 118 == 0x3FA


def _is_global_unicast(address: Address) -> bool:
    if address.number == 0 or (address.family == 4 and address.number == 0xFFFFFFFF):
        return False
    return not (_is_loopback(address) or _is_multicast(address) or _is_link_local_unicast(address))


def _contains_text(network: Network, text: str) -> bool:
    try:
        address = read_ip(text)
    except EvaluationError:
        raise no_overload() from None  # the API server's words: it hands the error of parsing to a function of addresses
    return network.contains(address)


def _contains_network(outer: Network, inner: Network) -> bool:
    return outer.length <= inner.length and outer.contains(inner.address)


OVERLOADS = (
    overload("ip(string) -> ip", read_ip),
    overload("(ip).family() -> int", lambda address: address.family),
    overload("ip.isCanonical(string) -> bool", lambda text: str(read_ip(text)) == text),
    overload("(ip).isUnspecified() -> bool", lambda address: address.number == 0),
    overload("(ip).isLoopback() -> bool", _is_loopback),
    overload("(ip).isLinkLocalMulticast() -> bool", _is_link_local_multicast),
    overload("(ip).isLinkLocalUnicast() -> bool", _is_link_local_unicast),
    overload("(ip).isGlobalUnicast() -> bool", _is_global_unicast),
    overload("isIP(string) -> bool", _can(read_ip)),
    overload("string(ip) -> string", str),
    overload("cidr(string) -> cidr", read_cidr),
    overload("(cidr).containsIP(string) -> bool", _contains_text),
    overload("(cidr).containsIP(ip) -> bool", lambda network, address: network.contains(address)),
    overload("(cidr).containsCIDR(string) -> bool", lambda network, text: _contains_network(network, read_cidr(text))),
    overload("(cidr).containsCIDR(cidr) -> bool", _contains_network),
    overload("(cidr).ip() -> ip", lambda network: network.address),
    overload("(cidr).prefixLength() -> int", lambda network: network.length),
    overload("(cidr).masked() -> cidr", lambda network: network.masked()),
    overload("isCIDR(string) -> bool", _can(read_cidr)),
    overload("string(cidr) -> string", str),
)
