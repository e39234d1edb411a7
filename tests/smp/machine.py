# SPDX-License-Identifier: MIT
"""The machine: QEMU emulates several CPUs, each in a separate thread."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.smp.guest import main
from tests.smp.root import PYTHON, SEARCH_PATH, archive, files

from mptcplab.errors import LabError
from mptcplab.kernel.process import require_tools

PACKAGES = {"qemu-system-x86_64": "qemu-system-x86", "ip": "iproute2", "tc": "iproute2", "python3": "python3"}
CONSOLE, REPORT, ROOT = "console.txt", "report.json", "root.cpio"
#: Time to boot, to end the last connections and to power off; on a busy machine with KCSAN this takes two minutes.
_EXTRA_S = 600.0


@dataclass(frozen=True)
class Machine:
    """A machine in QEMU: its image, and the seed and duration of the random events inside it."""

    image: Path
    flow: Path
    out: Path
    seed: int
    seconds: float
    cpus: int = 4
    memory_mb: int = 1536

    @property
    def command(self) -> list[str]:
        """The command line of QEMU."""
        guest = ["-IS", main.__file__, str(self.flow.parent), str(self.seed), f"{self.seconds:g}", *SEARCH_PATH]
        # The guest uses this machine's clock. A busy machine may stop and continue QEMU at any time.
        kernel = ["console=ttyS0", "tsc=reliable", "panic=-1", "oops=panic", f"rdinit={PYTHON}", "--", *guest]
        return [
            *("qemu-system-x86_64", "-machine", "pc", "-accel", "tcg,thread=multi", "-cpu", "max"),
            *("-smp", str(self.cpus), "-m", f"{self.memory_mb}", "-nodefaults", "-nographic", "-no-reboot"),
            *("-serial", f"file:{self.out / CONSOLE}", "-serial", f"file:{self.out / REPORT}"),
            *("-kernel", str(self.image), "-initrd", str(self.out / ROOT), "-append", " ".join(kernel)),
        ]

    def run(self) -> dict[str, Any]:
        """Boot, wait for the end, and return the guest's report.

        :raises MissingError: without QEMU. :raises LabError: if the machine does not power off by itself.
        """
        require_tools(PACKAGES)
        self.out.mkdir(parents=True, exist_ok=True)
        (self.out / REPORT).unlink(missing_ok=True)
        (self.out / ROOT).write_bytes(archive(files(self.flow)))
        with (self.out / "qemu.txt").open("w") as log:
            try:
                subprocess.run(
                    self.command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    timeout=self.seconds + _EXTRA_S,
                    check=True,
                )
            except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
                hint = f"see {self.out / CONSOLE} and qemu.txt beside it"
                raise LabError(f"the machine did not power off: {type(error).__name__}", hint=hint) from error
        return self._report()

    def _report(self) -> dict[str, Any]:
        hint = f"see {self.out / CONSOLE}"
        try:
            report: dict[str, Any] = json.loads((self.out / REPORT).read_text())
        except (OSError, ValueError) as error:
            raise LabError("the machine ended without a report", hint=hint) from error
        if "error" in report:
            raise LabError(f"the guest failed: {str(report['error']).strip().splitlines()[-1]}", hint=hint)
        return report
