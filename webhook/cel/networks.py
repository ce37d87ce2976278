"""IP addresses and networks as Go's net/netip reads and writes them, down to the words of its errors."""

from __future__ import annotations

import re
from typing import Any

from webhook.cel import types
from webhook.cel.errors import EvaluationError
from webhook.cel.text import quote_go
from webhook.cel.values import Opaque

_HEX = re.compile(r"[0-9a-fA-F]*")


class AddressError(ValueError):
    """Text that is no address; its message is Go's."""


class Address(Opaque):
    """An IPv4 or IPv6 address; ``family`` is 4 or 6."""

    __slots__ = ("family", "number", "zone")
    cel_type = types.IP

    def __init__(self, family: int, number: int, zone: str = "") -> None:
        self.family, self.number, self.zone = family, number, zone

    @property
    def bits(self) -> int:
        """Count the bits of an address of this family."""
        return 32 if self.family == 4 else 128

    @property
    def is_mapped(self) -> bool:
        """Tell whether this is an IPv4 address dressed as IPv6."""
        return self.family == 6 and self.number >> 32 == 0xFFFF

    def equals(self, other: Any) -> bool:
        """Compare family and number."""
        return bool(self.family == other.family and self.number == other.number)

    def __str__(self) -> str:
        if self.family == 4:
            return ".".join(str(self.number >> shift & 255) for shift in (24, 16, 8, 0))
        return _write_v6([self.number >> shift & 0xFFFF for shift in range(112, -1, -16)])


class Network(Opaque):
    """An address and the length of its prefix; the other bits of the address stay."""

    __slots__ = ("address", "length")
    cel_type = types.CIDR

    def __init__(self, address: Address, length: int) -> None:
        self.address, self.length = address, length

    def equals(self, other: Any) -> bool:
        """Compare address and length; networks with other host bits differ."""
        return self.length == other.length and self.address.equals(other.address)

    def __str__(self) -> str:
        return f"{self.address}/{self.length}"

    def masked(self) -> Network:
        """Return the network with all host bits zero."""
        shift = self.address.bits - self.length
        return Network(Address(self.address.family, self.address.number >> shift << shift), self.length)

    def contains(self, address: Address) -> bool:
        """Tell whether an address lies in this network; other families never do."""
        shift = self.address.bits - self.length
        return self.address.family == address.family and self.address.number >> shift == address.number >> shift


def parse_address(text: str) -> Address:
    """Read an address; raises AddressError."""
    for character in text:
        if character == ".":
            return Address(4, _read_v4(text, text))
        if character == ":":
            return _read_v6(text)
        if character == "%":
            raise _refused(text, "missing IPv6 address")
    raise _refused(text, "unable to parse IP")


def parse_network(text: str) -> Network:
    """Read a network; raises AddressError."""
    head, slash, length = text.rpartition("/")
    problem = f"netip.ParsePrefix({quote_go(text)}): "
    if not slash:
        raise AddressError(f"{problem}no '/'")
    try:
        address = parse_address(head)
    except AddressError as error:
        raise AddressError(f"{problem}{error}") from error
    if address.zone:
        raise AddressError(f"{problem}IPv6 zones cannot be present in a prefix")
    if not re.fullmatch(r"[0-9]|[1-9][0-9]{1,17}", length, re.ASCII):
        raise AddressError(f"{problem}bad bits after slash: {quote_go(length)}")
    if int(length) > address.bits:
        raise AddressError(f"{problem}prefix length out of range")
    return Network(address, int(length))


def read_ip(text: str) -> Address:
    """Read an address as the API server's ``ip()`` does; raises EvaluationError."""
    try:
        address = parse_address(text)
    except AddressError as error:
        raise EvaluationError(
            f"IP Address {quote_go(text)} parse error during conversion from string: {error}", "parse"
        ) from error
    if address.zone:
        raise EvaluationError(f"IP address {quote_go(text)} with zone value is not allowed", "parse")
    if address.is_mapped:
        raise EvaluationError(f"IPv4-mapped IPv6 address {quote_go(text)} is not allowed", "parse")
    return address


def read_cidr(text: str) -> Network:
    """Read a network as the API server's ``cidr()`` does; raises EvaluationError."""
    problem = "network address parse error during conversion from string: "
    try:
        network = parse_network(text)
    except AddressError as error:
        raise EvaluationError(f"{problem}{problem}{error}", "parse") from error
    if network.address.is_mapped:
        raise EvaluationError(f"{problem}IPv4-mapped IPv6 address {quote_go(text)} is not allowed", "parse")
    return network


