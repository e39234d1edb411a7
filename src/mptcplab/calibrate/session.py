# SPDX-License-Identifier: MIT
"""Calibrate a program by its name, with some of its ciphers or all."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mptcplab.calibrate.measure import SideCalibration, calibrate
from mptcplab.calibrate.programs import PROGRAMS
from mptcplab.errors import InputError, MissingError


@dataclass(frozen=True)
class ProgramCalibration:
    """The costs of each side of a program with one cipher; ``cipher`` is empty for a program without any."""

    program: str
    cipher: str
    sides: tuple[SideCalibration, ...]

    @property
    def title(self) -> str:
        """The program, with its cipher."""
        return f"{self.program}, {self.cipher}" if self.cipher else self.program

    def to_json(self) -> list[dict[str, object]]:
        """Return each side with its key ``cpu``, and its loads by byte of payload."""
        return [
            {
                "program": self.program,
                "cipher": self.cipher or None,
                "side": side.side,
                "cpu": side.cpu,
                "loads": [
                    {
                        "load": sample.load,
                        "cpu_ns_per_byte": sample.cpu_ns,
                        "calls_per_byte": sample.calls,
                        "bytes_per_byte": sample.bytes,
                        "error": side.costs.error(sample),
                    }
                    for sample in side.samples
                ],
            }
            for side in self.sides
        ]


def calibrate_program(
    program: str,
    *,
    ciphers: Sequence[str] = (),
    seconds: float = 1.0,
    repeats: int = 3,
    progress: Callable[[str], None] = lambda _: None,
) -> list[ProgramCalibration]:
    """Measure what a program costs on this machine's CPU: the time for each system call and each byte.

    ``program`` is a name in ``calibrate/programs.py``, such as ``shadowsocks-libev``; ``ciphers`` are some of its
    ciphers, by default all. Each load takes some ``seconds``; the one with the least CPU time of ``repeats`` counts.
    ``progress`` receives a sentence on each step. The program runs natively, in a network namespace.

    :raises InputError: if there is no such program or cipher, or ``seconds`` or ``repeats`` are too small.
    :raises MissingError: without root, or if this machine lacks the program. :raises LabError: if the program fails.
    """
    if program not in PROGRAMS:
        raise InputError(f"'{program}' is not a program that is calibrated", hint=f"use one of {', '.join(PROGRAMS)}")
    if seconds <= 0 or repeats < 1:
        raise InputError(
            f"{repeats} loads of {seconds:g} s cannot be measured", hint="give more than 0 s, and at least 1 as repeats"
        )
    known = PROGRAMS[program].ciphers
    for cipher in ciphers:
        if cipher not in known:
            hint = f"use one of {', '.join(known)}" if known else "leave --cipher out"
            raise InputError(f"--cipher: '{cipher}' is not a cipher of {program}", hint=hint)
    if os.geteuid() != 0:
        raise MissingError(
            "calibrating needs root: it makes a network namespace, and counts system calls", hint="use sudo"
        )
    return [
        _calibrate(ProgramCalibration(program, cipher, ()), seconds, repeats, progress)
        for cipher in dict.fromkeys(ciphers or known or ("",))
    ]


def _calibrate(
    empty: ProgramCalibration, seconds: float, repeats: int, progress: Callable[[str], None]
) -> ProgramCalibration:
    """Return the calibration with the costs of its sides."""
    sides = calibrate(
        PROGRAMS[empty.program],
        empty.cipher,
        seconds=seconds,
        repeats=repeats,
        report=lambda text: progress(f"{empty.title}: {text}"),
    )
    return replace(empty, sides=tuple(sides))
