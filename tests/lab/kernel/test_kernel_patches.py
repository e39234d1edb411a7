# SPDX-License-Identifier: MIT
"""Every hunk of our patches has one place in each source, so that no update of Debian's can move it elsewhere.

`patch` takes the place that fits and is nearest to a hunk's line number. In Linux 6.12.117 that was in an #else that is
not compiled, for a hunk with nothing but a brace and an empty line for context.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path

import pytest
from tests.lab import shared_recordings

from mptcplab.cache import cache_root
from mptcplab.kernel.data import TESTED_VERSIONS, WITHOUT_SCHEDULERS, load_inputs
from mptcplab.kernel.debian import debian_source
from mptcplab.kernel.progress import SilentProgress

HUNK = re.compile(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@.*\n", re.MULTILINE)


def _files(patch: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return each changed file's name with its hunks: what is there, and what comes in its place."""
    files = []
    for part in re.split(r"^--- ", patch, flags=re.MULTILINE)[1:]:
        if not (name := re.match(r"(\S+)\s*\n\+\+\+ b/(\S+)", part)) or name[1] == "/dev/null":
            continue
        heads = list(HUNK.finditer(part))
        hunks = []
        for head in heads:
            lines = part[head.end() :].splitlines(keepends=True)
            old, new = int(head[1] or 1), int(head[2] or 1)
            before, after = "", ""
            for line in lines:
                if old == new == 0:
                    break
                if line[0] in " -\n":
                    before, old = before + (line[1:] or "\n"), old - 1
                if line[0] in " +\n":
                    after, new = after + (line[1:] or "\n"), new - 1
            hunks.append((before, after))
        files.append((name[2], hunks))
    return files


def _new_files(patch: str) -> dict[str, str]:
    """Return the files that a patch creates, which later patches may change."""
    parts = re.split(r"^--- ", patch, flags=re.MULTILINE)[1:]
    created = {name[1]: part for part in parts if (name := re.match(r"/dev/null\s*\n\+\+\+ b/(\S+)", part))}
    return {
        name: "".join(f"{line[1:]}\n" for line in part.splitlines() if line.startswith("+") and line[:4] != "+++ ")
        for name, part in created.items()
    }


@pytest.mark.parametrize("version", TESTED_VERSIONS)
def test_every_hunk_has_one_place(version: str, tmp_path: Path) -> None:
    texts = {patch.name: patch.content.decode() for patch in load_inputs(version).patches}
    patches = {name: _files(text) for name, text in texts.items()}
    sources = {name: content for text in texts.values() for name, content in _new_files(text).items()}
    names = sorted({name for files in patches.values() for name, _ in files} - set(sources))
    sources |= _sources(version, names, tmp_path)
    wrong, hunks_seen = [], 0
    for patch, files in patches.items():
        for name, hunks in files:
            for before, after in hunks:
                hunks_seen += 1
                places = sources[name].count(before)
                if places != 1:
                    wrong.append(f"{patch}: {name} has {places} places for\n{before}")
                sources[name] = sources[name].replace(before, after, 1)
    # Linux 6.1 has the machine's patches and few more.
    assert hunks_seen > (25 if version in WITHOUT_SCHEDULERS else 50), f"only {hunks_seen} hunks were seen"
    assert not wrong, "\n".join(wrong)


def _sources(version: str, names: list[str], folder: Path) -> dict[str, str]:
    """Return the files ``names`` of a kernel's source; files that a patch creates are not in it."""
    with (folder / "log").open("w") as log:
        source = debian_source(version, cache_root(), progress=SilentProgress(), log=log)
    digest = hashlib.sha256(repr(names).encode()).hexdigest()[:12]
    place = shared_recordings.folder("sources") / f"{source.path.name}-{digest}"
    if not shared_recordings.keeps() or not shared_recordings.lend(place, folder):
        wanted = [f"*/{name}" for name in names]
        command = ["tar", "-xf", str(source.path), "-C", str(folder), "--strip-components=1", "--wildcards", *wanted]
        subprocess.run(command, check=True, timeout=300)
        shared_recordings.keep(folder, place)
    return {name: (folder / name).read_text() for name in names}
