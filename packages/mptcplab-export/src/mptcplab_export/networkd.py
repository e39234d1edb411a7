# SPDX-License-Identifier: MIT
"""Files for systemd: interfaces, routes and rules for systemd-networkd, and services for the rest."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.configuration import Route, Rule
from mptcplab.plan.export import ExportedFile
from mptcplab_export import parts
from mptcplab_export.model import Configuration, ExportInterface, Service
from mptcplab_export.parts import deletion

_NETWORKS = "etc/systemd/network"
_UNITS = "etc/systemd/system"
_SERVICE = "mptcplab.service"


def write(configuration: Configuration) -> tuple[ExportedFile, ...]:
    """Return the files."""
    networks = (_network(configuration, number) for number in range(len(configuration.interfaces)))
    return (
        *networks,
        *parts.settings(configuration),
        *parts.endpoints(configuration),
        *parts.tables(configuration),
        *_setup(configuration),
        *parts.files_of_programs(configuration),
        *(_program(configuration, service) for service in configuration.services),
    )


def _network(configuration: Configuration, number: int) -> ExportedFile:
    interface = configuration.interfaces[number]
    lines = [*parts.head(configuration, f"The interface {interface.device}")]
    if number == 0:
        lines += [f"# {note}" for note in configuration.notes]
    lines += _section("Match", Name=interface.device)
    if interface.mtu is not None:
        lines += _section("Link", MTUBytes=str(interface.mtu))
    lines += _section("Network", Address=str(interface.address))
    for route in configuration.routes_of(interface.device):
        lines += _route(route, interface)
    # A rule belongs to the machine; networkd wants it in the file of an interface.
    for rule in configuration.rules:
        if rule.source == str(interface.address.ip) or (rule.source is None and number == 0):
            lines += _rule(rule)
    return ExportedFile(f"{_NETWORKS}/50-mptcplab-{interface.device}.network", _text(lines))


def _route(route: Route, interface: ExportInterface) -> Iterator[str]:
    # IPv6 has no scopes of routes.
    is_local = route.gateway is None and interface.address.version == 4
    return _section(
        "Route",
        Destination=str(route.destination),
        Gateway=route.gateway,
        Scope="link" if is_local else None,
        PreferredSource=route.source,
        Table=_number(route.table),
    )


def _rule(rule: Rule) -> Iterator[str]:
    # Without an address, the version of IP is not evident.
    return _section(
        "RoutingPolicyRule",
        From=rule.source,
        IncomingInterface=rule.incoming,
        Family=f"ipv{rule.version}" if rule.source is None else None,
        Table=_number(rule.table),
        Priority=_number(rule.priority),
    )


def _setup(configuration: Configuration) -> Iterator[ExportedFile]:
    """Yield the service for what networkd cannot do."""
    starts, stops = [], []
    if configuration.tables:
        starts.append(("nft", "-f", f"/{parts.TABLES}"))
        stops += [deletion(table) for table in configuration.tables]
    if configuration.limits is not None:
        starts.append(("sh", f"/{parts.ENDPOINTS}", "start"))
        stops.append(("sh", f"/{parts.ENDPOINTS}", "stop"))
    if not starts:
        return
    lines = [*parts.head(configuration, "MPTCP's endpoints and packet rules")]
    lines += _section(
        "Unit",
        Description=f"mptcplab: the node {configuration.node}",
        Wants="network-online.target",
        After="network-online.target",
    )
    lines += _section("Service", Type="oneshot", RemainAfterExit="yes")
    lines += [f"ExecStart={_words(argv)}" for argv in starts]
    lines += [f"ExecStop={_words(argv)}" for argv in stops]
    lines += _section("Install", WantedBy="multi-user.target")
    yield ExportedFile(f"{_UNITS}/{_SERVICE}", _text(lines))


def _program(configuration: Configuration, service: Service) -> ExportedFile:
    lines = [*parts.head(configuration, "A program")]
    lines += _section(
        "Unit", Description=f"mptcplab: {service.name}", Wants=_SERVICE, After=f"{_SERVICE} network-online.target"
    )
    lines += _section("Service")
    lines += [f"Environment={_word(f'{name}={value}')}" for name, value in service.environment]
    lines += [f"ExecStart={_words(service.argv)}", "Restart=on-failure"]
    lines += _section("Install", WantedBy="multi-user.target")
    return ExportedFile(f"{_UNITS}/mptcplab-{service.name}.service", _text(lines))


def _section(name: str, **keys: str | None) -> Iterator[str]:
    yield from ("", f"[{name}]")
    yield from (f"{key}={value}" for key, value in keys.items() if value is not None)


def _number(value: int | None) -> str | None:
    return None if value is None else str(value)


def _words(argv: tuple[str, ...]) -> str:
    return " ".join(_word(word).replace("$", "$$") for word in argv)


def _word(text: str) -> str:
    """Return one word of a command line or of an assignment, see systemd.syntax(7)."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("%", "%%")
    plain = escaped == text and text and not any(character in text for character in " \t';")
    return text if plain else f'"{escaped}"'


def _text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"
