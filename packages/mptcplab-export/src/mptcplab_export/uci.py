# SPDX-License-Identifier: MIT
"""Files for OpenWrt: configuration of netifd and firewall4 in the language of UCI, and an init script for the rest.

OpenWrt's own ``option multipath`` belongs to kernels of the Multipath TCP of multipath-tcp.org and to packages that
replace it; netifd does not read it. So an init script configures the kernel's path manager.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator

from mptcplab.configuration import Route, Rule
from mptcplab.errors import InputError
from mptcplab.plan.export import ExportedFile
from mptcplab_export import parts
from mptcplab_export.model import Configuration, ExportInterface, Service
from mptcplab_export.parts import table_lines

_NAME = re.compile(r"[^A-Za-z0-9_]")
_OWN = "mptcplab"
_LOOPBACK = "loopback"


class _Section:
    """A section of a UCI file: its type, its own name and its options; a list has several values."""

    def __init__(self, kind: str, name: str, /, **options: str | tuple[str, ...] | None) -> None:
        self._kind, self._name, self._options = kind, name, options

    def lines(self) -> Iterator[str]:
        yield from ("", f"config {self._kind} {_quote(self._name)}")
        for name, value in self._options.items():
            if isinstance(value, tuple):
                yield from (f"\tlist {name} {_quote(text)}" for text in value)
            elif value is not None:
                yield f"\toption {name} {_quote(value)}"


def write(configuration: Configuration) -> tuple[ExportedFile, ...]:
    """Return the files. :raises InputError: if two links would have the same name."""
    names = _names(configuration)
    return (
        _file(configuration, "network", "Interfaces, routes and rules", _network(configuration, names)),
        _file(configuration, "firewall", "Zones", _firewall(configuration, names)),
        *parts.settings(configuration),
        *parts.endpoints(configuration),
        *_firewall_includes(configuration),
        *parts.files_of_programs(configuration),
        *_init(configuration),
    )


def _names(configuration: Configuration) -> dict[str, str]:
    """Return the names of the interfaces' sections by device: letters, digits and ``_``."""
    names: dict[str, str] = {}
    for interface in configuration.interfaces:
        name = _NAME.sub("_", interface.link)
        if name in names.values() or name == _LOOPBACK:
            message = f"the link '{interface.link}' would be '{name}' in UCI, which is the name of another interface"
            raise InputError(message, hint="rename the link: UCI's names have letters, digits and _ only")
        names[interface.device] = name
    return names


def _network(configuration: Configuration, names: dict[str, str]) -> Iterator[_Section]:
    yield _Section("interface", _LOOPBACK, device="lo", proto="static", ipaddr="127.0.0.1", netmask="255.0.0.0")
    for interface in configuration.interfaces:
        name = names[interface.device]
        if interface.mtu is not None:
            yield _Section("device", f"{name}_device", name=interface.device, mtu=str(interface.mtu))
        yield _Section("interface", name, device=interface.device, proto="static", **_address(interface))
    for number, route in enumerate(configuration.routes, start=1):
        yield _route(route, f"{_OWN}_route{number}", names[route.device])
    for number, rule in enumerate(configuration.rules, start=1):
        yield _rule(rule, f"{_OWN}_rule{number}")


def _address(interface: ExportInterface) -> dict[str, str]:
    if interface.address.version == 6:
        return {"ip6addr": str(interface.address)}
    return {"ipaddr": str(interface.address.ip), "netmask": str(interface.address.netmask)}


def _route(route: Route, name: str, interface: str) -> _Section:
    return _Section(
        "route6" if route.destination.version == 6 else "route",
        name,
        interface=interface,
        target=str(route.destination),
        gateway=route.gateway,
        source=route.source,
        table=None if route.table is None else str(route.table),
    )


