# SPDX-License-Identifier: MIT
"""tools/sampler writes the same rows as the Python codec, byte for byte."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.tools.sampler.parts import (
    ERROR,
    SOURCE,
    Answers,
    Parts,
    dump,
    expected_algorithms,
    expected_queues,
    expected_rows,
    message,
)

from mptcplab.guest.netlink import attribute, integer_attribute, nested_attribute

#: ESTABLISHED, FIN_WAIT1, FIN_WAIT2, CLOSE_WAIT, LAST_ACK, CLOSING
STATES = (1, 4, 5, 8, 9, 11)
#: Queues that are requested at once.
AT_ONCE = 16
NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789_", min_size=1, max_size=15)
#: The zero addresses, the address that is mapped to nothing, and mapped addresses are the difficult cases.
IPV6 = st.one_of(
    st.binary(min_size=16, max_size=16),
    st.binary(min_size=4, max_size=4).map(lambda address: bytes(10) + b"\xff\xff" + address),
    st.binary(min_size=4, max_size=4).map(lambda address: bytes(12) + address),
    st.lists(st.sampled_from([b"\0\0", b"\xfd\0", b"\0\1"]), min_size=8, max_size=8).map(b"".join),
)
IPV4 = st.binary(min_size=4, max_size=4).map(lambda address: address + bytes(12))
#: struct tcp_info of kernels of any age.
INFOS = st.tuples(st.binary(min_size=300, max_size=300), st.integers(0, 300)).map(lambda info: info[0][: info[1]])
#: Attributes that are not recorded.
OTHERS = st.tuples(st.sampled_from([1, 3, 5, 8, 15, 17, 20]), st.binary(max_size=9)).map(
    lambda arguments: attribute(*arguments)
)


@st.composite
def ulps(draw: st.DrawFn) -> bytes:
    """Return the attribute of an upper-layer protocol, which is MPTCP or another."""
    fields = {2: 4, 8: 4, 9: 1, 10: 1, 3: 4, 5: 8}
    chosen = draw(st.lists(st.sampled_from(sorted(fields)), unique=True))
    parts = [integer_attribute(kind, draw(st.integers(0, 256 ** fields[kind] - 1)), fields[kind]) for kind in chosen]
    name = draw(st.booleans())
    subflow = nested_attribute(3, *parts) if draw(st.booleans()) else attribute(2, b"")
    return nested_attribute(19, *([attribute(1, b"mptcp\0")] if name else []), subflow)


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """Return the description of a socket, with its attributes in the kernel's order."""
    family = draw(st.sampled_from([socket.AF_INET, socket.AF_INET6]))
    addresses = [draw(IPV4 if family == socket.AF_INET else IPV6) for _ in range(2)]
    ports = draw(st.binary(min_size=4, max_size=4))
    head = bytes((family, draw(st.sampled_from(STATES)), 0, 0)) + ports + b"".join(addresses)
    recorded = [
        *draw(st.lists(INFOS.map(lambda info: attribute(2, info)), max_size=1)),
        *draw(st.lists(NAMES.map(lambda name: attribute(4, name.encode() + b"\0")), max_size=1)),
        *draw(st.lists(ulps(), max_size=1)),
    ]
    mixed = [part for info in recorded for part in (*draw(st.lists(OTHERS, max_size=2)), info)]
    return head + bytes(32) + b"".join(mixed)


@pytest.mark.slow
@given(st.lists(bodies(), max_size=12), st.integers(400, 32768), st.integers(1, 3))
def test_sockets_are_those_of_the_python_codec(sampler: Parts, messages: list[bytes], room: int, count: int) -> None:
    with Answers(*[dump(messages, room)] * count) as answers:
        assert sampler.sockets(answers.fd, "client", count) == expected_rows(messages, "client", count)


