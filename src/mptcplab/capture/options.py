# SPDX-License-Identifier: MIT
"""Parse MPTCP options in the bytes of a TCP header: RFC 8684 (version 1) and RFC 6824 (version 0).

tshark prints every field of every option, but if a packet has several options (a DSS and an ADD_ADDR, two
REMOVE_ADDR), not which value belongs to which. So this module parses the bytes itself.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from typing import NamedTuple

_MPTCP, _MSS, _END, _NOP = 30, 2, 0, 1
_CHECKSUM_BYTES = 2


class Capable(NamedTuple):
    """MP_CAPABLE. ``data_length`` is the length of the payload that it maps (version 1, first data)."""

    version: int
    checksum: bool
    sender_key: bytes | None
    receiver_key: bytes | None
    data_length: int | None


class Join(NamedTuple):
    """MP_JOIN: a SYN has a ``token``; ``is_third`` marks the ACK that completes the handshake."""

    backup: bool
    address_id: int
    token: int | None
    is_third: bool


class Dss(NamedTuple):
    """DSS: raw numbers with their size in bits. ``length`` 0 with a data sequence number is an infinite mapping."""

    ack: int | None
    ack_bits: int
    sequence: int | None
    sequence_bits: int
    subflow_sequence: int
    length: int
    has_checksum: bool
    fin: bool


class AddAddress(NamedTuple):
    """ADD_ADDR."""

    address_id: int
    address: str
    port: int | None
    echo: bool


class RemoveAddress(NamedTuple):
    """REMOVE_ADDR."""

    address_ids: tuple[int, ...]


class Priority(NamedTuple):
    """MP_PRIO: makes this subflow, or in version 0 possibly another one, a backup or a regular one."""

    backup: bool
    address_id: int | None


class Fail(NamedTuple):
    """MP_FAIL: a checksum error in the data that begins at this data sequence number."""

    sequence: int


class FastClose(NamedTuple):
    """MP_FASTCLOSE: closes the whole connection at once."""

    receiver_key: bytes


class Reset(NamedTuple):
    """MP_TCPRST: the reason for the reset of a subflow."""

    reason: int
    transient: bool


Option = Capable | Join | Dss | AddAddress | RemoveAddress | Priority | Fail | FastClose | Reset


def mptcp_options(header: bytes, *, is_cut: bool = False) -> Iterator[Option]:
    """Yield the MPTCP options of a TCP header; truncated and unknown ones are skipped.

    If the capture has only a part of the header (``is_cut``), a DSS counts that lacks nothing but its checksum.
    """
    for kind, body in _options(_complete_checksum(header) if is_cut else header):
        if kind == _MPTCP and body:
            option = _read(body)
            if option is not None:
                yield option


def has_mptcp(header: bytes) -> bool:
    """Return whether a TCP header has an MPTCP option, be it of an unknown subtype, damaged or cut."""
    return _MPTCP in header and _MPTCP in (kind for kind, _, _ in _walk(header))


def maximum_segment(header: bytes) -> int | None:
    """Return the value of the MSS option; None without one."""
    return next((int.from_bytes(body) for kind, body in _options(header) if kind == _MSS and len(body) == 2), None)


def _complete_checksum(header: bytes) -> bytes:
    """Return a header that was cut in or before the checksum of a DSS with that checksum; any other one unchanged."""
    for kind, at, size in _walk(header):
        missing = at + size - len(header)
        if kind == _MPTCP and 0 < missing <= _CHECKSUM_BYTES:
            whole = header + bytes(missing)
            option = _read(whole[at + 2 :])
            return whole if isinstance(option, Dss) and option.has_checksum else header
    return header


def _walk(header: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield kind, position and size of each option but NOP. The last one may be cut; its size may be cut, too (0)."""
    at = 0
    while at < len(header) and header[at] != _END:
        if header[at] == _NOP:
            at += 1
            continue
        size = header[at + 1] if at + 1 < len(header) else 0
        yield header[at], at, size
        if size < 2:
            return
        at += size


