# SPDX-License-Identifier: MIT
"""Numbers of 32 bits of mantissa, and inputs without sense: no overflow, no undefined behaviour, results in range."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path as File

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.compiler import compile_c
from tests.unit.coupled.connections import PATIENT
from tests.unit.coupled.library import HEADERS, ONE, PACKET, WARNINGS, CNumber, CPath, CVegas, Library, c_paths
from tests.unit.coupled.reference import Path

pytestmark = pytest.mark.slow

U32 = (1 << 32) - 1
U64 = (1 << 64) - 1
#: Whole numbers of 32 bits with the ends of the range often.
_U32 = st.integers(0, U32) | st.sampled_from([0, 1, 2, 3, 1 << 31, U32 - 1, U32])
_U64 = st.integers(0, U64) | st.sampled_from([0, 1, 1 << 32, 1 << 63, U64])
#: Normalised, and as many of each mantissa: integers() would prefer those near a power of two.
_MANTISSAS = st.floats(1, 2, exclude_max=True).map(lambda part: int(part * (1 << 31)))
#: Exponents as far as sums, products and quotients of windows and RTTs come, and a margin.
_POSITIVE = st.builds(CNumber, _MANTISSAS, st.integers(-150, 150))
_ZERO = CNumber(0, 0)


def _normal(number: CNumber) -> bool:
    return bool(number.m >> 31) or (number.m, number.e) == (0, 0)


def _close(number: CNumber, exact: Fraction) -> bool:
    """Truncated once: never above, and less than one part in 2^31 below."""
    return _normal(number) and exact * (1 - Fraction(1, 1 << 31)) <= number.value <= exact


def test_the_sanitiser_counts(library: Library) -> None:
    """A fault made on purpose is found, so silence elsewhere means something."""
    with pytest.raises(AssertionError, match="undefined behaviour in shift"):
        library("shift", 1, 40)
    assert library("shift", 1, 3) == 8


@PATIENT
@given(_U64)
def test_whole_number(library: Library, value: int) -> None:
    assert library("fls", value) == value.bit_length()
    assert _close(library("int", value), Fraction(value))


@settings(PATIENT, max_examples=400)
@given(_POSITIVE, _POSITIVE)
def test_operations(library: Library, a: CNumber, b: CNumber) -> None:
    assert _close(library("mul", a, b), a.value * b.value)
    assert _close(library("add", a, b), a.value + b.value)
    assert _close(library("quot", a, b), a.value / b.value)
    assert library("less", a, b) == (a.value < b.value)


@PATIENT
@given(_POSITIVE)
def test_zero(library: Library, a: CNumber) -> None:
    """A division by zero gives zero."""
    for name in ("mul", "quot"):
        assert library(name, a, _ZERO).m == library(name, _ZERO, a).m == library(name, _ZERO, _ZERO).m == 0
    assert library("add", a, _ZERO).value == library("add", _ZERO, a).value == a.value
    assert library("add", _ZERO, _ZERO).m == 0
    assert library("less", _ZERO, a)
    assert not library("less", a, _ZERO)
    assert not library("less", a, a)


@PATIENT
@given(_POSITIVE, st.integers(0, 48))
def test_floor(library: Library, a: CNumber, shift: int) -> None:
    exact = a.value * (1 << shift)
    value = library("floor", a, shift)
    assert value == (exact.numerator // exact.denominator if exact < 1 << 63 else (1 << 63) - 1)


@PATIENT
@given(
    st.lists(st.builds(CPath, _U32, _U32, _U64), min_size=12, max_size=12),
    st.integers(0, 12) | _U32,
    st.integers(0, 12) | _U32,
)
def test_nonsense(library: Library, values: list[CPath], n: int, r: int) -> None:
    """Any value in any field, any number of paths, any index: results stay in their ranges."""
    paths = (CPath * 12)(*values)
    valid = n <= 8 and r < n
    for control, low, high in [("lia", 0, 1), ("olia", -0.5, 1.5), ("balia", 0, 1)]:
        value = library(control, paths, n, r)
        assert low * ONE <= value <= high * ONE if valid else value == 0
    window = values[r].cwnd if valid else 0
    assert library("balia_ssthresh", paths, n, r) <= max(2, window // 2)
    assert 1 <= library("wvegas_alpha", paths, n, r) <= 10 * PACKET


@PATIENT
@given(st.builds(CVegas, *[_U32] * 6), st.lists(st.builds(CPath, _U32, _U32), min_size=8, max_size=8))
def test_nonsense_in_wvegas(library: Library, before: CVegas, values: list[CPath]) -> None:
    """A round changes a window by one segment, or divides it; and windows stay two segments or more."""
    paths = (CPath * 8)(*values)
    after = CVegas.from_buffer_copy(before)
    library("wvegas_round", after, paths, 8, 3)
    assert after.cwnd >= 2
    assert after.cwnd <= max(2, before.cwnd + 1)
    assert after.ssthresh <= max(before.ssthresh, 3 * after.cwnd // 4)
    assert after.alpha >= 1
    after = CVegas.from_buffer_copy(before)
    if not library("wvegas_slow_start", after) and before.cwnd < before.ssthresh:
        assert 2 <= after.cwnd == after.ssthresh <= max(2, before.cwnd)
    else:
        assert bytes(after) == bytes(before)


@pytest.mark.parametrize("control", ["lia", "olia", "balia"])
def test_zero_counts_as_one(library: Library, control: str) -> None:
    nothing, least = [Path(0, 0), Path(7, 3)], [Path(1, 1), Path(7, 3)]
    for r in (0, 1):
        assert library(control, c_paths(nothing), 2, r) == library(control, c_paths(least), 2, r)


_CLANG = pytest.mark.skipif(not shutil.which("clang"), reason="clang is not installed; only it compiles for eBPF")
#: What an eBPF program has: the kernel's types from its vmlinux.h, bpf_helpers.h, and no C library.
_EBPF = """typedef unsigned u32; typedef int s32; typedef unsigned long long u64; typedef long long s64;
typedef _Bool bool; enum { false = 0, true = 1 };
#define __always_inline inline __attribute__((always_inline))
"""


@pytest.mark.parametrize("compiler", [["gcc"], pytest.param(["clang", "-target", "bpf"], marks=_CLANG)])
def test_headers_compile_for_ebpf(tmp_path: File, compiler: list[str]) -> None:
    """By gcc for this machine, which shows that nothing but those types is needed; by clang for eBPF itself."""
    source, made = tmp_path / "control.bpf.c", tmp_path / "control.bpf.o"
    headers = "".join(f'#include "{header.name}"\n' for header in sorted(HEADERS.glob("coupled_*.h")))
    used = (
        "s64 lia(struct coupled_path *p) { return coupled_lia_increase(p, 8, 0); }\n"
        "s64 olia(struct coupled_path *p) { return coupled_olia_increase(p, 8, 1, COUPLED_OLIA_DRAFT); }\n"
    )
    source.write_text(_EBPF + headers + used)
    options = ["-O2", "-Wall", "-Wextra", "-Werror", "-D__bpf__", "-nostdinc", "-I", str(HEADERS)]
    compile_c([*compiler, *options, "-c", str(source), "-o", str(made)])


@pytest.mark.parametrize("header", sorted(path.name for path in HEADERS.glob("coupled_*.h")))
def test_header_stands_alone(tmp_path: File, header: str) -> None:
    """Each compiles by itself and twice, in the kernel's dialect, and without the registers of floating point."""
    source = tmp_path / "alone.c"
    source.write_text(f'#include "{header}"\n#include "{header}"\n')
    strict = ["-Wdeclaration-after-statement", "-Wvla", "-mgeneral-regs-only"]
    compile_c(["gcc", *WARNINGS, *strict, "-fsyntax-only", "-I", str(HEADERS), str(source)])
