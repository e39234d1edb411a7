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
    from mptcplab.calibrate.measure import Calibration


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
    found = {cipher: _measured(program, cipher, seconds, repeats) for cipher in ciphers or known or ("",)}
    if as_json:
        click.echo(json.dumps([_document(program, cipher, one) for cipher, many in found.items() for one in many]))
        return
    for cipher, calibrations in found.items():
        _show(f"{program}, {cipher}" if cipher else program, calibrations)


def _measured(program: str, cipher: str, seconds: float, repeats: int) -> list[Calibration]:
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


def _show(title: str, calibrations: list[Calibration]) -> None:
    from mptcplab.cli.common import print_table
    from mptcplab.report.table import Table

    columns = ("side", "load", "calls per kB", "bytes per byte", "CPU ns per byte", "by the two costs", "difference")
    rows = tuple(
        (
            one.side,
            sample.load,
            f"{1000 * sample.calls:.2f}",
            f"{sample.bytes:.2f}",
            f"{sample.cpu_ns:.2f}",
            f"{one.costs.of(sample):.2f}",
            f"{100 * one.costs.error(sample):+.0f} %",
        )
        for one in calibrations
        for sample in one.samples
    )
    print_table(Table(title, columns, rows, frozenset(columns[2:]), ("Per byte of the payload that arrived.",)))
    for one in calibrations:
        click.echo(f"{one.side}:  cpu = {_toml(one)}")
    click.echo()


def _toml(one: Calibration) -> str:
    return "{ " + ", ".join(f'{key} = "{value}"' for key, value in _cpu(one).items()) + " }"


def _cpu(one: Calibration) -> dict[str, str]:
    """Return the costs as a scenario writes them, with three significant digits."""
    return {"per_call": _time(one.costs.per_call_ns), "per_byte": _time(one.costs.per_byte_ns)}


def _time(cost_ns: float) -> str:
    picoseconds = round(float(f"{1000 * cost_ns:.3g}"))
    return f"{picoseconds / 10**6:g} us" if picoseconds >= 10**6 else f"{picoseconds / 10**3:g} ns"


def _document(program: str, cipher: str, one: Calibration) -> dict[str, object]:
    loads = [
        {
            "load": sample.load,
            "cpu_ns_per_byte": sample.cpu_ns,
            "calls_per_byte": sample.calls,
            "bytes_per_byte": sample.bytes,
            "error": one.costs.error(sample),
        }
        for sample in one.samples
    ]
    return {"program": program, "cipher": cipher or None, "side": one.side, "cpu": _cpu(one), "loads": loads}
