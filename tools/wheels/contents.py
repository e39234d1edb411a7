# SPDX-License-Identifier: MIT
"""Collects what is in `mptcplab-kernel`, in the folder that hatchling makes the wheel of."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tools.wheels.elf import elf_files, machine_of, needed_glibc, wheel_tag

from mptcplab import __version__
from mptcplab.engine.tools import compile_source, source_digest, source_folder
from mptcplab.errors import InputError, MissingError
from mptcplab.kernel.cache import KernelBuild, list_kernels, variant_name
from mptcplab.kernel.data import DEFAULT_VERSION, KernelInputs, NamedFile, build_options, load_inputs
from mptcplab.prebuilt import FORMAT, MODULE

ROOT = Path(__file__).resolve().parents[2]
#: Our programs in C that labs run.
PROGRAMS = ("flow", "radio", "sampler")
#: Variants of the default version: the default of scenarios, and the published studies'.
VARIANTS = ("", "hz250-window")
#: The C library of Debian 12, the oldest system that a release is for.
_GLIBC = (2, 36)
_KERNEL_FILES = ("linux", "System.map", "config")
#: Facts of an entry that differ between two builds of the same kernel.
_VARYING = ("tree", "jobs", "build_seconds")


@dataclass(frozen=True)
class ReleasedKernel:
    """A kernel of a release, with all that this project adds to Linux for it."""

    build: KernelBuild
    inputs: KernelInputs


def choose_kernels() -> list[ReleasedKernel]:
    """Return the kernels of a release, built on this machine from Debian's source and our inputs.

    :raises MissingError: if one is not built. :raises InputError: if its source is not Debian's.
    """
    return [_choose_kernel(variant) for variant in VARIANTS]


def _choose_kernel(variant: str) -> ReleasedKernel:
    inputs = load_inputs(DEFAULT_VERSION, variant=variant)
    name = variant_name(DEFAULT_VERSION, variant)
    built = [kernel for kernel in list_kernels() if kernel.name == name and not kernel.package]
    current = [kernel for kernel in built if kernel.inputs == inputs.digest]
    if not current:
        hint = " ".join(["mptcplab kernel build", *build_options(variant)])
        raise MissingError(f"no current lab kernel {name} is built", hint=hint)
    kernel = next((wheel for wheel in current if _facts(wheel)["source"]["kind"] == "debian"), None)
    if kernel is None:
        message = f"the lab kernel {name} was built from a source that only this machine has"
        raise InputError(message, hint="mptcplab kernel build, without --source")
    return ReleasedKernel(kernel, inputs)


def collect(project: Path, kernels: Sequence[ReleasedKernel], *, epoch: int) -> None:
    """Write the project of `mptcplab-kernel` to the new folder `project`.

    `epoch` is the time in seconds since 1970 that files are dated with.
    :raises MissingError: without a compiler. :raises InputError: if it or the C library is too new for a release.
    :raises LabError: if a program does not compile.
    """
    shutil.copytree(ROOT / "tools" / "wheels" / "kernel", project, ignore=shutil.ignore_patterns("__pycache__"))
    package = project / MODULE
    for kernel in kernels:
        path = kernel.build.path
        _copy_kernel(kernel.build, _facts(kernel.build), package / "kernels" / path.name, epoch=epoch)
        _write_source(kernel.inputs, package / "source" / kernel.build.name)
    for name in PROGRAMS:
        _copy_program(name, package / "programs" / name)
    executables = elf_files(package)
    check_glibc(needed_glibc(executables))
    manifest = {
        "format": FORMAT,
        "version": __version__,
        "tag": wheel_tag(executables),
        "machine": machine_of(executables),
        "glibc": ".".join(map(str, needed_glibc(executables))),
        "programs": {name: source_digest(source_folder(name)) for name in PROGRAMS},
    }
    (package / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    readme = _readme([kernel.build for kernel in kernels])
    (package / "source" / "README.md").write_text(readme)
    (project / "README.md").write_text(readme)
    licences = project / "LICENSES"
    licences.mkdir()
    shutil.copyfile(ROOT / "LICENSE", licences / "LICENSE")
    shutil.copyfile(ROOT / "kernel" / "LICENSE", licences / "GPL-2.0-only.txt")


def check_glibc(needed: tuple[int, int]) -> None:
    """Refuse executables that need a later C library than the oldest system of a release has.

    :raises InputError: if they do.
    """
    if needed > _GLIBC:
        versions = [".".join(map(str, version)) for version in (needed, _GLIBC)]
        message = "the executables need glibc {}, and a release has to run with {}".format(*versions)
        raise InputError(message, hint="build the kernel and the wheels on Debian 12")


def _facts(kernel: KernelBuild) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((kernel.path / "entry.json").read_text())
    return facts


def _copy_kernel(kernel: KernelBuild, facts: Mapping[str, Any], target: Path, *, epoch: int) -> None:
    target.mkdir(parents=True)
    for name in _KERNEL_FILES:
        shutil.copyfile(kernel.path / name, target / name)
    (target / "linux").chmod(0o755)
    built = datetime.fromtimestamp(epoch, UTC).isoformat(timespec="seconds")
    entry = {name: value for name, value in facts.items() if name not in _VARYING} | {"built": built}
    (target / "entry.json").write_text(json.dumps(entry, indent=2) + "\n")


def _copy_program(name: str, target: Path) -> None:
    """Compile a program of ours, and keep of what the compiler writes what runs."""
    compile_source(source_folder(name), target)
    for path in target.iterdir():
        if path.name != name and path.suffix != ".so":
            path.unlink()


def _write_source(inputs: KernelInputs, folder: Path) -> None:
    """Write all that this project adds to Linux."""
    fragment = NamedFile("lab.config", inputs.fragment.encode())
    patches = (NamedFile(f"patches/{number:02}-{Path(patch.name).name}", patch.content)
               for number, patch in enumerate(inputs.patches, start=1))  # fmt: skip
    files = (NamedFile(f"files/{file.name}", file.content) for file in inputs.overlay)
    for file in (fragment, *patches, *files):
        path = folder / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)


def _readme(kernels: Sequence[KernelBuild]) -> str:
    rows = "\n".join(
        f"| `kernels/{kernel.path.name}/linux` | Linux {kernel.release} as an ordinary program (User-Mode Linux) "
        "| GPL-2.0-only |"
        for kernel in kernels
    )
    sources = "\n".join(_describe_source(kernel) for kernel in kernels)
    return f"""\
