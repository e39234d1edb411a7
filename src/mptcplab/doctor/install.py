# SPDX-License-Identifier: MIT
"""Gets what this machine lacks: installs Debian packages, builds programs and kernels. It asks nothing."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence

from mptcplab.doctor.lacks import Lacks
from mptcplab.doctor.packages import LinuxDistribution
from mptcplab.errors import LabError, MissingError
from mptcplab.shipped import find_shipped_folder

_SCRIPT = "install-packages"


def install(lacks: Lacks) -> list[str]:
    """Run the commands that get ``lacks``, and return a sentence for each that failed.

    Services of the packages do not start on this machine: they run in labs only. A build that fails does not prevent
    the others.
    :raises MissingError: if packages are missing, and this user cannot install any; then nothing has been done.
    """
    failures = []
    if lacks.packages:
        _check_installer(lacks.system, lacks.packages)
        status = _run([*_script(), "--named", *lacks.packages])
        failures += [f"installing {', '.join(lacks.packages)} ended with status {status}"] if status else []
    for command in lacks.builds:
        # The first word is our own name, which may not be on the PATH.
        status = _run([sys.executable, "-m", *shlex.split(command)])
        failures += [f"`{command}` ended with status {status}"] if status else []
    return failures


def _check_installer(system: LinuxDistribution, packages: Sequence[str]) -> None:
    """Check that this user can install packages without being asked for anything."""
    by_hand = system.install(packages)
    if system.family != "debian":
        message = f"--install installs packages with apt, and {system.name} has another package manager"
        raise MissingError(message, hint=by_hand)
    if system.is_root:
        return
    why = "sudo is not installed" if shutil.which("sudo") is None else "sudo asks for a password"
    if shutil.which("sudo") is None or _run(["sudo", "-n", "true"], quiet=True):
        message = f"packages cannot be installed: this user is not root, and {why}"
        raise MissingError(message, hint=f"{by_hand}, and then this command again")


def _script() -> list[str]:
    """Return the script that installs packages, and keeps their services from starting, as a command."""
    folder = find_shipped_folder("scripts", "scripts", proof=_SCRIPT)
    if folder is None:
        raise LabError(f"the script {_SCRIPT} is missing", hint="install mptcplab again, or use a complete checkout")
    return ["sh", str(folder / _SCRIPT)]


def _run(command: Sequence[str], *, quiet: bool = False) -> int:
    """Run a command that can ask nothing, and return its exit status. Its output goes to standard error."""
    output = subprocess.DEVNULL if quiet else sys.stderr
    # Our own commands find the modules where this process found them: Debian's package has a folder of its own.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, check=False)
    return done.returncode
