# SPDX-License-Identifier: MIT
"""``mptcplab calibrate``: measures what a program costs on this machine's CPU."""

from __future__ import annotations

import json

import click

from mptcplab import api
from mptcplab.cli.common import print_table
from mptcplab.kernel.console import StderrReporter
from mptcplab.report.table import Table, number_columns


def calibrate(program: str, ciphers: tuple[str, ...], seconds: float, repeats: int, as_json: bool) -> None:
    """Measure ``program`` with each cipher and print its costs."""
    with StderrReporter() as progress:
        calibrations = api.calibrate_program(
            program, ciphers=ciphers, seconds=seconds, repeats=repeats, progress=progress.stage
        )
    if as_json:
        click.echo(json.dumps([document for calibration in calibrations for document in calibration.to_json()]))
        return
    for calibration in calibrations:
        _show(calibration)


def _show(calibration: api.ProgramCalibration) -> None:
    numbers = number_columns("calls per kB", "bytes per byte", "CPU ns per byte", "by the two costs", "difference")
    rows = (
        (
            side.side,
            sample.load,
            f"{1000 * sample.calls:.2f}",
            f"{sample.bytes:.2f}",
            f"{sample.cpu_ns:.2f}",
            f"{side.costs.cost_of(sample):.2f}",
            f"{100 * side.costs.error(sample):+.0f} %",
        )
        for side in calibration.sides
        for sample in side.samples
    )
    print_table(
        Table.build(calibration.title, ("side", "load", *numbers), rows, ["Per byte of the payload that arrived."])
    )
    for side in calibration.sides:
        click.echo(f"{side.side}:  cpu = {_toml(side)}")
    click.echo()


def _toml(side: api.SideCalibration) -> str:
    return "{ " + ", ".join(f'{key} = "{value}"' for key, value in side.cpu.items()) + " }"
