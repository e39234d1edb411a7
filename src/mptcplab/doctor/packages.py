# SPDX-License-Identifier: MIT
"""The packages of other distributions by the Debian names that our code uses, and the commands that install them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

#: Fedora's and Arch's names by Debian's name, where they differ.
_OTHERS: dict[str, tuple[str, str]] = {
    "cargo": ("cargo", "rust"),
    "golang-go": ("golang", "go"),
    "iproute2": ("iproute iproute-tc", "iproute2"),
    "iputils-ping": ("iputils", "iputils"),
    "libc6-dev": ("glibc-devel", "glibc"),
    "mptcpize": ("mptcpd", "mptcpd"),
    "procps": ("procps-ng", "procps-ng"),
    "python3": ("python3", "python"),
    "tshark": ("wireshark-cli", "wireshark-cli"),
    "xz-utils": ("xz", "xz"),
}
_INSTALLERS = {"debian": "apt-get install", "fedora": "dnf install", "arch": "pacman -S"}
_FAMILIES = {"debian": 0, "fedora": 1, "arch": 2}
#: Packages in Arch's user repository, which pacman does not search.
_AUR = ("mptcpd",)


@dataclass(frozen=True)
class LinuxDistribution:
    """A distribution: its family (debian, fedora, arch, or empty if unknown) and its name."""

    family: str
    name: str
    is_root: bool = False

    def installs(self, packages: Iterable[str]) -> bool:
        """Return whether :meth:`install` of ``packages`` is one command that a shell can run."""
        of_arch = (_OTHERS.get(name, (name, name))[_FAMILIES["arch"] - 1] for name in packages)
        return self.family in _INSTALLERS and not (self.family == "arch" and any(name in _AUR for name in of_arch))

    def install(self, packages: Iterable[str]) -> str:
        """Return the command that installs the packages that Debian calls ``packages``."""
        names = sorted(set(packages))
        sudo = "" if self.is_root else "sudo "
        if self.family not in _INSTALLERS:
            return f"install the equivalents of Debian's {' '.join(names)}"
        if self.family != "debian":
            names = sorted({_OTHERS.get(name, (name, name))[_FAMILIES[self.family] - 1] for name in names})
        packaged = [name for name in names if not (self.family == "arch" and name in _AUR)]
        command = f"{sudo}{_INSTALLERS[self.family]} {' '.join(packaged)}" if packaged else ""
        others = [name for name in names if name not in packaged]
        aur = f"makepkg -si in a clone of {' and '.join(others)} from the AUR" if others else ""
        return "; then ".join(filter(None, (command, aur)))


def this_system(release: Path = Path("/etc/os-release")) -> LinuxDistribution:
    """Return the distribution of this machine according to os-release(5)."""
    try:
        lines = release.read_text().splitlines()
    except OSError:
        lines = []
    values = {key: value.strip("\"'") for key, _, value in (line.partition("=") for line in lines)}
    return LinuxDistribution(_family(values), values.get("PRETTY_NAME", "Linux"), is_root=os.geteuid() == 0)


def _family(values: Mapping[str, str]) -> str:
    names = [values.get("ID", ""), *values.get("ID_LIKE", "").split()]
    # Red Hat and its clones name rhel, and use Fedora's package names.
    known = {"debian": "debian", "ubuntu": "debian", "fedora": "fedora", "rhel": "fedora", "arch": "arch"}
    return next((known[name] for name in names if name in known), "")
