# SPDX-License-Identifier: MIT
"""The emulated machine: QEMU interprets a CPU with protection keys; a command runs there on this machine's files."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mptcplab.engine.stock.machine import qemu
from mptcplab.engine.stock.modules import ModuleTree
from mptcplab.engine.stock.root import archive, contents, program_files
from mptcplab.engine.tools import find_program
from mptcplab.errors import LabError, MissingError
from mptcplab.kernel.stock import STOCK_COMMAND, StockKernel, stock_folder

REPOSITORY = Path(__file__).resolve().parents[2]
_INIT = Path(__file__).with_name("init.sh")
#: Variables of this process that the command needs: where Python finds modules, and where the cache is.
_PASSED = ("HOME", "LANG", "PATH", "PYTHONPATH", "XDG_CACHE_HOME")
_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
_FOLDERS = ("/bin", "/dev", "/proc")
#: Without what takes an interpreter time, and has nothing to do with protection keys.
_CPU = "max,-la57,-smap,-smep,-mpx,-erms,-fsrm"
#: Not the CPU's own clock: at boot beside other work, an interpreted one is measured wrongly. The kernel does not use
#: cx16, of which QEMU 7.2 computes some flags wrongly before an interrupt; polars does.
_OPTIONS = (
    *("console=ttyS0", "quiet", "panic=-1", "oops=panic", "mitigations=off", "nowatchdog"),
    *("clocksource=hpet", "no_timer_check", "clearcpuid=cx16", "rdinit=/init"),
)


@dataclass(frozen=True)
class Result:
    """The status of a command in the machine, and what it printed."""

    status: int
    output: str


@dataclass(frozen=True)
class Machine:
    """A machine that runs one command at each start. ``folder`` is where its files are, and what it printed so far."""

    kernel: StockKernel
    folder: Path
    memory_mb: int = 3072
    variables: Mapping[str, str] = field(default_factory=dict)

    def run(self, command: Sequence[str], seconds: float) -> Result:
        """Boot, run ``command`` in the folder of the repository, and return its result.

        :raises MissingError: without QEMU, busybox or a module.
        :raises LabError: if the machine does not end in ``seconds``, or without a result.
        """
        shutil.rmtree(self.folder, ignore_errors=True)
        shared = self.folder / "shared"
        shared.mkdir(parents=True)
        self._write_script(shared / "command", command)
        (self.folder / "root.cpio").write_bytes(self._root())
        hint = f"see console.txt, qemu.txt and shared/output in {self.folder}"
        with (self.folder / "qemu.txt").open("wb") as log:
            try:
                subprocess.run(
                    self._qemu(shared), stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=seconds, check=True
                )
            except subprocess.TimeoutExpired as error:
                raise LabError(f"the machine did not end in {seconds:.0f} s", hint=hint) from error
            except subprocess.CalledProcessError as error:
                raise LabError(f"QEMU ended with status {error.returncode}", hint=hint) from error
        try:
            status = int((shared / "status").read_text())
        except (OSError, ValueError) as error:
            raise LabError("the machine ended without a result", hint=hint) from error
        return Result(status, (shared / "output").read_text(errors="replace"))

    def _write_script(self, file: Path, command: Sequence[str]) -> None:
        variables = {name: os.environ[name] for name in _PASSED if name in os.environ} | dict(self.variables)
        lines = ["#!/bin/sh", *(f"export {name}={shlex.quote(value)}" for name, value in variables.items())]
        lines += [f"cd {shlex.quote(str(REPOSITORY))}", f"exec {shlex.join(command)}"]
        file.write_text("\n".join(lines) + "\n")
        file.chmod(0o755)

    def _root(self) -> bytes:
        """Return the archive of what the machine needs until it has this machine's files."""
        tree = ModuleTree(self.kernel)
        missing = [name for name in _MODULES if not tree.has_module(name)]
        if missing:
            hint = (
                f"obtain it again: rm -r {stock_folder() / self.kernel.release}; {STOCK_COMMAND} {self.kernel.version}"
            )
            raise MissingError(f"kernel {self.kernel.release} lacks modules: {', '.join(missing)}", hint=hint)
        busybox = find_program("busybox")
        modules = tree.sort_by_dependency(_MODULES)
        order = "".join(f"{name}\n" for name, _ in modules)
        files = {
            "/init": (_INIT.read_bytes(), True),
            **contents(program_files({"busybox": busybox})),
            "/bin/busybox": (busybox.read_bytes(), True),
            "/modules/order": (order.encode(), False),
            **{f"/modules/{name}": (content, False) for name, content in modules},
        }
        return archive(files, _FOLDERS)

    def _qemu(self, shared: Path) -> list[str]:
        root = "local,path=/,mount_tag=root,readonly=on,security_model=none,multidevs=remap"
        results = f"local,path={shared},mount_tag=results,security_model=none"
        return [
            *(str(qemu()), "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-monitor", "none"),
            *("-machine", "pc,usb=off,vmport=off", "-m", f"{self.memory_mb}"),
            *("-accel", "tcg,tb-size=512", "-cpu", _CPU),
            *("-serial", f"file:{self.folder / 'console.txt'}", "-virtfs", root, "-virtfs", results),
            *("-kernel", str(self.kernel.image), "-initrd", str(self.folder / "root.cpio")),
            *("-append", " ".join(_OPTIONS)),
        ]