# mptcplab-kernel

What [mptcplab](https://pypi.org/project/mptcplab/) {__version__} runs its labs with, compiled for machines without a
compiler. It has no code for Python: install `mptcplab`, which depends on it.

| in `{MODULE}/` | content | licence |
| --- | --- | --- |
{rows}
| `programs/` | `flow`, `radio` and `sampler`, which run in labs | MIT |
| `source/` | our configuration, patches and files for Linux | GPL-2.0-only |

{sources}
## Source of the programs

`flow`, `radio` and `sampler` are compiled by `make` in folders of mptcplab {__version__}: `tools/` of its repository,
`mptcplab/_data/` of its wheel.
"""


def _describe_source(kernel: KernelBuild) -> str:
    facts = _facts(kernel)
    source, folder = facts["source"], f"source/{kernel.name}"
    tarball = f"/usr/src/{source['name']}.tar.xz"
    build = " ".join(["mptcplab kernel build", *build_options(kernel.variant), f"--source {source['name']}.tar.xz"])
    return f"""\
## Source of the kernel {kernel.name}

The kernel was built from:

1. Linux as Debian patches it: the file `{tarball}` of Debian's package `{source["name"]}`, version
   {source["package_version"]}, whose SHA-256 is `{source["sha256"]}`.
   The package is built from Debian's source package `linux` of that version. `apt-get download
   {source["name"]}={source["package_version"]}` obtains it where a Debian mirror has this version, and
   <https://snapshot.debian.org/package/linux/{source["package_version"]}/> where none does any more.
2. `{folder}/patches/`, in the order of their names, each by `patch -p1 --fuzz=0`.
3. `{folder}/files/`, copied over the tree.
4. `{folder}/lab.config`, merged into `make ARCH=um tinyconfig`. The result is `config`, beside the kernel.

`entry.json` beside the kernel has the hashes of all of these, and of the executable. The compiler was
{facts["compiler"]}.

mptcplab {__version__} does these steps. With that compiler, the result has the same bytes:

    {build}
"""
