# SPDX-License-Identifier: MIT
"""``mptcplab calibrate``: measures what a program costs on this machine's CPU."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import click

from mptcplab.calibrate.programs import PROGRAMS
from mptcplab.errors import InputError, MissingError

if TYPE_CHECKING:
    from mptcplab.calibrate.measure import SideCalibration


def calibrate(program: str, ciphers: tuple[str, ...], seconds: float, repeats: int, as_json: bool) -> None:
    """Measure ``program`` with each cipher and print its costs."""
    known = PROGRAMS[program].ciphers
    for cipher in ciphers:
        if cipher not in known:
            hint = f"use one of {', '.join(known)}" if known else "leave --cipher out"
            raise InputError(f"--cipher: '{cipher}' is not a cipher of {program}", hint=hint)
    if os.geteuid() != 0:
        raise MissingError(
            "calibrating needs root: it makes a network namespace, and counts system calls", hint="use sudo"
        )
    side_calibrations = {cipher: _calibrate(program, cipher, seconds, repeats) for cipher in ciphers or known or ("",)}
    if as_json:
        click.echo(
            json.dumps(
                [
                    _document(program, cipher, calibration)
                    for cipher, many in side_calibrations.items()
                    for calibration in many
                ]
            )
        )
        return
    for cipher, calibrations in side_calibrations.items():
        _show(f"{program}, {cipher}" if cipher else program, calibrations)


def _calibrate(program: str, cipher: str, seconds: float, repeats: int) -> list[SideCalibration]:
    from mptcplab.calibrate.measure import calibrate as measure
    from mptcplab.kernel.console import StderrReporter

    with StderrReporter() as progress:
        name = f"{program}, {cipher}" if cipher else program
        return measure(
            PROGRAMS[program],
            cipher,
            seconds=seconds,
            repeats=repeats,
            report=lambda text: progress.stage(f"{name}: {text}"),
        )


def _show(title: str, calibrations: list[SideCalibration]) -> None:
    from mptcplab.cli.common import print_table
    from mptcplab.report.table import Table, number_columns

    numbers = number_columns("calls per kB", "bytes per byte", "CPU ns per byte", "by the two costs", "difference")
    rows = (
        (
            calibration.side,
            sample.load,
            f"{1000 * sample.calls:.2f}",
            f"{sample.bytes:.2f}",
            f"{sample.cpu_ns:.2f}",
            f"{calibration.costs.cost_of(sample):.2f}",
            f"{100 * calibration.costs.error(sample):+.0f} %",
        )
        for calibration in calibrations
        for sample in calibration.samples
    )
    print_table(Table.build(title, ("side", "load", *numbers), rows, ["Per byte of the payload that arrived."]))
    for calibration in calibrations:
        click.echo(f"{calibration.side}:  cpu = {_toml(calibration)}")
    click.echo()


def _toml(calibration: SideCalibration) -> str:
    return "{ " + ", ".join(f'{key} = "{value}"' for key, value in _cpu(calibration).items()) + " }"


def _cpu(calibration: SideCalibration) -> dict[str, str]:
    """Return the costs as a scenario writes them, with three significant digits."""
    return {"per_call": _time(calibration.costs.per_call_ns), "per_byte": _time(calibration.costs.per_byte_ns)}


def _time(cost_ns: float) -> str:
    picoseconds = round(float(f"{1000 * cost_ns:.3g}"))
    return f"{picoseconds / 10**6:g} us" if picoseconds >= 10**6 else f"{picoseconds / 10**3:g} ns"


def _document(program: str, cipher: str, calibration: SideCalibration) -> dict[str, object]:
    loads = [
        {
            "load": sample.load,
            "cpu_ns_per_byte": sample.cpu_ns,
            "calls_per_byte": sample.calls,
            "bytes_per_byte": sample.bytes,
            "error": calibration.costs.error(sample),
        }
        for sample in calibration.samples
    ]
    return {
        "program": program,
        "cipher": cipher or None,
        "side": calibration.side,
        "cpu": _cpu(calibration),
        "loads": loads,
    }
