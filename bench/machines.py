# SPDX-License-Identifier: MIT
"""The measurements of all machines: one file in bench/machines/ for each, without host names.

``python -m bench`` writes such a file, ``machine.json``, next to its tables, and with ``--write
bench/machines/NAME.json`` also there. Then run ``python -m bench.page``.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.algorithms import Cost
from bench.ratios import Ratio

FOLDER = Path(__file__).parent / "machines"
ORIGINS = ("python -m bench", "copied by hand from what python -m bench printed", "reported by a reviewer")


@dataclass(frozen=True)
class Value:
    """Median, minimum and maximum of ``n`` repeats of one invocation; only the median if no more was reported."""

    median: float
    min: float | None = None
    max: float | None = None
    n: int | None = None
    note: str = ""

    @property
    def bounds(self) -> tuple[float, float]:
        """The minimum and maximum."""
        return (
            self.median if self.min is None else self.min,
            self.median if self.max is None else self.max,
        )


@dataclass(frozen=True)
class MeasuredMachine:
    """One machine: its description, the origin of its values, and the values by their keys, one per invocation.

    ``algorithms`` has, by name, median costs relative to mainline's default: per packet and hop and for the whole run
    over one path, and the same over two. ``notes`` are sentences about other measurements there, and ``earlier`` those
    about values that have been measured again since.
    """

    name: str
    origin: str
    machine: dict[str, Any] | None
    values: dict[str, list[Value]]
    load: tuple[float, float] | None = None
    algorithms: dict[str, dict[str, float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """A description of the machine."""
        if self.machine is None:
            return f"not described; {self.origin}"
        facts = self.machine
        kind = "virtual machine" if facts["virtual"] else "machine"
        load = f", load average {self.load[0]:g} to {self.load[1]:g}" if self.load else ""
        python = f", Python {facts['python']}" if facts["python"] else ""
        by = f"by `{self.origin}`" if self.origin == ORIGINS[0] else self.origin
        return f"{facts['cores']}-core {kind}, {facts['cpu']}, Linux {facts['kernel']}{python}{load}; {by}"


def load(folder: Path = FOLDER) -> list[MeasuredMachine]:
    """Return all machines by name. :raises ValueError: naming a file that does not describe a :class:`Machine`."""
    return [_read(file) for file in sorted(folder.glob("*.json"))]


def _read(file: Path) -> MeasuredMachine:
    try:
        data = json.loads(file.read_text())
        values = {key: [Value(**value) for value in several] for key, several in data.pop("values").items()}
        average = data.pop("load", None)
        data |= {key: tuple(data.get(key, ())) for key in ("notes", "earlier")}
        machine = MeasuredMachine(name=file.stem, values=values, load=average and tuple(average), **data)
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{file.name}: {error}") from error
    if machine.origin not in ORIGINS:
        raise ValueError(f"{file.name}: the origin is one of {', '.join(ORIGINS)}")
    return machine


def present() -> dict[str, Any]:
    """Return the facts of this machine, without its name."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown CPU")
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "virtual": any("hypervisor" in line.split() for line in lines if line.startswith("flags")),
        "kernel": ".".join(platform.release().split("-")[0].split(".")[:2]),
        "python": ".".join(platform.python_version_tuple()[:2]),
    }


def write(file: Path, ratios: Sequence[Ratio], costs: Sequence[Cost], *, load: tuple[float, float]) -> None:
    """Write this machine's measurements to a file for bench/machines/.

    Of an existing file only the notes are kept, which describe an earlier invocation.
    :raises ValueError: if an existing file does not describe a machine.
    """
    before = _read(file) if file.exists() else None
    values = {ratio.key: [asdict(_value(ratio.values))] for ratio in ratios if ratio.values}
    columns = {"one": "one_path", "whole_one": "whole_one", "two": "two_paths", "whole_two": "whole_two"}
    algorithms = {
        cost.name: {key: round(statistics.median(getattr(cost, name)), 2) for key, name in columns.items()}
        for cost in costs
    }
    document = {
        "origin": ORIGINS[0],
        "machine": present(),
        "load": [round(average, 1) for average in load],
        "values": values,
        "algorithms": algorithms,
        "notes": [],
        "earlier": [*before.notes, *before.earlier] if before else [],
    }
    file.write_text(json.dumps(document, indent=1) + "\n")


def _value(values: Sequence[float]) -> Value:
    median, low, high = (float(f"{value:.3g}") for value in (statistics.median(values), min(values), max(values)))
    return Value(median, low, high, len(values))
