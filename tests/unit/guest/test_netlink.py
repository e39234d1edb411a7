# SPDX-License-Identifier: MIT
"""The guest's codec of netlink, compared with the kernel's layout of bytes."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

import mptcplab.guest
from mptcplab.guest import netlink
from mptcplab.guest.interfaces import Interfaces
from mptcplab.guest.netlink import (
    ROUTE,
    Family,
    Netlink,
    RefusedError,
    attribute,
    attributes,
    integer_attribute,
    nested_attribute,
    text,
)

DONE, REFUSED, ACKNOWLEDGED = (3, bytes(4)), (2, bytes.fromhex("feffffff") + bytes(16)), (2, bytes(20))


def packet(*messages: tuple[int, bytes]) -> bytes:
    """Return messages of a kind and a body, each padded."""
    heads = ((16 + len(body)).to_bytes(4, "little") + kind.to_bytes(2, "little") + bytes(10) for kind, body in messages)
    return b"".join(head + body + bytes(-len(body) % 4) for head, (_, body) in zip(heads, messages, strict=True))


class Kernel:
    """Replaces all sockets: returns prepared packets, and keeps the data sent to it."""

    def __init__(self, *packets: bytes) -> None:
        self.packets, self.sent, self.is_bound = list(packets), bytearray(), False
        self.fileno, self.close = (lambda: 0), (lambda: None)

    def send(self, data: bytes) -> None:
        self.sent += data

    def recv(self, size: int) -> bytes:
        assert size >= len(self.packets[0])
        return self.packets.pop(0)

    def bind(self, address: tuple[int, int]) -> None:
        assert (address, self.is_bound) == ((0, 0), False)
        self.is_bound = True

    def setsockopt(self, *_: int) -> None:
        pass


Answers = Callable[..., Kernel]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """Return a function that makes a kernel which answers with the given packets."""

    def prepare(*packets: bytes) -> Kernel:
        kernel = Kernel(*packets)
        monkeypatch.setattr(netlink, "socket", lambda *_: kernel)
        return kernel

    return prepare


def test_attributes_are_laid_out_as_the_kernel_has_them() -> None:
    assert attribute(3, b"eth0\0").hex(" ", 4) == "09000300 65746830 00000000"
    assert nested_attribute(1, integer_attribute(5, 0x1234, 2)).hex(" ", 4) == "0c000180 06000500 34120000"


def test_attributes_are_read_without_their_flags_and_padding() -> None:
    data = memoryview(bytes.fromhex("0900034065746830 00000000 0c000180 06000500 34120000"))
    (name, eth0), (kind, inner) = attributes(data)
    assert (name, text(eth0), kind) == (3, "eth0", 1)
    assert [(kind, bytes(value)) for kind, value in attributes(inner)] == [(5, b"\x34\x12")]


def test_a_dump_is_read_to_its_end(answers: Answers) -> None:
    kernel = answers(packet((16, b"a"), (16, b"bb")), packet((16, b"ccc")), packet(DONE))
    assert [bytes(body) for _, body in Netlink(ROUTE).dump(18, b"ask!")] == [b"a", b"bb", b"ccc"]
    assert kernel.sent.hex(" ", 4) == "14000000 12000103 01000000 00000000 61736b21"


def test_a_refusal_is_an_error_without_a_system_calls_number(answers: Answers) -> None:
    answers(packet(REFUSED), packet(REFUSED), packet(ACKNOWLEDGED))
    asker = Netlink(ROUTE)
    for ask in (lambda: list(asker.dump(18, b"")), lambda: asker.ask(18, b"", 0)):
        with pytest.raises(RefusedError, match="ENOENT") as caught:
            ask()
        assert (caught.value.errno, caught.value.number) == (None, errno.ENOENT)
    asker.ask(18, b"", netlink.ACK)


def test_interfaces_come_and_go(answers: Answers) -> None:
    def link(kind: int, flags: int) -> tuple[int, bytes]:
        name = attribute(3, b"link1\0")
        return kind, bytes(4) + (7).to_bytes(4, "little") + flags.to_bytes(4, "little") + bytes(4) + name

    def address(kind: int) -> tuple[int, bytes]:
        return kind, bytes(4) + (7).to_bytes(4, "little") + attribute(2, bytes([10, 0, 0, 1]))

    there = (packet(link(16, 0x40)), packet(DONE), packet(address(20)), packet(DONE))
    answers(
        *there, packet(address(21)), packet(address(20), link(16, 0)), packet(link(16, 0x40)), packet(link(17, 0x40))
    )
    interfaces = Interfaces()
    usable = [interfaces.is_usable("link1", "10.0.0.1")]
    for _ in range(4):
        interfaces.read()
        usable.append(interfaces.is_usable("link1", "10.0.0.1"))
    assert usable == [True, False, False, True, False]


def test_a_family_is_found_with_its_group(answers: Answers) -> None:
    groups = nested_attribute(7, nested_attribute(1, attribute(1, b"cmds\0"), integer_attribute(2, 8, 4)),
                    nested_attribute(2, attribute(1, b"events\0"), integer_attribute(2, 9, 4)))  # fmt: skip
    message = packet((16, bytes(4) + integer_attribute(1, 28, 2) + groups))
    kernel = answers(message, packet(ACKNOWLEDGED), packet(REFUSED), packet((28, b"\x0a\0\0\0" + attribute(1, b"x"))))
    family = Family("mptcp_pm", "events")
    assert (family.command(9), family.command(9)) == (0, errno.ENOENT)
    assert kernel.sent[-20:].hex(" ", 4) == "14000000 1c000500 01000000 00000000 09010000"
    assert [(command, bytes(described[1])) for command, described in family.read()] == [(10, b"x")]
    answers(packet(REFUSED))
    with pytest.raises(OSError, match="no netlink family mptcp_pm"):
        Family("mptcp_pm", "events")
    answers(message)
    with pytest.raises(OSError, match="has no group others"):
        Family("mptcp_pm", "others")


def test_no_other_module_of_the_guest_opens_netlink_sockets() -> None:
    folder = Path(mptcplab.guest.__file__).parent
    assert [file.name for file in folder.glob("*.py") if "AF_NETLINK" in file.read_text()] == ["netlink.py"]