def _rule(rule: Rule, name: str) -> _Section:
    length = 128 if rule.version == 6 else 32
    options = {"in": _LOOPBACK if rule.incoming == "lo" else rule.incoming}
    return _Section(
        "rule6" if rule.version == 6 else "rule",
        name,
        **options,
        src=None if rule.source is None else f"{rule.source}/{length}",
        lookup=str(rule.table),
        priority=str(rule.priority),
    )


def _firewall(configuration: Configuration, names: dict[str, str]) -> Iterator[_Section]:
    """Yield zones that let everything pass, as the scenario's nodes do: one without and one with masquerading."""
    masquerading = {device for table in configuration.tables for device in table.masquerades}
    plain = tuple(name for device, name in names.items() if device not in masquerading)
    outside = tuple(name for device, name in names.items() if device in masquerading)
    zones = [name for name, members in (("inside", plain), ("outside", outside)) if members]
    accept = {"input": "ACCEPT", "output": "ACCEPT", "forward": "ACCEPT" if configuration.forwards else "REJECT"}
    if plain:
        yield _Section("zone", f"{_OWN}_inside", name="inside", network=plain, **accept)
    if outside:
        masq = {"masq6": "1"} if configuration.is_v6 else {"masq": "1"}
        yield _Section("zone", f"{_OWN}_outside", name="outside", network=outside, **accept, **masq)
    if configuration.forwards and len(zones) == 2:
        for source, target in (zones, zones[::-1]):
            yield _Section("forwarding", f"{_OWN}_from_{source}", src=source, dest=target)
    for table in configuration.tables:
        if not table.masquerades:
            place = {"path": f"/{_include(table.name)}", "position": "ruleset-post"}
            yield _Section("include", _NAME.sub("_", table.name), type="nftables", **place)


def _include(table: str) -> str:
    return f"etc/mptcplab/{table}.nft"


def _firewall_includes(configuration: Configuration) -> Iterator[ExportedFile]:
    """Yield the rules other than masquerading, for the firewall to include."""
    for table in configuration.tables:
        if not table.masquerades:
            lines = (*parts.head(configuration, "Packet rules"), *table_lines((table,)))
            yield ExportedFile(_include(table.name), "\n".join(lines) + "\n")


def _init(configuration: Configuration) -> Iterator[ExportedFile]:
    """Yield the init script of endpoints and programs."""
    if configuration.limits is None and not configuration.services:
        return
    lines = ["#!/bin/sh /etc/rc.common", *parts.head(configuration, "MPTCP's endpoints and programs")]
    lines += ["USE_PROCD=1", "START=95", "STOP=10", "", "start_service() {"]
    if configuration.limits is not None:
        lines += [f"\t/{parts.ENDPOINTS} start"]
    for service in configuration.services:
        lines += [f"\t{line}" for line in _instance(service)]
    lines += ["}"]
    if configuration.limits is not None:
        lines += ["", "stop_service() {", f"\t/{parts.ENDPOINTS} stop", "}"]
    yield ExportedFile(f"etc/init.d/{_OWN}", "\n".join(lines) + "\n", 0o755)


def _instance(service: Service) -> Iterator[str]:
    yield f"procd_open_instance {service.name}"
    yield f"procd_set_param command {shlex.join(service.argv)}"
    if service.environment:
        variables = (f"{name}={value}" for name, value in service.environment)
        yield f"procd_set_param env {shlex.join(variables)}"
    yield from ("procd_set_param respawn", "procd_set_param stdout 1", "procd_set_param stderr 1")
    yield "procd_close_instance"


def _file(configuration: Configuration, name: str, purpose: str, sections: Iterable[_Section]) -> ExportedFile:
    notes = configuration.notes if name == "network" else ()
    lines = [*parts.head(configuration, purpose), *(f"# {note}" for note in notes)]
    lines += [line for section in sections for line in section.lines()]
    return ExportedFile(f"etc/config/{name}", "\n".join(lines) + "\n")


def _quote(text: str) -> str:
    """Return a value in single quotes, in which only these are special."""
    return "'" + text.replace("'", "'\\''") + "'"
