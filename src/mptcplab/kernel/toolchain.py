# SPDX-License-Identifier: MIT
"""The toolchain of a kernel build: the programs it needs, and an environment that is the same everywhere."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from contextlib import suppress

from mptcplab.errors import MissingError, try_each
from mptcplab.kernel.process import CommandError, capture, require_tools

# The Debian package of each program.
TOOLS = {
    "gcc": "gcc",
    "make": "make",
    "ld": "binutils",
    "strip": "binutils",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "patch": "patch",
    "tar": "tar",
    "xz": "xz-utils",
}

# The same inputs must give the same bytes, whoever builds them and when.
_REPRODUCIBLE = {
    "LC_ALL": "C",
    "TZ": "UTC",
    "LOCALVERSION": "",
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_USER": "mptcplab",
    "KBUILD_BUILD_HOST": "mptcplab",
    "KBUILD_BUILD_VERSION": "1",
}
# Kconfig writes the versions of these tools into .config if it finds them, although UML uses neither. Names that do not
# exist make the configuration the same on all machines.
MAKE = ("make", "ARCH=um", "RUSTC=absent", "PAHOLE=absent")


def compiler_version() -> str:
    """Return the first lines of `gcc --version` and `ld --version`.

    :raises MissingError: if gcc does not find the C library's headers.
    """
    lines = [capture([tool, "--version"]).partition("\n")[0] for tool in ("gcc", "ld")]
    probe = subprocess.run(
        ["gcc", "-E", "-x", "c", "-"],
        input="#include <stdlib.h>\n",
        text=True,
        capture_output=True,
        check=False,
    )
    if probe.returncode != 0:
        raise MissingError(
            "the kernel cannot be built without the C library's headers",
            subject="headers of the C library",
            packages=("libc6-dev",),
        )
    return "; ".join(lines)


def find_missing_tools() -> list[MissingError]:
    """Return an error for each program and library that a build needs and this machine lacks."""
    errors = dict(try_each(lambda tool: require_tools({tool: TOOLS[tool]}), TOOLS))
    if not {"gcc", "ld"} & errors.keys():
        # A compiler that does not work at all is reported by the build.
        with suppress(CommandError):
            errors |= dict(try_each(lambda _: compiler_version(), ["headers"]))
    return list(errors.values())


def build_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the build. It keeps only what finds programs, so that no user's CFLAGS have effect."""
    kept = {name: environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in environ}
    return kept | _REPRODUCIBLE
