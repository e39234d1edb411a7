# SPDX-License-Identifier: MIT
"""The same packets in other forms: link types, tunnels, fragments, merged segments, file formats, parts of a capture.

Each form is made from frames of Ethernet and IPv4 that a kernel sent, so what MPTCP did in them is known.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ETHERNET, RAW, NULL, LOOP, COOKED, COOKED2, RAW4 = 1, 101, 0, 108, 113, 276, 228
_MAC = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01"
_IPV4, _IPV6, _TCP, _FRAGMENT = 0x0800, 0x86DD, 6, 44
_AF_INET = 2
_ETHERNET_BYTES, _IPV4_BYTES, _IPV6_BYTES = 14, 20, 40
_MAX_IP_BYTES = 65535
#: The addresses of tunnels, which are none of the packets in them.
_OUTER, _OUTER6 = bytes([192, 0, 2, 1, 192, 0, 2, 2]), bytes(15) + b"\x07" + bytes(15) + b"\x08"
_SECOND = 10**9


@dataclass(frozen=True)
class Frame:
    """An IP packet, whole, at an interface. ``is_out`` says that the host of the capture sent it."""

    time_ns: int
    ip: bytes
    interface: int = 0
    is_out: bool = False

    @property
    def is_v6(self) -> bool:
        """True for IPv6."""
        return self.ip[0] >> 4 == 6

    @property
    def protocol(self) -> int:
        """The EtherType."""
        return _IPV6 if self.is_v6 else _IPV4

    @property
    def ends(self) -> bytes:
        """Addresses and ports of an IPv4 packet."""
        return self.ip[12:24]

    @property
    def tcp(self) -> bytes:
        """The TCP segment, with its header."""
        return self.ip[_IPV6_BYTES if self.is_v6 else _IPV4_BYTES :]

    @property
    def options(self) -> bytes:
        """The options of the TCP segment."""
        return self.tcp[20 : (self.tcp[12] >> 4) * 4]

    @property
    def sequence(self) -> int:
        """The TCP sequence number."""
        return int.from_bytes(self.tcp[4:8])

    @property
    def payload_bytes(self) -> int:
        """The length of the TCP payload."""
        return len(self.tcp) - (self.tcp[12] >> 4) * 4


def frames_of(*files: Path) -> list[Frame]:
    """Return the frames of pcap files of a client (little-endian, nanoseconds, Ethernet), by time.

    Payload that was not kept is zeros. The client has the addresses 10.0.1.1 and 10.0.3.1.
    """
    frames = []
    for interface, file in enumerate(files):
        content, at = file.read_bytes(), 24
        while at < len(content):
            seconds, nanos, kept, length = struct.unpack_from("<IIII", content, at)
            ip = content[at + 16 + _ETHERNET_BYTES : at + 16 + kept].ljust(length - _ETHERNET_BYTES, b"\0")
            if ip[9] == _TCP:
                frames.append(Frame(seconds * _SECOND + nanos, ip, interface, ip[15] == 1 and ip[14] in (1, 3)))
            at += 16 + kept
    return sorted(frames, key=lambda frame: frame.time_ns)


# Files.

Encapsulation = Callable[[Frame], bytes]


def pcap(
    frames: Iterable[Frame],
    encapsulate: Encapsulation | None = None,
    *,
    link: int = ETHERNET,
    order: str = "<",
    unit_ns: int = 1,
    snaplen: int = 262_144,
) -> bytes:
    """Return a pcap file of frames: ``unit_ns`` is 1 for nanoseconds, 1000 for microseconds."""
    parts = [struct.pack(f"{order}IHHiIII", 0xA1B23C4D if unit_ns == 1 else 0xA1B2C3D4, 2, 4, 0, 0, snaplen, link)]
    for frame in frames:
        packet = (encapsulate or ethernet)(frame)
        seconds, nanos = divmod(frame.time_ns, _SECOND)
        header = struct.pack(f"{order}IIII", seconds, nanos // unit_ns, min(len(packet), snaplen), len(packet))
        parts += [header, packet[:snaplen]]
    return b"".join(parts)


def encode_pcapng(frames: Iterable[Frame], *, order: str = "<") -> bytes:
    """Return a pcapng file: an interface of Ethernet in nanoseconds, one of raw IP in microseconds, and comments."""
    parts = [
        _block(order, 0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1) + _comment(order, "a section"))
    ]
    for number, (link, digits) in enumerate(((ETHERNET, 9), (RAW, 6))):
        name, resolution = (
            struct.pack(f"{order}HH4s", 2, 4, b"eth%d" % number),
            struct.pack(f"{order}HHB3x", 9, 1, digits),
        )
        header = struct.pack(f"{order}HHI", link, 0, 0)
        parts.append(_block(order, 1, header + name + resolution + _comment(order, "an interface")))
    for frame in frames:
        packet = (ethernet, ip_packet)[frame.interface](frame)
        ticks = frame.time_ns // (1, 1000)[frame.interface]
        head = struct.pack(f"{order}IIIII", frame.interface, ticks >> 32, ticks & 0xFFFFFFFF, len(packet), len(packet))
        parts.append(_block(order, 6, head + _pad(packet) + _comment(order, "a packet")))
    return b"".join(parts)


def _block(order: str, kind: int, body: bytes) -> bytes:
    length = struct.pack(f"{order}I", 12 + len(body))
    return struct.pack(f"{order}I", kind) + length + body + length


def _comment(order: str, text: str) -> bytes:
    return struct.pack(f"{order}HH", 1, len(text)) + _pad(text.encode()) + bytes(4)


def _pad(content: bytes) -> bytes:
    return content + bytes(-len(content) % 4)


# Link types and encapsulations, each of one frame.


def ethernet(frame: Frame) -> bytes:
    """Return the frame in Ethernet."""
    return _MAC + frame.protocol.to_bytes(2) + frame.ip


def ip_packet(frame: Frame) -> bytes:
    """Return the IP packet itself."""
    return frame.ip


def null(frame: Frame) -> bytes:
    """Return the frame of a BSD loopback interface: the protocol family, here in the host's order."""
    return struct.pack("<I", _AF_INET) + frame.ip


