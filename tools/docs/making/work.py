# SPDX-License-Identifier: MIT
"""Remake blocks: run what is not recorded yet below results/docs/, and write text and stamp."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.docs.making import console, data, rows, stamps
from tools.docs.making.pages import ROOT, Block, Page
from tools.docs.making.sources import SOURCES, Source, inputs_of, sources_by_folder

from mptcplab.kernel import find_kernel
from mptcplab.scenario.examples import MARK, find_example

WORK = ROOT / "results" / "docs"
_FIGURE = re.compile(r"^<!-- figure (\S+) (from|by) (.+) -->$", re.MULTILINE)
_UNRECORDED = re.compile(r"mptcplab (selftest|exec)\b")
_RUN_OPTIONS = ("--set", "--seed", "--repeats", "--out")


class CannotMakeError(Exception):
    """A block cannot be remade: one sentence."""


@dataclass(frozen=True)
class Experiment:
    """A ``mptcplab run`` of a page: its file, its options, and the folder of its results."""

    file: str
    options: tuple[tuple[str, str], ...]
    out: str


def experiment_of(command: str) -> Experiment | None:
    """Return the experiment that a command line runs, or None."""
    if not command.startswith("mptcplab run "):
        return None
    words = shlex.split(command.partition(" | ")[0], comments=True)
    if words[:2] != ["mptcplab", "run"]:
        return None
    options, files, rest = [], [], words[2:]
    while rest:
        word = rest.pop(0)
        if word in _RUN_OPTIONS and rest:
            options.append((word, rest.pop(0)))
        elif not word.startswith("-"):
            files.append(word)
    if len(files) != 1:
        return None
    file = files[0]
    if file.startswith(MARK):
        file = str(find_example(file.removeprefix(MARK)).relative_to(ROOT))
    out = dict(options).get("--out", f"results/{Path(file).stem}")
    return Experiment(file, tuple(option for option in options if option[0] != "--out"), out)


def folder_of(page: Page) -> Path:
    """Return the folder in which a page's commands run."""
    return WORK / page.name.removeprefix("docs/").replace("/", "-").removesuffix(".md")


def experiments_of(page: Page, block: Block) -> list[Experiment]:
    """Return the experiments that a console block runs, or whose results fill a table."""
    if block.kind == "console":
        # A command whose error the page shows runs nothing.
        lines = [command.line for command in block.commands if not command.is_refused]
        return [experiment for experiment in map(experiment_of, lines) if experiment is not None]
    every = [experiment for experiment in map(experiment_of, page.commands) if experiment is not None]
    return [experiment for experiment in every if experiment.out == block.source][-1:] if block.kind == "rows" else []


def inputs(page: Page, block: Block) -> list[Path]:
    """Return the files of the project that the block is made from."""
    files = [ROOT / experiment.file for experiment in experiments_of(page, block) if (ROOT / experiment.file).is_file()]
    if block.kind == "table":
        source = SOURCES[block.name]
        files += [source.scenario] if source.scenario else []
        return [*source.inputs, *(file for scenario in files for file in inputs_of(scenario))]
    return [file for scenario in files for file in inputs_of(scenario)]


def kernel_of(block: Block) -> str | None:
    """Return the entry of the kernel for a block's unrecorded runs, or None if it has none."""
    if block.kind == "table" and (source := SOURCES.get(block.name)) is not None:
        in_lab = source.scenario is None and not source.is_cheap and not source.is_computed
    else:
        in_lab = any(_UNRECORDED.match(command.line) for command in block.commands if not command.is_refused)
    return find_kernel().path.name if in_lab else None


def make(
    page: Page, block: Block, say: Callable[[str], None], *, accept: bool = False
) -> tuple[str, list[dict[str, Any]]]:
    """Make a block, and return its text and each results.json that it was made from.

    :raises CannotMakeError: with a sentence.
    """
    folder = folder_of(page)
    console.prepare(page, folder)
    say(block.key)
    try:
        if block.kind == "table":
            return _from_source(block.name)
        if block.kind == "rows":
            results = folder / block.source
            if not (results / "results.json").exists():
                raise CannotMakeError(f"{block.key}: no command of the page makes {block.source}")
            return rows.fill(block.text, results), [rows.document(results)]
        if block.kind == "python":
            return console.run_python(block.source, folder), []
        text = console.refresh(block, folder, accept=accept)
    except (console.ChangedOutputError, ValueError) as error:
        raise CannotMakeError(f"{block.key}: {error}") from error
    made = [folder / experiment.out for experiment in experiments_of(page, block)]
    return text, [rows.document(results) for results in made if (results / "results.json").exists()]


def _from_source(name: str) -> tuple[str, list[dict[str, Any]]]:
    if name not in SOURCES:
        raise CannotMakeError(f"no script makes the table {name}: see tools/docs/making/sources.py")
    source = SOURCES[name]
    if source.gathers:
        for gatherer in sources_by_folder().values():
            run(gatherer)
    if source.scenario is None:
        return source.make(WORK), []
    results = run(source)
    return source.make(results), [rows.document(results)]


def run(source: Source) -> Path:
    """Run the missing runs of a source's scenario; sources of one scenario share its results.

    :raises CannotMakeError: when a run fails.
    """
    assert source.scenario is not None
    name = source.scenario.stem
    results = WORK / "scenarios" / name
    command = [sys.executable, "-m", "mptcplab", "run", str(source.scenario), "--out", str(results)]
    if source.prepare is not None:
        command += ["--set", f"kernel={source.prepare(WORK / name)}"]
    if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
        raise CannotMakeError(f"{name}: {shlex.join(command)} failed")
    return results


def adopt(page: Page) -> int:
    """Stamp the blocks of a page without a stamp, as made from unknown runs, and return their number."""
    known = stamps.load()
    new = {block.key: stamps.Stamp(block.digest) for block in page.blocks if block.key not in known}
    stamps.write(known | new)
    return len(new)


def copy_figures(page: Page) -> list[str]:
    """Copy the figures of a page's results to their places, and return the names of missing figures."""
    missing = []
    folder_of(page).mkdir(parents=True, exist_ok=True)
    for target, kind, origin in _FIGURE.findall(page.text):
        place, made = page.file.parent / target, folder_of(page) / origin
        if kind == "by":
            command = [sys.executable, "-m", *shlex.split(origin), "--out", str(place)]
            if subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False).returncode:
                missing.append(target)
        elif made.exists():
            shutil.copy(made, place)
        else:
            missing.append(target)
    return missing


def refresh(page: Page, wanted: Sequence[str], say: Callable[[str], None], *, accept: bool = False) -> list[str]:
    """Make the blocks of a page that ``wanted`` names, or all, and return a sentence for each that could not be made.

    The page and the stamps are written after each block, so that an interruption loses nothing.
    """
    problems = []
    names = [block.name for block in page.blocks if not wanted or block.name.startswith(tuple(wanted))]
    if wanted and not names:
        return []
    for name in names:
        page = Page(page.file)
        block = next(block for block in page.blocks if block.name == name)
        try:
            text, documents = make(page, block, say, accept=accept)
        except CannotMakeError as error:
            problems.append(str(error))
            continue
        page.file.write_text(page.replace_block(block, text))
        (now,) = [block for block in Page(page.file).blocks if block.name == name]
        known = stamps.load()
        stamps.write(known | {now.key: stamps.make_stamp(now, documents, inputs(page, now), kernel_of(now))})
        data.write([now.name])
    return problems + [f"{page.name}: the figure {name} was not made" for name in copy_figures(page)]