def _options(header: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield kind and body of each whole option."""
    for kind, at, size in _walk(header):
        if 2 <= size <= len(header) - at:
            yield kind, header[at + 2 : at + size]


def _read(body: bytes) -> Option | None:
    """Parse ``body``, an option without kind and length; the subtype is in its first four bits."""
    reader = _READERS.get(body[0] >> 4)
    try:
        return reader(body) if reader is not None else None
    except (IndexError, ValueError):
        return None


def _need(body: bytes, *sizes: int) -> int:
    if len(body) not in sizes:
        raise ValueError(len(body))
    return len(body)


def _parse_capable(body: bytes) -> Capable:
    """Parse MP_CAPABLE by length: 2 (SYN, version 1), 10 (one key), 18 (both), 20 (with data), 22 (and checksum)."""
    size = _need(body, 2, 10, 18, 20, 22)
    sender = body[2:10] if size >= 10 else None
    receiver = body[10:18] if size >= 18 else None
    length = int.from_bytes(body[18:20]) if size >= 20 else None
    return Capable(body[0] & 0x0F, bool(body[1] & 0x80), sender, receiver, length)


def _join(body: bytes) -> Join:
    size = _need(body, 10, 14, 22)
    token = int.from_bytes(body[2:6]) if size == 10 else None
    return Join(size != 22 and bool(body[0] & 0x01), 0 if size == 22 else body[1], token, size == 22)


def _dss(body: bytes) -> Dss:
    flags, at = body[1], 2
    ack = sequence = None
    ack_bits = sequence_bits = 0
    subflow = length = 0
    if flags & 0x01:
        ack_bits = 64 if flags & 0x02 else 32
        ack, at = int.from_bytes(body[at : at + ack_bits // 8]), at + ack_bits // 8
    has_checksum = False
    if flags & 0x04:
        sequence_bits = 64 if flags & 0x08 else 32
        sequence, at = int.from_bytes(body[at : at + sequence_bits // 8]), at + sequence_bits // 8
        subflow, length = int.from_bytes(body[at : at + 4]), int.from_bytes(body[at + 4 : at + 6])
        at += 6
        has_checksum = len(body) == at + 2
        at += 2 * has_checksum
    _need(body, at)
    return Dss(ack, ack_bits, sequence, sequence_bits, subflow, length, has_checksum, bool(flags & 0x10))


def _add_address(body: bytes) -> AddAddress:
    """Parse ADD_ADDR. Version 0 has the family in its flags; version 1 has an HMAC of 8 bytes except in an echo."""
    flags = body[0] & 0x0F
    echo = flags == 1
    rest = body[2:]
    if flags in (0, 1):
        rest = rest if echo else rest[:-8]
        size = 4 if len(rest) in (4, 6) else 16
    else:
        size = {4: 4, 6: 16}[flags] if flags in (4, 6) else 0
        rest = rest[: size + 2] if len(rest) in (size + 2, size + 10) else rest[:size]
    _need(rest, size, size + 2)
    port = int.from_bytes(rest[size:]) if len(rest) > size else None
    return AddAddress(body[1], str(ipaddress.ip_address(rest[:size])), port, echo)


def _remove_address(body: bytes) -> RemoveAddress:
    return RemoveAddress(tuple(body[1:]))


def _priority(body: bytes) -> Priority:
    return Priority(bool(body[0] & 0x01), body[1] if _need(body, 1, 2) == 2 else None)


def _fail(body: bytes) -> Fail:
    _need(body, 10)
    return Fail(int.from_bytes(body[2:]))


def _fast_close(body: bytes) -> FastClose:
    _need(body, 10)
    return FastClose(body[2:])


def _reset(body: bytes) -> Reset:
    _need(body, 2)
    return Reset(body[1], bool(body[0] & 0x01))


_READERS: dict[int, Callable[[bytes], Option]] = {
    0: _parse_capable,
    1: _join,
    2: _dss,
    3: _add_address,
    4: _remove_address,
    5: _priority,
    6: _fail,
    7: _fast_close,
    8: _reset,
}
