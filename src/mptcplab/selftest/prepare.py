# SPDX-License-Identifier: MIT
"""Prepares the MPTCP selftests of a kernel's source: scripts, and helper programs compiled for this machine.

~/.cache/mptcplab/selftests/VERSION-KEY12/net/   with the layout of tools/testing/selftests in the source
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from mptcplab.cache import KEY_CHARS, cache_root, hold_lock, make_work_folder, open_log
from mptcplab.engine.tools import find_program
from mptcplab.errors import InputError, LabError, MissingError, combine, try_each
from mptcplab.kernel import KernelBuild
from mptcplab.kernel.build import build_environment, compiler_version
from mptcplab.kernel.data import NamedFile, select_patches
from mptcplab.kernel.debian import debian_source
from mptcplab.kernel.patching import apply_patches
from mptcplab.kernel.process import CommandError, require_tools, run_logged, sigterm_as_interrupt
from mptcplab.kernel.progress import Reporter
from mptcplab.kernel.source import KernelSource, local_source, unpack

#: Increase this when the module makes other files from the same source.
_RECIPE = 1
_TESTS = "tools/testing/selftests"
_KEPT = ("net/lib.sh", "net/lib/sh", "net/mptcp")
#: A line of a patch that names a script which it adds or changes next to the folder of the MPTCP tests.
_PATCHED = re.compile(rf"^\+\+\+ b/{_TESTS}/(net/[\w.-]+\.sh)$", re.MULTILINE)
_BUILD_TOOLS = {"gcc": "gcc", "make": "make", "tar": "tar", "xz": "xz-utils"}


@dataclass(frozen=True)
class SelftestTree:
    """Selftests in the cache; ``folder`` contains ``net/mptcp/``."""

    folder: Path
    source: KernelSource

    @property
    def scripts(self) -> Path:
        """The folder of the MPTCP test scripts."""
        return self.folder / "net" / "mptcp"

    def find(self, script: str) -> Path | None:
        """Return the file of the test `script`: one of MPTCP's, or one next to them that a patch added."""
        if script in ("lib", "mptcp_lib"):
            return None
        files = (folder / f"{script}.sh" for folder in (self.scripts, self.scripts.parent))
        return next((file for file in files if file.is_file()), None)


def prepare(
    kernel: KernelBuild, source: Path | None, *, patches: Sequence[Path] = (), jobs: int, progress: Reporter
) -> SelftestTree:
    """Return the selftests of ``kernel``'s source, building them unless they are cached.

    ``source`` is a tarball or a tree, needed if the kernel was not built from Debian's package. ``patches`` are applied
    to it.
    :raises InputError: for a patch that cannot be read. :raises MissingError: if tools or the source are missing.
    :raises LabError: if a patch does not apply, or the helpers do not compile.
    """
    require_tools(_BUILD_TOOLS)
    given = select_patches(patches)
    cache = cache_root()
    with sigterm_as_interrupt(), open_log("selftests", cache) as log:
        origin = _origin(kernel, source, cache, progress, log)
        target = cache / "selftests" / f"{kernel.version}-{_key(origin, given)[:KEY_CHARS]}"
        with hold_lock(f"selftests-{target.name}", cache):
            if not target.is_dir():
                with make_work_folder("selftests", cache) as work:
                    _build(origin, given, work, target, jobs=jobs, progress=progress, log=log)
    return SelftestTree(target, origin)


def _origin(kernel: KernelBuild, source: Path | None, cache: Path, progress: Reporter, log: TextIO) -> KernelSource:
    if source is not None:
        return local_source(source)
    kernel_source = debian_source(kernel.version, cache, progress=progress, log=log)
    if kernel_source.sha256 != kernel.source_sha256:
        hint = "name that tarball or tree with --source"
        raise MissingError(f"the kernel {kernel.path.name} was built from another source than Debian's", hint=hint)
    return kernel_source


