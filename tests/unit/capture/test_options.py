# SPDX-License-Identifier: MIT
"""Parse MPTCP options from bytes written by hand after RFC 8684 and RFC 6824."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mptcplab.capture.options import (
    AddAddress,
    Capable,
    Dss,
    Fail,
    FastClose,
    Join,
    Option,
    Priority,
    RemoveAddress,
    Reset,
    has_mptcp,
    maximum_segment,
    mptcp_options,
)

KEY, OTHER = bytes(range(8)), bytes(range(8, 16))
NOP = "01"


def read(text: str) -> list[Option]:
    return list(mptcp_options(bytes.fromhex(text.replace(" ", ""))))


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("1e04 0101", Capable(1, False, None, None, None)),
        ("1e04 0181", Capable(1, True, None, None, None)),
        (f"1e0c 0081 {KEY.hex()}", Capable(0, True, KEY, None, None)),
        (f"1e14 0101 {KEY.hex()} {OTHER.hex()}", Capable(1, False, KEY, OTHER, None)),
        (f"1e16 0101 {KEY.hex()} {OTHER.hex()} 0028", Capable(1, False, KEY, OTHER, 40)),
        (f"1e18 0181 {KEY.hex()} {OTHER.hex()} 0028 abcd", Capable(1, True, KEY, OTHER, 40)),
        ("1e0c 1102 d0459515 01020304", Join(True, 2, 0xD0459515, False)),
        (f"1e10 1001 {KEY.hex()} 01020304", Join(False, 1, None, False)),
        (f"1e18 1000 {'00' * 20}", Join(False, 0, None, True)),
        ("1e08 2001 f3634fdc", Dss(0xF3634FDC, 32, None, 0, 0, 0, False, False)),
        ("1e0c 2003 0000000100000002", Dss((1 << 32) + 2, 64, None, 0, 0, 0, False, False)),
        ("1e0e 2004 00000005 00000001 05a8", Dss(None, 0, 5, 32, 1, 1448, False, False)),
        ("1e10 2004 00000005 00000001 05a8 ffff", Dss(None, 0, 5, 32, 1, 1448, True, False)),
        (
            "1e1a 201f 0000000000000007 0000000000000009 00000000 0001",
            Dss(7, 64, 9, 64, 0, 1, False, True),
        ),
        ("1e10 3001 0a000402 0102030405060708", AddAddress(1, "10.0.4.2", None, False)),
        ("1e12 3001 0a000402 1389 0102030405060708", AddAddress(1, "10.0.4.2", 5001, False)),
        ("1e08 3101 0a000402", AddAddress(1, "10.0.4.2", None, True)),
        (f"1e14 3102 fd00{'00' * 13}01", AddAddress(2, "fd00::1", None, True)),
        (f"1e1e 3002 fd00{'00' * 13}01 1389 0102030405060708", AddAddress(2, "fd00::1", 5001, False)),
        ("1e08 3401 0a000402", AddAddress(1, "10.0.4.2", None, False)),
        (f"1e16 3602 fd00{'00' * 13}01 1389", AddAddress(2, "fd00::1", 5001, False)),
        ("1e05 4001 02", RemoveAddress((1, 2))),
        ("1e03 51", Priority(True, None)),
        ("1e04 5003", Priority(False, 3)),
        ("1e0c 6000 0000000000000010", Fail(16)),
        (f"1e0c 7000 {KEY.hex()}", FastClose(KEY)),
        ("1e04 8106", Reset(6, True)),
    ],
)
def test_option(text: str, option: Option) -> None:
    assert read(text) == [option]


def test_several_in_one_header() -> None:
    """Each option keeps its own values beside padding, timestamps and other options."""
    options = read(
        f"{NOP}{NOP} 080a 01020304 05060708 1e08 2001 00000001 1e08 3101 0a000402 1e05 4003 04 {NOP} 00 1e03 51"
    )
    assert options == [
        Dss(1, 32, None, 0, 0, 0, False, False),
        AddAddress(1, "10.0.4.2", None, True),
        RemoveAddress((3, 4)),
    ], "nothing behind the end of the list"


@pytest.mark.parametrize("text", ["1e", "1e00", "1e01", "1e08 2001 f3", "1e02", "1e05 2001 00", "1e04 f000", "02"])
def test_broken_options_are_skipped(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    ("text", "has_it"),
    [
        ("", False),
        ("1e", True),
        ("1e08 2001 f3", True),
        ("0101 1e04 f000", True),
        ("080a 1e1e1e1e 1e1e1e1e", False),
        ("00 1e04 0101", False),
        ("0400 1e04 0101", False),
        ("0402 1e04 0101", True),
        ("05", False),
        ("0501 1e04 0101", False),
    ],
)
def test_an_option_that_is_unknown_or_cut_is_one_of_mptcp(text: str, has_it: bool) -> None:
    assert has_mptcp(bytes.fromhex(text.replace(" ", ""))) is has_it


def test_mss() -> None:
    assert maximum_segment(bytes.fromhex("020405b4 0402 1e04 0101".replace(" ", ""))) == 1460
    assert maximum_segment(b"") is None


@given(st.binary(max_size=40))
def test_any_bytes_are_parsed_or_skipped(header: bytes) -> None:
    for option in mptcp_options(header):
        assert isinstance(option, tuple)


@given(st.sampled_from(range(9)), st.binary(max_size=38))
def test_any_body_of_any_subtype(subtype: int, body: bytes) -> None:
    header = bytes([30, 3 + len(body), subtype << 4]) + body
    assert len(list(mptcp_options(header))) <= 1
