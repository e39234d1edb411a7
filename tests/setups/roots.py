# SPDX-License-Identifier: MIT
"""Root file systems of Debian, in the cache folder. Their packages come from this machine's mirror."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mptcplab.cache import KEY_CHARS, cache_root, hold_lock
from mptcplab.doctor.programs import program_uses, radio_programs
from mptcplab.engine.tools import package_of
from mptcplab.errors import MissingError
from mptcplab.kernel.debian import find_mirrors
from mptcplab.kernel.process import run_logged
from mptcplab.kernel.progress import Reporter

REPOSITORY = Path(__file__).resolve().parents[2]
#: Where our Python packages are in a root file system.
SITE = "/site"
_BUILDER = "mmdebstrap"
#: What mptcplab itself needs there, beside the programs of labs.
_ALWAYS = ("gcc", "libc6-dev", "make", "python3", "xz-utils")
#: Increase this when the module makes other root file systems from the same packages.
_RECIPE = 1


@dataclass(frozen=True)
class Setup:
    """A root file system: ``python`` is the version of its Python, for which packages are installed.

    With ``recommended``, the packages that these packages recommend are installed, too.
    """

    name: str
    suite: str
    python: str
    packages: tuple[str, ...]
    recommended: bool = False

    @property
    def root(self) -> Path:
        """The folder of the root file system."""
        facts = repr((_RECIPE, self, _dependencies()))
        key = hashlib.sha256(facts.encode()).hexdigest()[:KEY_CHARS]
        return cache_root() / "setups" / f"{self.name}-{key}"


def setups(names: Sequence[str]) -> list[Setup]:
    """Return the set-ups of these ``names``, or all."""
    lab = {package_of(name) for name in program_uses()}
    few = tuple(sorted({*_ALWAYS, *lab}))
    many = {*few, *(package_of(name) for name in radio_programs())}
    many |= {"clang", "git", "gnupg", "less", "locales-all", "man-db", "openssh-server", "openssl", "openvpn"}
    many |= {"perl", "python3-dev", "python3-pip", "qemu-system-x86", "shadowsocks-libev", "systemd", "vim", "zstd"}
    known = (
        Setup("minimal", "bookworm", "3.11", few),
        Setup("everything", "bookworm", "3.11", tuple(sorted(many)), recommended=True),
        Setup("newer", "trixie", "3.13", few),
    )
    return [setup for setup in known if not names or setup.name in names]


def make_root(setup: Setup, progress: Reporter) -> Path:
    """Return the root file system of ``setup``, made unless it is there. It takes minutes, and needs root.

    :raises MissingError: without the program that makes it, or without a Debian mirror.
    :raises CommandError: if a package cannot be installed.
    """
    if shutil.which(_BUILDER) is None:
        raise MissingError(f"this machine has no '{_BUILDER}'", hint=f"sudo apt-get install {_BUILDER}")
    root = setup.root
    with hold_lock(f"setup-{root.name}", cache_root()):
        if root.is_dir():
            return root
        progress.stage(f"making the set-up {setup.name} of Debian {setup.suite}")
        work = root.with_suffix(".new")
        subprocess.run(["rm", "-rf", "--one-file-system", str(work)], check=True)
        work.parent.mkdir(parents=True, exist_ok=True)
        with (cache_root() / "logs" / f"setup-{setup.name}.log").open("w") as log:
            command = [_BUILDER, "--variant=minbase", f"--include={','.join(setup.packages)}"]
            command += ["--aptopt=APT::Install-Recommends true"] if setup.recommended else []
            run_logged([*command, setup.suite, str(work), find_mirrors()[0]], log=log)
            run_logged([*_pip(setup), "--target", f"{work}{SITE}", *_dependencies()], log=log)
        work.rename(root)
    return root


def _pip(setup: Setup) -> list[str]:
    """Return the command of this machine's pip that installs packages for the set-up's Python."""
    pip = ["python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    return [*pip, "--only-binary=:all:", "--implementation", "cp", "--python-version", setup.python]


def _dependencies() -> tuple[str, ...]:
    """Return what pyproject.toml requires, in the versions that this Python has."""
    from importlib.metadata import version

    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    names = [requirement.partition(">=")[0] for requirement in project["dependencies"]]
    return tuple(f"{name}=={version(name)}" for name in sorted(names))
