# SPDX-License-Identifier: MIT
"""Tables of nftables as files for ``nft -f``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mptcplab.configuration import NftTable


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
