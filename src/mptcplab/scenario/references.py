# SPDX-License-Identifier: MIT
"""Checks that names in one table refer to something in another: nodes with sockets, links, links of a node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mptcplab.errors import Mistake
from mptcplab.scenario.document import Document, name_hint
from mptcplab.scenario.place import KeyPath

if TYPE_CHECKING:
    from mptcplab.scenario.network import Network


def check_known(
    document: Document, path: KeyPath, name: str, names: Iterable[str], noun: str, *, near: Iterable[str] = ()
) -> None:
    """Check that ``name`` is one of ``names``; the hint names one of ``near``, if given. :raises InputError: if not."""
    known = list(names)
    if name not in known:
        hint = name_hint(name, list(near) or known)
        raise document.error(path, f"there is no {noun} '{name}'", hint=hint, kind=Mistake.REFERENCE)


def check_own_link(
    document: Document, path: KeyPath, network: Network, node: str, link: str, *, hint: str | None = None
) -> None:
    """Check that ``link`` exists and that ``node`` is one of its ends. :raises InputError: if it is not."""
    links = network.links_of(node)
    check_known(document, path, link, network.scenario.links, "link", near=links)
    if link not in links:
        hint = hint or f"use a link of '{node}': {', '.join(links)}"
        raise document.error(path, f"does not end at '{node}'", hint=hint, kind=Mistake.REFERENCE)


def check_sockets(document: Document, path: KeyPath, network: Network, name: str, noun: str) -> None:
    """Check that ``name`` is a node with sockets of its own. :raises InputError: if it is not."""
    others = network.scenario.transports
    node = network.nodes.get(name)
    if node is not None and name not in others:
        also = f", or add [{node.table}.{name}.transport]" if node.transport_is_optional else ""
        hint = f"use a node with sockets of its own: {', '.join(others)}{also}"
        message = f"is {node.phrase()} without sockets of its own"
        raise document.error(path, message, hint=hint, kind=Mistake.REFERENCE)
    check_known(document, path, name, others, noun)
