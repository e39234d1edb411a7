# SPDX-License-Identifier: MIT
"""User code: programs that check themselves print the same with user code in the kernel's process.

On a kernel that cannot do that, they run once. MPTCPLAB_TEST_KERNEL=PATH tests another kernel than the default one, and
MPTCPLAB_TEST_FORMS=all tests each program in all forms, as `make modes` does.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from tests.lab.bench import CLI, has_protection_keys

from mptcplab.engine.virtual.machine import INPROC, has_inproc
from mptcplab.kernel import find_kernel

SOURCES = Path(__file__).parents[1] / "programs"
KERNEL = os.environ.get("MPTCPLAB_TEST_KERNEL", "7.2")
FLAGS = ("-O2", "-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-pthread")
#: How a program is linked, which decides where it is loaded.
FORMS = {
    "pie": ("-pie", "-fPIE"),
    "fixed": ("-no-pie", "-fno-PIE"),
    "static": ("-static", "-no-pie", "-fno-PIE"),
    "static-pie": ("-static-pie", "-fPIE"),
}
#: The kernels that are tested unless all are: the kernel places both in ways of their own.
_FEW = ("pie", "static")
_ALL = os.environ.get("MPTCPLAB_TEST_FORMS") == "all"
#: Pages of the kernel that programs must reach, and how.
_REACHED = {"cpu_irqstacks": (4, "rw"), "inproc_scratch": (1, "rw"), "inproc_gate": (1, "r")}
_PAGE = 4096


@dataclass(frozen=True)
class Case:
    """A program, its arguments, and the forms in which it is tested."""

    name: str
    forms: tuple[str, ...] = tuple(FORMS) if _ALL else _FEW
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "-".join((self.name, *self.arguments))


CASES = (
    Case("registers"),
    Case("signals"),
    Case("storms", ("pie", "static") if _ALL else ("pie",)),
    Case("memory", ("pie", "fixed")),
    Case("memory", ("pie",), ("many",)),
)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of compiled programs."""
    return tmp_path_factory.mktemp("programs")


def _compile_program(folder: Path, name: str, form: str) -> Path:
    """Return the program ``name``, compiled."""
    program = folder / f"{name}-{form}"
    sources = [SOURCES / f"{name}.c", SOURCES / "check.c", *([SOURCES / "probe.S"] if name == "registers" else [])]
    if not program.exists():
        subprocess.run(["gcc", *FLAGS, *FORMS[form], *sources, "-o", program], check=True)
    return program


@cache
def modes() -> tuple[str, ...]:
    """Return the modes in which the kernel can run user code."""
    return ("off", "on") if has_inproc(find_kernel(KERNEL)) else ("off",)


def _run(line: str, mode: str, *options: str | Path, status: int = 0) -> str:
    """Return what a line of shell prints in the lab."""
    words = [*CLI, "exec", "--kernel", KERNEL, "--no-stdin", *map(str, options), "--", "sh", "-c", line]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, env={**os.environ, INPROC: mode})
    assert done.returncode == status, f"{mode}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def _compare_modes(line: str, *options: str | Path) -> str:
    """Return what a line of shell prints in each mode, which must be the same."""
    first, *others = (_run(line, mode, *options) for mode in modes())
    for other in others:
        assert other.splitlines() == first.splitlines()
        assert other == first
    return first


def _check(folder: Path, case: Case) -> None:
    """Run the forms of a program one after the other: all checks are good, and the same in all modes."""
    lines = []
    for form in case.forms:
        words = " ".join((str(_compile_program(folder, case.name, form)), *case.arguments))
        lines.append(f"echo '== {form}'; {words} 2>&1; echo status $?")
    text = _compare_modes("; ".join(lines), "--expose", folder)
    print(text)
    wrong = [line for line in text.splitlines() if line.startswith(("FAILED", "STOPPED"))]
    assert not wrong, "\n".join(wrong)
    assert text.splitlines().count("status 0") == len(case.forms), text


@pytest.mark.parametrize("case", CASES, ids=str)
def test_programs(case: Case, programs: Path) -> None:
    _check(programs, case)


def test_wild_accesses(programs: Path) -> None:
    """Nothing of the kernel, the host or another program can be reached, but for pages in which nothing lasts."""
    if not has_protection_keys():
        pytest.skip(
            "this processor has no protection keys, without which programs stay in stubs unless asked otherwise"
        )
    symbols = dict(line.split()[::-2] for line in find_kernel(KERNEL).system_map.read_text().splitlines())
    words = []
    for name, (pages, rights) in _REACHED.items():
        if name in symbols:
            start = int(symbols[name], 16)
            words += [f"{start:x}", f"{start + pages * _PAGE:x}", rights]
    _check(programs, Case("wild", ("pie", "fixed"), tuple(words)))


def test_the_modes_differ() -> None:
    """Otherwise everything here would compare a kernel with itself."""
    if modes() == ("off",):
        pytest.skip(f"kernel {KERNEL} cannot run user code in its own process")
    line = "sysctl -n kernel.um_inproc_moves"
    off, on = (int(_run(line, mode)) for mode in modes())
    print(f"programs that moved into the kernel's process: {off} if it is off, {on} if it is on")
    assert off == 0
    assert on > 0