def _refused(text: str, why: str, at: str = "") -> AddressError:
    return AddressError(f"ParseAddr({quote_go(text)}): {why}{f' (at {quote_go(at)})' if at else ''}")


def _read_v4(text: str, part: str) -> int:
    """Read the four fields of ``part``, which is ``text`` or its end."""
    number, fields, value, digits = 0, 0, 0, 0
    for position, character in enumerate(part):
        if "0" <= character <= "9":
            if digits == 1 and value == 0:
                raise _refused(text, "IPv4 field has octet with leading zero")
            value, digits = value * 10 + int(character), digits + 1
            if value > 255:
                raise _refused(text, "IPv4 field has value >255")
        elif character == ".":
            if position in (0, len(part) - 1) or part[position - 1] == ".":
                raise _refused(text, "IPv4 field must have at least one digit", part[position:])
            if fields == 3:
                raise _refused(text, "IPv4 address too long")
            number, fields, value, digits = number << 8 | value, fields + 1, 0, 0
        else:
            raise _refused(text, "unexpected character", part[position:])
    if fields < 3:
        raise _refused(text, "IPv4 address too short")
    return number << 8 | value


def _read_v6(text: str) -> Address:
    body, percent, zone = text.partition("%")
    if percent and not zone:
        raise _refused(text, "zone must be a non-empty string")
    groups, ellipsis, rest = _read_groups(text, body)
    if rest:
        raise _refused(text, "trailing garbage after address", rest)
    if len(groups) < 8:
        if ellipsis is None:
            raise _refused(text, "address string too short")
        groups[ellipsis:ellipsis] = [0] * (8 - len(groups))
    elif ellipsis is not None:
        raise _refused(text, "the :: must expand to at least one field of zeros")
    number = 0
    for group in groups:
        number = number << 16 | group
    return Address(6, number, zone)


def _read_groups(text: str, rest: str) -> tuple[list[int], int | None, str]:
    """Return the 16-bit groups, where ``::`` stood among them, and what could not be read."""
    groups: list[int] = []
    ellipsis: int | None = None
    if rest.startswith("::"):
        ellipsis, rest = 0, rest[2:]
    while (rest and len(groups) < 8) or (not rest and ellipsis is None and not groups):
        digits = _read_hex(text, rest)
        if rest[len(digits) : len(digits) + 1] == ".":
            if ellipsis is None and len(groups) != 6:
                raise _refused(text, "embedded IPv4 address must replace the final 2 fields of the address", rest)
            if len(groups) > 6:
                raise _refused(text, "too many hex fields to fit an embedded IPv4 at the end of the address", rest)
            number = _read_v4(text, rest)
            return [*groups, number >> 16, number & 0xFFFF], ellipsis, ""
        groups.append(int(digits, 16))
        rest = rest[len(digits) :]
        if not rest:
            break
        if rest[0] != ":":
            raise _refused(text, "unexpected character, want colon", rest)
        if len(rest) == 1:
            raise _refused(text, "colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest[0] == ":":
            if ellipsis is not None:
                raise _refused(text, "multiple :: in address", rest)
            ellipsis, rest = len(groups), rest[1:]
            if not rest:
                break
    return groups, ellipsis, rest


def _read_hex(text: str, rest: str) -> str:
    match = _HEX.match(rest)
    digits = match[0] if match else ""
    if len(digits) > 4:
        raise _refused(text, "each group must have 4 or less digits", rest)
    if not digits:
        raise _refused(text, "each colon-separated field must have at least one digit", rest)
    return digits


def _write_v6(groups: list[int]) -> str:
    """Write groups with the longest run of at least two zeros as ``::``; the first of equals (RFC 5952)."""
    best, length, start = 0, 1, None
    for position in range(8):
        end = position
        while end < 8 and groups[end] == 0:
            end += 1
        if end - position > length:
            best, length, start = position, end - position, position
    if start is None:
        return ":".join(f"{group:x}" for group in groups)
    before, after = groups[:best], groups[best + length :]
    return f"{':'.join(f'{group:x}' for group in before)}::{':'.join(f'{group:x}' for group in after)}"