def loop(frame: Frame) -> bytes:
    """Return the frame of an OpenBSD loopback interface: the protocol family in network order."""
    return struct.pack(">I", _AF_INET) + frame.ip


def add_cooked_header(frame: Frame) -> bytes:
    """Return the frame of Linux's ``any``, version 1, which does not name the interface."""
    return struct.pack(">HHH8sH", 4 * frame.is_out, 1, 6, _MAC, frame.protocol) + frame.ip


def add_cooked2_header(frame: Frame) -> bytes:
    """Return the frame of Linux's ``any``, version 2."""
    head = struct.pack(">HHIHBB8s", frame.protocol, 0, 2 + frame.interface, 1, 4 * frame.is_out, 6, _MAC)
    return head + frame.ip


def vlan(frame: Frame) -> bytes:
    """Return the frame with two VLAN tags (802.1ad)."""
    return _MAC + struct.pack(">HHHHH", 0x88A8, 100, 0x8100, 7 + frame.interface, frame.protocol) + frame.ip


def pppoe(frame: Frame) -> bytes:
    """Return the frame in a session of PPPoE."""
    kind = 0x0057 if frame.is_v6 else 0x0021
    return _MAC + struct.pack(">HBBHHH", 0x8864, 0x11, 0, 5, len(frame.ip) + 2, kind) + frame.ip


def mpls(frame: Frame) -> bytes:
    """Return the frame with two MPLS labels."""
    return _MAC + struct.pack(">HII", 0x8847, (1000 << 12) | 64, (2000 << 12) | 0x100 | 64) + frame.ip


def gre(frame: Frame) -> bytes:
    """Return the packet in GRE with a key, over IPv4."""
    return _over_ipv4(47, struct.pack(">HHI", 0x2000, frame.protocol, 99) + frame.ip)


def vxlan(frame: Frame) -> bytes:
    """Return the frame in VXLAN, over IPv4."""
    return _over_udp(4789, struct.pack(">BxxxI", 8, 42 << 8) + ethernet(frame))


def geneve(frame: Frame) -> bytes:
    """Return the frame in Geneve, over IPv4."""
    return _over_udp(6081, struct.pack(">BBHI", 0, 0, 0x6558, 42 << 8) + ethernet(frame))


def gtp(frame: Frame) -> bytes:
    """Return the packet in GTP-U, as between a base station and the core of a mobile network."""
    return _over_udp(2152, struct.pack(">BBHI", 0x30, 0xFF, len(frame.ip), 1) + frame.ip)


def ip_in_ipv4(frame: Frame) -> bytes:
    """Return the packet in IPv4."""
    return _over_ipv4(41 if frame.is_v6 else 4, frame.ip)


