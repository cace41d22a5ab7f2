"""Where chyme may connect to for addresses that come from content."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network

from chyme.core.outbound.addresses import Address, NoHost, describe_special_range, host_of
from chyme.errors import UsageError

PORTS = (80, 443)
HIGHEST_PORT = 65535
MAPPED = IPv6Network("::ffff:0:0/96")  # IPv4 addresses, which are compared as such


@dataclass(frozen=True, slots=True)
class AllowedDestination:
    """One entry of the setting: a network or a name, on some ports."""

    place: IPv4Network | IPv6Network | str  # a name may begin with `*.`, for all names below it
    ports: tuple[int, ...]

    def matches_name(self, host: str | None) -> bool:
        if not isinstance(self.place, str) or host is None:
            return False
        return host.endswith(self.place[1:]) if self.place.startswith("*.") else host == self.place

    def contains_address(self, address: Address) -> bool:
        if isinstance(self.place, str) or self.place.version != address.version:
            return False
        return int(self.place.network_address) <= int(address) <= int(self.place.broadcast_address)


@dataclass(frozen=True, slots=True)
class GuardPolicy:
    """The public Internet on the usual ports, and what the user allows in addition."""

    allow: tuple[AllowedDestination, ...] = ()
    ports: tuple[int, ...] = PORTS

    def port_refusal_reason(self, name: str | None, port: int) -> str | None:
        """Why nothing at this port can be reached, whatever address the name has. `name` is None for literal
        addresses."""
        possible = any(
            port in entry.ports and (not isinstance(entry.place, str) or entry.matches_name(name))
            for entry in self.allow
        )
        return None if port in self.ports or possible else self._port_message(port)

    def refusal_reason(self, name: str | None, address: Address, port: int) -> str | None:
        """Why chyme does not connect to this address; None when it does."""
        if any(
            port in entry.ports and (entry.matches_name(name) or entry.contains_address(address))
            for entry in self.allow
        ):
            return None
        reason = describe_special_range(address)
        if reason is not None:
            return f"{address} is {reason}"
        return None if port in self.ports else self._port_message(port)

    def _port_message(self, port: int) -> str:
        return f"port {port} is not one of {', '.join(map(str, self.ports))}"


def policy_of(allow: str) -> GuardPolicy:
    """The policy for the setting `web_allow`, whose entries are separated by commas or blanks; or UsageError."""
    return GuardPolicy(tuple(_parse_entry(entry) for entry in allow.replace(",", " ").split()))


def _parse_entry(text: str) -> AllowedDestination:
    place, ports = _split_port(text)
    wild = place.startswith("*.")
    try:
        if "/" in place:
            return AllowedDestination(_parse_network(place.strip("[]")), ports)
        host = host_of(place[2:] if wild else place)
    except (NoHost, ValueError) as error:
        raise _invalid_entry(text) from error
    if isinstance(host, str):
        return AllowedDestination(f"*.{host}" if wild else host, ports)
    if wild:
        raise _invalid_entry(text)
    return AllowedDestination(ip_network(host), ports)


def _parse_network(text: str) -> IPv4Network | IPv6Network:
    network = ip_network(text)
    if isinstance(network, IPv6Network) and network.overlaps(MAPPED):
        raise ValueError(text)
    return network


def _split_port(text: str) -> tuple[str, tuple[int, ...]]:
    """Split off the port of an entry. A bare IPv6 address has several colons, and none of them starts a port."""
    place, colon, port = text.rpartition(":")
    if not colon or (":" in place and not place.endswith("]")):
        return text, PORTS
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) <= HIGHEST_PORT):
        raise _invalid_entry(text)
    return place, (int(port),)


def _invalid_entry(text: str) -> UsageError:
    return UsageError(
        f"web_allow: {text[:100]!r} makes no sense; write an address (10.0.0.7), a network (10.1.0.0/16), a name "
        "(wiki.lan) or all names below one (*.lan), with :port behind it for another port than 80 and 443"
    )
