# SPDX-License-Identifier: MIT
"""``python -m tools.wheels.install``: installs the wheels of dist/ in an empty environment and runs a scenario there.

The core comes first, alone, and has to name a package that it lacks. The other packages come after that.

Meanwhile no compiler can be called, and neither ethtool nor sysctl: in a mount namespace, an empty file is in the place
of each. The environment gets the libraries from the index that pip uses.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tools.wheels.command import DIST, run_main, wheels_in

from mptcplab.errors import Exit, LabError

#: Names of compilers and of what calls them, as patterns of the shell.
_COMPILERS = (
    "*cc",
    "*gcc-[0-9]*",
    "*g++*",
    "c[89]9-gcc",
    "clang*",
    "tcc",
    "*cpp*",
    "make",
    "gmake",
    "ld",
    "ld.[bgl]*",
    "as",
)
#: Programs that plans name and whose commands the guest executes itself.
_DISPENSABLE = ("ethtool", "sysctl")
_FOLDERS = ("/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/usr/sbin", "/bin", "/sbin")
#: The scenario: the first of the documentation, for a second.
_RUN = ("run", "@two-paths", "--repeats", "1", "--set", "workloads.bulk.duration=1 s")
#: An engine of a package, with an inventory that does not exist: the package, if it is there, says so.
_ENGINE = ("run", "@two-paths", "--engine", "ssh:no-inventory.toml")


def main() -> None:
    """Install, run, and check what was used."""
    wheels = wheels_in(DIST)
    core = [wheel for wheel in wheels if wheel.name.startswith(("mptcplab-", "mptcplab_kernel-"))]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        pip = [
            str(folder / "venv" / "bin" / "python"),
            "-m",
            "pip",
            "--disable-pip-version-check",
            "install",
            "--quiet",
        ]
        command = str(folder / "venv" / "bin" / "mptcplab")
        subprocess.run([*pip, *map(str, map(Path.resolve, core))], check=True, env=_environment(folder))
        check_engine(folder, [command, *_ENGINE], Exit.MISSING)
        _run(folder, ["gcc", "--version"], is_expected=False)
        # Reads every scenario, and what scenarios extend.
        _run(folder, [command, "examples"])
        started = time.monotonic()
        _run(folder, [command, *_RUN, "--out", "results"])
        seconds = time.monotonic() - started
        check_results(folder)
        subprocess.run([*pip, *map(str, map(Path.resolve, wheels))], check=True, env=_environment(folder))
        check_engine(folder, [command, *_ENGINE], Exit.BAD_INPUT)
    print(f"mptcplab {' '.join(_RUN)}: {seconds:.0f} s, nothing was compiled")


def check_engine(folder: Path, command: Sequence[str], status: Exit) -> None:
    """Check that a command ends with a status. :raises LabError: if not."""
    done = subprocess.run(command, cwd=folder, env=_environment(folder), capture_output=True, text=True, check=False)
    if done.returncode != status:
        raise LabError(f"`{shlex.join(command)}` ended with status {done.returncode}", hint=done.stderr.strip())


def check_results(folder: Path) -> None:
    """Check that runs were made with the installed kernel, and that nothing was built.

    :raises LabError: if not.
    """
    built = [name for name in ("kernels", "tools") if (folder / "cache" / "mptcplab" / name).exists()]
    if built:
        raise LabError(f"the cache folder has {' and '.join(built)}: something was compiled")
    entries = folder.glob("venv/lib/python*/site-packages/mptcplab_kernel/kernels/*/entry.json")
    keys = [json.loads(entry.read_text())["key"] for entry in entries]
    manifests = sorted(folder.glob("results/runs/*/manifest.json"))
    if not manifests:
        raise LabError("the scenario left no recordings")
    if not all(any(key in manifest.read_text() for key in keys) for manifest in manifests):
        raise LabError("a recording was made with a kernel that was not installed")


def _run(folder: Path, command: Sequence[str], *, is_expected: bool = True) -> None:
    """Run a command without compilers. :raises LabError: if it succeeds and is not expected to, or the reverse."""
    patterns = " ".join(f"{place}/{name}" for place in _FOLDERS for name in (*_COMPILERS, *_DISPENSABLE))
    mask = f'for file in {patterns}; do [ ! -x "$file" ] || mount --bind /dev/null "$file" || exit; done'
    script = f"set -e; {mask}; exec {shlex.join(command)}"
    rights = [] if os.geteuid() == 0 else ["--map-root-user"]
    done = subprocess.run(
        ["unshare", *rights, "--mount", "sh", "-c", script],
        cwd=folder,
        env=_environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    if (done.returncode == 0) != is_expected:
        verb = "failed" if is_expected else "succeeded"
        raise LabError(f"`{shlex.join(command)}` {verb} without compilers", hint=(done.stderr or done.stdout).strip())


def _environment(folder: Path) -> dict[str, str]:
    """Return this process's environment with an empty cache folder, and without a search path for modules."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return kept | {"XDG_CACHE_HOME": str(folder / "cache")}


if __name__ == "__main__":
    run_main(main)
