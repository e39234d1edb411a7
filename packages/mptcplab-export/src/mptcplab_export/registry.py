# SPDX-License-Identifier: MIT
"""All formats by the names for ``--format``, which are also the names of their entry points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mptcplab.errors import InputError
from mptcplab.plan.export import ExportedFile
from mptcplab.scenario.schema import Scenario
from mptcplab_export import networkd, sh, uci
from mptcplab_export.collect import ExportMachine, collect
from mptcplab_export.model import Configuration, devices_of
from mptcplab_export.passwords import read_password

_FOLDER = "/etc/mptcplab"


@dataclass(frozen=True)
class Format:
    """A format of configurations. ``folder`` is where the machine keeps the files of programs."""

    folder: str
    write: Callable[[Configuration], tuple[ExportedFile, ...]]

    def export(
        self, scenario: Scenario, node: str, *, devices: Iterable[str], password_file: Path | None
    ) -> tuple[ExportedFile, ...]:
        """See :class:`mptcplab.plan.export.ExportFormat`."""
        links = [name for name, link in scenario.links.items() if node in link.between]
        password = read_password(password_file) if password_file is not None else None
        machine = ExportMachine(devices_of(devices, links), self.folder, password)
        sides = {side for gateway in scenario.gateways.values() for side in (gateway.entry, gateway.exit)}
        if password is not None and node not in sides:
            raise InputError(f"--password-file has no effect: '{node}' has no gateway", hint="remove it")
        return self.write(collect(scenario, node, machine))


#: What a script has written vanishes when the machine restarts, as what it has configured does.
SH = Format("/run", sh.write)
NETWORKD = Format(_FOLDER, networkd.write)
UCI = Format(_FOLDER, uci.write)
FORMATS: Mapping[str, Format] = {"sh": SH, "networkd": NETWORKD, "uci": UCI}