def ip_in_ipv6(frame: Frame) -> bytes:
    """Return the packet in IPv6."""
    return _MAC + _IPV6.to_bytes(2) + _ipv6(41 if frame.is_v6 else 4, _OUTER6, frame.ip)


def _over_udp(port: int, body: bytes) -> bytes:
    return _over_ipv4(17, struct.pack(">HHHH", 50000, port, 8 + len(body), 0) + body)


def _over_ipv4(protocol: int, body: bytes) -> bytes:
    return _MAC + _IPV4.to_bytes(2) + _ipv4(protocol, _OUTER, body)


def _ipv4(protocol: int, addresses: bytes, body: bytes, *, identification: int = 0, fragment: int = 0) -> bytes:
    length = _IPV4_BYTES + len(body)
    return struct.pack(">BBHHHBBH", 0x45, 0, length, identification, fragment, 64, protocol, 0) + addresses + body


def _ipv6(protocol: int, addresses: bytes, body: bytes) -> bytes:
    return struct.pack(">IHBB", 0x60000000, len(body), protocol, 64) + addresses + body


# Other packets with the same data.


def to_ipv6(frames: Iterable[Frame]) -> list[Frame]:
    """Return the packets with IPv6 headers."""
    return [replace(frame, ip=_ipv6(_TCP, _addresses6(frame), frame.tcp)) for frame in frames]


def _addresses6(frame: Frame) -> bytes:
    prefix = b"\xfd" + bytes(11)
    return prefix + frame.ip[12:16] + prefix + frame.ip[16:20]


def merge_segments(frames: Sequence[Frame]) -> list[Frame]:
    """Return the packets as a receiver's GRO delivers them.

    Segments that continue each other and have the same MPTCP option become a packet, which has the options of the
    first segment.
    """
    merged: list[Frame] = []
    newest: dict[bytes, int] = {}
    for frame in frames:
        at = newest.get(frame.ends)
        before = merged[at] if at is not None else None
        if before is not None and at is not None and _continues(before, frame):
            ip = bytearray(before.ip + frame.tcp[-frame.payload_bytes :])
            ip[2:4] = len(ip).to_bytes(2)
            merged[at] = replace(before, ip=bytes(ip))
        else:
            newest[frame.ends] = len(merged)
            merged.append(frame)
    return merged


def _continues(before: Frame, frame: Frame) -> bool:
    follows = frame.sequence == (before.sequence + before.payload_bytes) % 2**32
    fits = len(before.ip) + frame.payload_bytes <= _MAX_IP_BYTES
    # Time stamps, the first 12 bytes of options, differ between segments of the base.
    same = before.options[12:] == frame.options[12:]
    return bool(follows and fits and same and before.payload_bytes and frame.payload_bytes)


def erase_lengths(frames: Iterable[Frame]) -> list[Frame]:
    """Return the packets with IPv4's length 0 if they are larger than an MTU, as before a card's segmentation."""
    return [
        replace(frame, ip=frame.ip[:2] + bytes(2) + frame.ip[4:]) if len(frame.ip) > 1500 else frame for frame in frames
    ]


def fragment(frames: Iterable[Frame], size: int = 800) -> list[Frame]:
    """Return the packets in fragments of at most ``size`` bytes, a multiple of 8; the last fragment comes first."""
    fragments = []
    for number, frame in enumerate(frames, start=1):
        pieces = [(at, frame.tcp[at : at + size]) for at in range(0, len(frame.tcp), size)]
        if len(pieces) == 1:
            fragments.append(frame)
            continue
        for at, piece in pieces[::-1]:
            more = at + len(piece) < len(frame.tcp)
            if frame.is_v6:
                header = struct.pack(">BBHI", _TCP, 0, at | more, number)
                ip = _ipv6(_FRAGMENT, frame.ip[8:40], header + piece)
            else:
                ip = _ipv4(_TCP, frame.ip[12:20], piece, identification=number, fragment=more << 13 | at // 8)
            fragments.append(replace(frame, ip=ip))
    return fragments


def reorder(frames: Sequence[Frame], within: int = 6) -> list[Frame]:
    """Return the frames in another order than their times: each group of ``within`` backwards."""
    return [frame for at in range(0, len(frames), within) for frame in frames[at : at + within][::-1]]


def twice(frames: Iterable[Frame], gap_ns: int = 2000) -> Iterator[Frame]:
    """Yield each frame, and its copy ``gap_ns`` later."""
    for frame in frames:
        yield frame
        yield replace(frame, time_ns=frame.time_ns + gap_ns)