@pytest.mark.slow
def test_every_field_of_tcp_info_has_its_place_in_infos_of_every_length(sampler: Parts) -> None:
    info = bytes((37 * at + at // 7) % 251 + 1 for at in range(300))
    head = bytes((socket.AF_INET, 1, 0, 0))
    messages = [
        head + struct.pack("!HH", 1000 + length, 1) + bytes(64) + attribute(2, info[:length]) for length in range(301)
    ]
    with Answers(dump(messages)) as answers:
        text = sampler.sockets(answers.fd, "client")
    assert text == expected_rows(messages, "client")
    numbers = [value for value in json.loads(text.splitlines()[-1]).values() if isinstance(value, int)]
    assert len(set(numbers)) == len(numbers), "each field has a value of its own, so that no two can be mistaken"


@pytest.mark.slow
def test_sockets_of_both_families_are_requested_at_once(sampler: Parts) -> None:
    """TCPDIAG_GETSOCK with INET_DIAG_INFO and INET_DIAG_CONG, and the states of carrying data."""
    with Answers(dump([])) as answers:
        assert sampler.sockets(answers.fd, "client") == ""
    (request,) = answers.requests
    length, kind, flags, *_ = struct.unpack_from("=IHHII", request)
    assert (length, kind, flags) == (76, 18, 0x301)
    assert request[16:20] == bytes((0, 0, 0, 1 << 1 | 1 << 3))
    assert struct.unpack_from("=II", request, 68) == (sum(1 << state for state in STATES), 0)


def test_sockets_with_the_same_ends_stay_in_the_order_of_the_kernel(sampler: Parts) -> None:
    head = bytes((socket.AF_INET, 1, 0, 0)) + bytes(4 + 32 + 32)
    messages = [head + attribute(4, f"c{number}".encode()) for number in range(40)]
    with Answers(dump(messages)) as answers:
        assert sampler.sockets(answers.fd, "client") == expected_rows(messages, "client")


def test_thousands_of_sockets_are_sampled(sampler: Parts) -> None:
    """More than one receive call takes, and more than the output's memory holds."""
    head = bytes((socket.AF_INET, 1, 0, 0))
    messages = [
        head + struct.pack("!HH", number, 5001) + bytes(64) + attribute(2, bytes(280)) for number in range(5000)
    ]
    with Answers(dump(messages, 4096)) as answers:
        text = sampler.sockets(answers.fd, "client")
    assert text == expected_rows(messages, "client")
    assert len(text) > 1 << 20


@given(st.lists(st.tuples(*[st.integers(0, 2**32 - 1)] * 3), min_size=1, max_size=40), st.integers(0, 2**62))
def test_queues_are_those_of_tc(sampler: Parts, numbers: list[tuple[int, int, int]], time_ns: int) -> None:
    places = [f'"node": "r", "device": "link{at}", "link": "link{at}"' for at in range(len(numbers))]
    counters = [attribute(3, struct.pack("=IIIII", *number, 0, 0)) for number in numbers]
    messages = [
        bytes(20) + attribute(1, b"tbf\0") + nested_attribute(7, attribute(1, b"x"), counter) for counter in counters
    ]
    packets = [message(36, body) for body in messages]
    with Answers(*(packets[at : at + AT_ONCE] for at in range(0, len(packets), AT_ONCE))) as answers:
        assert sampler.queues(answers.fd, places, time_ns) == expected_queues(messages, places, time_ns)
    requests = b"".join(answers.requests)
    assert len(requests) == 36 * len(numbers)
    for at in range(len(numbers)):
        length, kind, flags, *_ = struct.unpack_from("=IHHII", requests, 36 * at)
        assert (length, kind, flags) == (36, 38, 0x9)
        assert struct.unpack_from("=B3xiIII", requests, 36 * at + 16) == (0, at + 1, (at + 1) << 16, 0, 0)


TOKENS = st.sampled_from([1, 2, 0xFFFFFFFE])


@st.composite
def watched_sockets(draw: st.DrawFn) -> bytes:
    """Return a socket of few: the same ones are seen again."""
    ports = struct.pack("!HH", draw(st.integers(9, 11)), 1)
    head = bytes((socket.AF_INET, 1, 0, 0)) + ports + bytes(64)
    congestion = draw(st.lists(st.sampled_from(["cubic", "bbr", "lia"]), max_size=1))
    token = draw(st.lists(TOKENS, max_size=1))
    parts = [attribute(4, f"{name}\0".encode()) for name in congestion]
    parts += [nested_attribute(19, nested_attribute(3, integer_attribute(2, value, 4))) for value in token]
    return head + b"".join(parts)


SCHEDULERS = st.lists(st.tuples(TOKENS, st.sampled_from(["default", "roundrobin"])), unique_by=lambda pair: pair[0])


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.lists(watched_sockets(), max_size=4, unique_by=lambda body: body[4:8]),
            st.none() | SCHEDULERS.map(lambda all: "".join(f"{token:08x} {name}\n" for token, name in all)),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_algorithms_are_noted_once_in_the_order_in_which_they_are_seen(
    sampler: Parts, checks: list[tuple[list[bytes], str | None]]
) -> None:
    samples, schedulers = zip(*checks, strict=True)
    with Answers(*map(dump, samples)) as answers:
        assert sampler.watch(answers.fd, schedulers) == expected_algorithms(samples, schedulers)


@given(st.integers(0, 2**64 - 1))
def test_numbers(sampler: Parts, value: int) -> None:
    assert sampler.number(value) == str(value)


def test_an_error_of_the_kernel_ends_the_program_with_a_sentence(sampler: Parts) -> None:
    """In a process of its own, since it exits."""
    code = (
        "import sys; sys.path[:0] = sys.argv[1:3]\n"
        "from pathlib import Path; import ctypes\n"
        "from tests.unit.tools.sampler.parts import Answers, Parts, message\n"
        f"refused = message({ERROR}, (-2 & 0xffffffff).to_bytes(4, 'little') + bytes(16))\n"
        "parts = Parts(ctypes.CDLL(sys.argv[3]), Path('/nowhere'))\n"
        "with Answers([refused]) as answers: parts.sockets(answers.fd, 'c')\n"
    )
    root = SOURCE.parents[1]
    words = [sys.executable, "-c", code, str(root), str(root / "src"), str(sampler.folder / "parts.so")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "the sockets of a node cannot be read: No such file or directory\n")


def test_samples_begin_early_and_continue_at_the_interval(sampler: Parts) -> None:
    ms = 10**6
    assert sampler.instants(1000 * ms, 10) == [10 * ms * n for n in (1, 2, 4, 8, 16, 32, 64, 100, 200, 300)]
    assert sampler.instants(10 * ms, 4) == [10 * ms * n for n in (1, 2, 3, 4)]
    assert sampler.instants(3 * ms, 4) == [3 * ms * n for n in (1, 2, 3, 4)]
    assert not sampler.is_due(0, 10**18)
    assert (sampler.is_due(1000 * ms, 10 * ms - 1), sampler.is_due(1000 * ms, 10 * ms)) == (False, True)


@given(st.integers(1, 10**12))
def test_samples_are_on_the_grid(sampler: Parts, interval_ns: int) -> None:
    """From the first multiple of the interval on, all of them: whatever the interval is."""
    instants = sampler.instants(interval_ns, 60)
    begin = instants.index(interval_ns)
    assert instants[begin:] == [interval_ns * number for number in range(1, 61 - begin)]
    assert instants[:begin] == [10**7 << number for number in range(begin)]


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("sockets: used 9\nTCP: inuse 4 orphan 0 tw 0 alloc 6 mem 123\nUDP: inuse 0 mem 7\n", 123),
        ("TCP: inuse 4 mem 5", 5),
        ("sockets: used 9\nUDP: inuse 0 mem 7\n", -1),
        ("TCP: inuse 4\nUDP: inuse 0 mem 7\n", -1),
        ("", -1),
    ],
)
def test_memory_of_tcp(sampler: Parts, text: str, pages: int) -> None:
    assert sampler.tcp_pages(text) == pages


def test_rows_are_json(sampler: Parts) -> None:
    """A name of a congestion control could have any bytes."""
    head = bytes((socket.AF_INET, 1, 0, 0)) + bytes(68)
    with Answers(dump([head + attribute(4, b'a"\\\n\0')])) as answers:
        row = json.loads(sampler.sockets(answers.fd, "client"))
    assert row["congestion"] == 'a"\\\n'