def _key(source: KernelSource, patches: Sequence[NamedFile]) -> str:
    parts = (str(_RECIPE), source.sha256, compiler_version(), *(patch.sha256 for patch in patches))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _build(
    source: KernelSource,
    patches: Sequence[NamedFile],
    work: Path,
    target: Path,
    *,
    jobs: int,
    progress: Reporter,
    log: TextIO,
) -> None:
    tree = work / "tree"
    environment = build_environment(os.environ)
    progress.stage(f"unpacking the selftests of {source.name}")
    unpack(source, tree, log=log)
    apply_patches(patches, tree, work=work, log=log)
    if not (tree / _TESTS / "net" / "mptcp" / "Makefile").is_file():
        raise InputError(f"'{source.name}' has no MPTCP selftests", hint="give a complete Linux source")
    try:
        progress.stage("compiling the selftests' helpers")
        # Only headers for user space are needed; ARCH=um has none.
        run_logged(["make", "ARCH=x86", "-j", str(jobs), "headers"], cwd=tree, log=log, env=environment)
        headers = f"KHDR_INCLUDES=-isystem {tree}/usr/include"
        command = ["make", "ARCH=x86", "-j", str(jobs), "-C", f"{_TESTS}/net/mptcp", headers]
        run_logged(command, cwd=tree, log=log, env=environment)
    except CommandError as error:
        raise LabError("the helpers of the selftests do not compile", hint=f"the log is {log.name}") from error
    selected = work / "selected"
    patched = {name for patch in patches for name in _PATCHED.findall(patch.content.decode(errors="replace"))}
    for name in (*_KEPT, *sorted(patched)):
        (selected / name).parent.mkdir(parents=True, exist_ok=True)
        place = tree / _TESTS / name
        if place.is_dir():
            shutil.copytree(place, selected / name)
        elif place.is_file():
            shutil.copy(place, selected / name)
    target.parent.mkdir(parents=True, exist_ok=True)
    selected.rename(target)


# The programs that selftests check for, and skip all their tests without.

#: What the scripts that run by default check for. `doctor` looks for them where no selftests are prepared.
PROGRAMS = ("ip", "tc", "ss", "iptables", "ip6tables")
_CHECKED = re.compile(r"^\s*mptcp_lib_check_tools (.+)$", re.MULTILINE)
#: The message of a script that checks by itself, as all do in Linux 6.1.
_WITHOUT = re.compile(r"Could not run (?:all )?tests? without ([\w.-]+)")
_ASSIGNED = re.compile(r'^(\w+)="([\w.-]+)"$', re.MULTILINE)


def needed_programs(text: str) -> tuple[str, ...]:
    """Return the programs that a script with this ``text`` checks for, in its order."""
    variables = {f"${{{name}}}": value for name, value in _ASSIGNED.findall(text)}
    words = [word.strip('"') for line in _CHECKED.findall(text) for word in line.split()]
    return tuple(dict.fromkeys(variables.get(word, word) for word in (*words, *_WITHOUT.findall(text))))


def check_programs(prepared: SelftestTree, scripts: Sequence[str]) -> None:
    """Refuse ``scripts`` if one of them would skip all its tests because a program is missing.

    :raises MissingError: naming every program that is missing, its package, and the scripts that need none of them.
    """
    files = {script: prepared.find(script) for script in scripts}
    texts = {script: file.read_text() for script, file in files.items() if file is not None}
    lacking = {script: dict(try_each(find_program, needed_programs(text))) for script, text in texts.items()}
    needing: dict[str, list[str]] = {}
    for script, missing in lacking.items():
        for program in missing:
            needing.setdefault(program, []).append(script)
    errors = {program: error for missing in lacking.values() for program, error in missing.items()}
    for program, error in errors.items():
        names = needing[program]
        error.message += f", which {' and '.join(names)} {'needs' if len(names) == 1 else 'need'}"
    missing_error = combine(errors.values())
    if missing_error is None:
        return
    others = [script for script, missing in lacking.items() if not missing]
    if others:
        missing_error.hint = f"{missing_error.hint}\n  or without it: mptcplab selftest {' '.join(others)}"
    raise missing_error
