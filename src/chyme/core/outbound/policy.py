"""Where chyme may go for addresses that come from content."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network

from chyme.core.outbound.hosts import NoHost, host_of
from chyme.core.outbound.ip_addresses import Address, describe_special_range
from chyme.errors import UsageError

PORTS = (80, 443)
HIGHEST_PORT = 65535
MAPPED = IPv6Network("::ffff:0:0/96")  # addresses of IPv4, which are compared as such


@dataclass(frozen=True, slots=True)
class AllowedDestination:
    """One entry of the setting: a network or a name, on some ports."""

    place: IPv4Network | IPv6Network | str  # a name may begin with `*.`, for everything below it
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
    """The public Internet on the usual ports, and what the user allows besides."""

    allow: tuple[AllowedDestination, ...] = ()
    ports: tuple[int, ...] = PORTS

    def port_refusal_reason(self, name: str | None, port: int) -> str | None:
        """Why nothing at this port can be reached, whatever address the name may have. `name` is None for literals."""
        possible = any(
            port in one.ports and (not isinstance(one.place, str) or one.matches_name(name)) for one in self.allow
        )
        return None if port in self.ports or possible else self._only(port)

    def refusal_reason(self, name: str | None, address: Address, port: int) -> str | None:
        """Why this address is not connected to, in words; None when it is."""
        if any(port in one.ports and (one.matches_name(name) or one.contains_address(address)) for one in self.allow):
            return None
        reason = describe_special_range(address)
        if reason is not None:
            return f"{address} is {reason}"
        return None if port in self.ports else self._only(port)

    def _only(self, port: int) -> str:
        return f"port {port} is not one of {', '.join(map(str, self.ports))}"


def policy_of(allow: str) -> GuardPolicy:
    """The policy for the text of the setting `web_allow`, or UsageError: entries between commas or blanks."""
    return GuardPolicy(tuple(_entry(entry) for entry in allow.replace(",", " ").split()))


def _entry(text: str) -> AllowedDestination:
    place, ports = _ports(text)
    wild = place.startswith("*.")
    try:
        if "/" in place:
            return AllowedDestination(_network(place.strip("[]")), ports)
        host = host_of(place[2:] if wild else place)
    except (NoHost, ValueError) as error:
        raise _senseless(text) from error
    if isinstance(host, str):
        return AllowedDestination(f"*.{host}" if wild else host, ports)
    if wild:
        raise _senseless(text)
    return AllowedDestination(ip_network(host), ports)


def _network(text: str) -> IPv4Network | IPv6Network:
    network = ip_network(text)
    if isinstance(network, IPv6Network) and network.overlaps(MAPPED):
        raise ValueError(text)
    return network


def _ports(text: str) -> tuple[str, tuple[int, ...]]:
    """The entry without its port. A bare IPv6 address has several colons, and none of them begins a port."""
    place, colon, port = text.rpartition(":")
    if not colon or (":" in place and not place.endswith("]")):
        return text, PORTS
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) <= HIGHEST_PORT):
        raise _senseless(text)
    return place, (int(port),)


def _senseless(text: str) -> UsageError:
    return UsageError(
        f"web_allow: {text[:100]!r} makes no sense; write an address (10.0.0.7), a network (10.1.0.0/16), a name "
        "(wiki.lan) or all names below one (*.lan), with :port behind it for another port than 80 and 443"
    )
