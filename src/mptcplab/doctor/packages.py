# SPDX-License-Identifier: MIT
"""The packages of other distributions, by the Debian names that our code uses; and how each installs them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

#: Debian's name: Fedora's, Arch's; where these are not the same.
_OTHERS: dict[str, tuple[str, str]] = {
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
#: In Arch's user repository, which pacman does not know.
_AUR = ("mptcpd",)


@dataclass(frozen=True)
class Distribution:
    """A distribution: its family (debian, fedora, arch, or nothing that we know) and its own name."""

    family: str
    name: str
    is_root: bool = False

    def install(self, packages: Iterable[str]) -> str:
        """The command that installs what Debian calls ``packages``."""
        wanted = sorted(set(packages))
        sudo = "" if self.is_root else "sudo "
        if self.family not in _INSTALLERS:
            return f"install what Debian calls {' '.join(wanted)}"
        if self.family != "debian":
            wanted = sorted({_OTHERS.get(name, (name, name))[_FAMILIES[self.family] - 1] for name in wanted})
        ours = [name for name in wanted if not (self.family == "arch" and name in _AUR)]
        command = f"{sudo}{_INSTALLERS[self.family]} {' '.join(ours)}" if ours else ""
        others = [name for name in wanted if name not in ours]
        aur = f"makepkg -si in a clone of {' and '.join(others)} from the AUR" if others else ""
        return "; then ".join(filter(None, (command, aur)))


def this_system(release: Path = Path("/etc/os-release")) -> Distribution:
    """The distribution of this machine, as os-release(5) tells it."""
    try:
        lines = release.read_text().splitlines()
    except OSError:
        lines = []
    said = {key: value.strip("\"'") for key, _, value in (line.partition("=") for line in lines)}
    return Distribution(_family(said), said.get("PRETTY_NAME", "Linux"), is_root=os.geteuid() == 0)


def _family(said: Mapping[str, str]) -> str:
    names = [said.get("ID", ""), *said.get("ID_LIKE", "").split()]
    # Red Hat's and its clones call themselves like it, and have Fedora's names.
    known = {"debian": "debian", "ubuntu": "debian", "fedora": "fedora", "rhel": "fedora", "arch": "arch"}
    return next((known[name] for name in names if name in known), "")
