# SPDX-License-Identifier: MIT
"""Files that several formats have: settings, tables of nftables, and a script for MPTCP's endpoints."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from mptcplab.configuration import NftTable
from mptcplab.plan.export import ExportedFile
from mptcplab_export.model import KERNEL_LIMITS, Configuration

# Tables of nftables as files for ``nft -f``.


def new_table(table: NftTable) -> list[str]:
    """Return the lines that create ``table``; ``nft`` refuses them if there is one of this name."""
    return [f"create table {table.family} {table.name}", *_block(table)]


def table_lines(tables: Iterable[NftTable]) -> list[str]:
    """Return the lines that set up ``tables``, whatever is in tables of these names."""
    lines: list[str] = []
    for table in tables:
        named = f"table {table.family} {table.name}"
        # Only a table that exists can be deleted.
        lines += [named, f"delete {named}", *_block(table)]
    return lines


def deletion(table: NftTable) -> tuple[str, ...]:
    """Return the command that deletes ``table``."""
    return ("nft", "delete", "table", table.family, table.name)


def _block(table: NftTable) -> Iterator[str]:
    yield f"table {table.family} {table.name} {{"
    for chain in table.chains:
        yield f"\tchain {chain.name} {{"
        yield f"\t\t{chain.hook}"
        yield from (f"\t\t{rule}" for rule in chain.rules)
        yield "\t}"
    yield "}"


# Files that several formats have: settings, and a script for MPTCP's endpoints, which no network manager knows.

ENDPOINTS = "etc/mptcplab/endpoints"
SETTINGS = "etc/sysctl.d/60-mptcplab.conf"
TABLES = "etc/mptcplab/nftables.conf"
_FORGET = """\
# The kernel numbers endpoints, and deletes them by their numbers.
forget() {
	ip mptcp endpoint show | while read -r line; do
		case $line in
		"$1 id "*)
			line=${line#"$1 id "}
			ip mptcp endpoint delete id "${line%% *}"
			;;
		esac
	done
}
"""
_CHOICE = """\
case ${1:-} in
start | stop)
	"$1"
	;;
*)
	echo "usage: sh $0 start | stop" >&2
	exit 2
	;;
esac
"""


def head(configuration: Configuration, purpose: str) -> Iterator[str]:
    """Yield the comments at the beginning of a file."""
    yield f"# {purpose} of the node {configuration.node} of: {configuration.title}"
    yield "# Made by `mptcplab plan`."


def settings(configuration: Configuration) -> Iterator[ExportedFile]:
    """Yield the file of ``sysctl``, if there are settings."""
    if configuration.settings:
        lines = (f"{name} = {value}" for name, value in configuration.settings)
        yield _file(SETTINGS, (*head(configuration, "Settings"), *lines))


def tables(configuration: Configuration) -> Iterator[ExportedFile]:
    """Yield the file of ``nft``, if there are tables."""
    if configuration.tables:
        purpose = "Packet rules"
        yield _file(TABLES, (*head(configuration, purpose), *table_lines(configuration.tables)))


def endpoints(configuration: Configuration) -> Iterator[ExportedFile]:
    """Yield the script that adds and deletes MPTCP's endpoints, if the node uses MPTCP."""
    if configuration.limits is None:
        return
    lines = ["#!/bin/sh", *head(configuration, "MPTCP's endpoints"), "set -eu", ""]
    lines += [_FORGET] if configuration.endpoints else []
    lines += ["stop() {"]
    lines += [f"\tforget {shlex.quote(' '.join(endpoint.name()))}" for endpoint in configuration.endpoints]
    lines += [f"\t{shlex.join(KERNEL_LIMITS.command())}", "}", "", "start() {", "\tstop"]
    lines += [f"\t{shlex.join(configuration.limits.command())}"]
    lines += [f"\t{shlex.join(endpoint.addition())}" for endpoint in configuration.endpoints]
    yield _file(ENDPOINTS, (*lines, "}", "", _CHOICE.rstrip("\n")), 0o755)


def files_of_programs(configuration: Configuration) -> Iterator[ExportedFile]:
    """Yield the files of services, which have passwords."""
    for service in configuration.services:
        yield from (ExportedFile(path.removeprefix("/"), f"{text}\n", 0o600) for path, text in service.files)


def _file(path: str, lines: tuple[str, ...], mode: int = 0o644) -> ExportedFile:
    return ExportedFile(path, "\n".join(lines) + "\n", mode)
