# SPDX-License-Identifier: MIT
"""List stale blocks, typed numbers and quotes that no longer fit: ``python -m tools.docs.check``. It runs nothing.

A block is *stale* when it was made from other runs than would be made now: with another kernel, scenario
or program. This is not an error; ``make docs`` remakes the block. ``make test`` checks everything else.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from tools.docs.making import commands, data, quotes, stamps
from tools.docs.making.pages import ROOT, Block, Page, pages, typed_tables
from tools.docs.making.sources import SOURCES
from tools.docs.making.work import Experiment, experiments_of, inputs, kernel_of

from mptcplab.campaign.record import prepare_engines, prepare_job
from mptcplab.errors import LabError
from mptcplab.scenario.load import Run, load


def structure_problems(page: Page, known: dict[str, stamps.Stamp]) -> Iterator[str]:
    """Yield blocks without a script, typed blocks, tables without a mark, and commands that do not exist."""
    for line, row in typed_tables(page):
        yield f"{page.name}:{line}: a table with numbers that no script makes: {row.strip()}"
    for block in page.blocks:
        if block.kind == "table" and block.name not in SOURCES:
            yield f"{block.key}: no script makes this table"
        stamp = known.get(block.key)
        if stamp is None:
            yield f"{block.key}: never made; run: python -m tools.docs.refresh {page.name}"
        elif stamp.text != block.digest:
            yield f"{block.key}: its text was typed, not made; run: python -m tools.docs.refresh {page.name}"
    yield from command_problems(page)


def command_problems(page: Page) -> Iterator[str]:
    """Yield command lines whose command, option or file does not exist."""
    for command in page.commands:
        if problem := commands.problem(command, page):
            yield f"{page.name}: `{command}`: {problem}"


def prose_problems(page: Page, tables: quotes.Tables | None = None) -> Iterator[str]:
    """Yield numbers and claims in prose that do not fit their tables."""
    tables = tables or quotes.Tables(pages(), stamps.read_measured(), data.make_rows())
    try:
        for quote in quotes.quotes_of(page):
            if problem := quotes.problem(quote, tables):
                yield problem
    except quotes.QuoteError as error:
        yield str(error)


def changed_inputs(page: Page, known: dict[str, stamps.Stamp]) -> Iterator[str]:
    """Yield blocks whose scenario or data changed since they were made."""
    for block in page.blocks:
        stamp = known.get(block.key)
        if stamp is None or stamp.inputs is None:
            continue
        now = stamps.digests(inputs(page, block))
        changed = sorted(file for file in now | stamp.inputs if now.get(file) != stamp.inputs.get(file))
        if changed:
            yield f"{block.key}: {', '.join(changed)} changed since it was made"


def stale(page: Page, known: dict[str, stamps.Stamp]) -> Iterator[str]:
    """Yield blocks that were made from other runs than would be made now, or from unknown runs."""
    for block in page.blocks:
        stamp = known.get(block.key)
        # Every block that a script made has inputs; an adopted one has none.
        if stamp is None or not (stamp.runs or stamp.kernels or stamp.inputs is None or _runs_something(page, block)):
            continue
        try:
            problem = _staleness(page, block, stamp)
        except LabError as error:
            problem = error.message
        if problem:
            yield f"{block.key}: {problem}"


def _staleness(page: Page, block: Block, stamp: stamps.Stamp) -> str:
    """Return why a block is stale, empty if it is not.

    :raises LabError: a kernel or program of its runs is missing here
    """
    if stamp.runs is None and stamp.kernels:
        return "" if kernel_of(block) in stamp.kernels else f"made on another kernel ({', '.join(stamp.kernels)})"
    if stamp.runs is None:
        return "made from unknown runs"
    if block.kind == "table" and SOURCES[block.name].prepare is not None:
        return ""  # its kernel would have to be built
    now = stamps.digest_of(_identities(page, block))
    return "" if now == stamp.runs else f"made from other runs ({', '.join(stamp.kernels)})"


def _runs_something(page: Page, block: Block) -> bool:
    if block.kind == "table":
        return SOURCES[block.name].scenario is not None
    return bool(experiments_of(page, block))


def _identities(page: Page, block: Block) -> Iterator[str]:
    if block.kind == "table":
        scenario = SOURCES[block.name].scenario
        assert scenario is not None
        yield from _find_other_runs(load(scenario).runs)
    for experiment in experiments_of(page, block):
        yield from _find_other_runs(_load(page, experiment))


def _load(page: Page, experiment: Experiment) -> list[Run]:
    options = dict(experiment.options)
    overrides = [value for name, value in experiment.options if name == "--set"]
    seed, repeats = (int(options[name]) if name in options else None for name in ("--seed", "--repeats"))
    file = ROOT / experiment.file
    if experiment.file in page.files:
        file = ROOT / "results" / "docs" / "stale" / experiment.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page.files[experiment.file])
        for example in (ROOT / "examples").glob("*.toml"):
            link = file.parent / example.name
            if not link.exists():
                link.symlink_to(example)
    return load(Path(file), overrides=overrides, seed=seed, repeats=repeats).runs


def _find_other_runs(runs: list[Run]) -> Iterator[str]:
    engines = prepare_engines(runs)
    for run in runs:
        yield prepare_job(run, engines).identity.name


def main() -> None:
    """Print all problems, and exit with status 1 if ``make test`` would fail; stale blocks alone do not count."""
    known, wrong, old = stamps.load(), list[str](), list[str]()
    every = pages()
    tables = quotes.Tables(every, stamps.read_measured(), data.make_rows())
    for page in every:
        wrong += [*structure_problems(page, known), *prose_problems(page, tables)]
        old += [*changed_inputs(page, known), *stale(page, known)]
    for title, problems in (("wrong", wrong), ("stale", old)):
        print(f"{title}: {len(problems)}", *(f"  {problem}" for problem in problems), sep="\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
