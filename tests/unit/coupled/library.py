# SPDX-License-Identifier: MIT
"""The kernel's headers `coupled_*.h`, compiled for user space and called through ctypes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ctypes import CDLL, POINTER, Structure, byref, c_bool, c_int32, c_int64, c_uint8, c_uint32, c_uint64
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.unit.compiler import compile_c
from tests.unit.coupled.reference import Path as Reference

HEADERS = Path(__file__).parents[3] / "kernel" / "net" / "mptcp"
HERE = Path(__file__).parent
WARNINGS = ["-O2", "-Wall", "-Wextra", "-Werror", "-Wsign-compare", "-Wshift-overflow=2", "-std=gnu11"]
#: An increase of one segment per acked segment.
ONE = 1 << 48
#: One packet in wVegas's numbers of packets.
PACKET = 1 << 16


class CPath(Structure):
    """`struct coupled_path`."""

    _fields_ = [("cwnd", c_uint32), ("rtt_us", c_uint32), ("loss_gap", c_uint64)]


class CNumber(Structure):
    """`struct coupled_num`: m * 2^e."""

    _fields_ = [("m", c_uint32), ("e", c_int32)]

    @property
    def value(self) -> Fraction:
        """Exactly."""
        mantissa: int = self.m
        exponent: int = self.e
        return mantissa * Fraction(2) ** exponent


class CEpsilon(Structure):
    """`struct coupled_olia_eps`."""

    _fields_ = [("sign", c_int32), ("den", c_uint32)]


class CVegas(Structure):
    """`struct coupled_wvegas`."""

    _fields_ = [(name, c_uint32) for name in ("cwnd", "ssthresh", "base_rtt_us", "rtt_us", "alpha", "queue_us")]


class CStart(Structure):
    """`struct coupled_start`."""

    _fields_ = [
        *((name, c_uint32) for name in ("round_end", "least_us", "baseline_us")),
        ("samples", c_uint8),
        ("rounds", c_uint8),
    ]


class CWindow(Structure):
    """`struct sock` of `growth.c`."""

    _fields_ = [("credit", c_int64), ("snd_cwnd", c_uint32), ("snd_ssthresh", c_uint32), ("snd_cwnd_clamp", c_uint32)]


_PATHS = [POINTER(CPath), c_uint32, c_uint32]
_ROUND = [POINTER(CVegas), *_PATHS]
_SIGNATURES: dict[str, tuple[list[Any], Any]] = {
    "test_max_acked": ([], c_uint32),
    "test_grow": ([POINTER(CWindow), c_int64, c_uint32], None),
    "test_shift": ([c_int32, c_int32], c_int32),
    "test_int": ([c_uint64], CNumber),
    "test_mul": ([CNumber, CNumber], CNumber),
    "test_quot": ([CNumber, CNumber], CNumber),
    "test_add": ([CNumber, CNumber], CNumber),
    "test_less": ([CNumber, CNumber], c_bool),
    "test_floor": ([CNumber, c_int32], c_uint64),
    "test_fls": ([c_uint64], c_int32),
    "test_olia_best": ([POINTER(CPath), c_uint32], c_uint32),
    "test_olia_draft_best": ([POINTER(CPath), c_uint32], c_uint32),
    "test_olia_largest": (_PATHS, c_uint32),
    "test_olia_eps": ([c_uint32] * 4, CEpsilon),
    "test_wvegas_diff": ([POINTER(CVegas)], c_uint64),
    "test_wvegas_slow_start": ([POINTER(CVegas)], c_bool),
    "test_start_round": ([POINTER(CStart)], c_bool),
    "test_start_sample": ([POINTER(CStart), c_uint32, c_uint32], c_bool),
    "test_wvegas_round": (_ROUND, None),
    **{f"test_{name}": (_PATHS, c_int64) for name in ("lia", "olia", "olia_draft", "balia")},
    **{f"test_{name}": (_PATHS, c_uint32) for name in ("balia_ssthresh", "wvegas_alpha")},
}


def c_paths(paths: Sequence[Reference]) -> Any:
    """The same paths for C; windows, RTTs in microseconds and bytes between losses must be whole."""
    made = [CPath(int(p.window), int(p.rtt), int(p.loss_gap)) for p in paths]
    return (CPath * len(made))(*made)


class Library:
    """What the headers compute. Every call fails if the sanitiser saw undefined behaviour in it."""

    def __init__(self, path: Path) -> None:
        self._library = CDLL(str(path))
        self._undefined = c_uint32.in_dll(self._library, "undefined_count")
        for name, (arguments, result) in _SIGNATURES.items():
            function = getattr(self._library, name)
            function.argtypes, function.restype = arguments, result

    def __call__(self, name: str, *arguments: Any) -> Any:
        """The value of C's `test_NAME` of these arguments."""
        self._undefined.value = 0
        result = getattr(self._library, f"test_{name}")(*arguments)
        assert self._undefined.value == 0, f"undefined behaviour in {name}{arguments}"
        return result

    def compute(self, name: str, paths: Sequence[Reference], r: int) -> int:
        """An increase, decrease or number of packets for path r, in C's units."""
        return int(self(name, c_paths(paths), len(paths), r))

    def increase(self, name: str, paths: Sequence[Reference], r: int) -> float:
        """In segments per acked segment."""
        return self.compute(name, paths, r) / ONE

    def vegas_round(self, name: str, vegas: CVegas, paths: Sequence[Reference], r: int) -> CVegas:
        """The path after a round by `wvegas_round`."""
        after = CVegas.from_buffer_copy(vegas)
        self(name, byref(after), c_paths(paths), len(paths), r)
        return after


def _growth(source: str) -> str:
    """What `coupled_window.c` does with an increase: its limit of segments and the functions up to `coupled_grow`."""
    limit = re.search(r"^#define COUPLED_MAX_ACKED.*\n", source, re.MULTILINE)
    functions = re.search(
        r"^static void coupled_spend\(.*?^void coupled_grow\(.*?^}\n", source, re.MULTILINE | re.DOTALL
    )
    assert limit, "coupled_window.c has no COUPLED_MAX_ACKED any more"
    assert functions, "coupled_window.c has no coupled_spend() to coupled_grow() any more"
    return limit[0] + functions[0].replace("void coupled_grow", "static void coupled_grow")


def compile_library(directory: Path, headers: Path = HEADERS) -> Library:
    """Compile the headers, and what uses their results, with gcc and all its warnings as errors."""
    (directory / "growth.inc").write_text(_growth((headers / "coupled_window.c").read_text()))
    gcc = ["gcc", *WARNINGS, "-fsanitize=undefined", "-fPIC", "-I", str(headers), "-I", str(directory)]
    objects = []
    for name in ("library", "growth"):
        objects.append(str(directory / f"{name}.o"))
        compile_c([*gcc, "-c", str(HERE / f"{name}.c"), "-o", objects[-1]])
    linked = directory / "coupled.so"
    compile_c(["gcc", "-shared", "-Wl,-z,defs", *objects, "-o", str(linked)])
    return Library(linked)
