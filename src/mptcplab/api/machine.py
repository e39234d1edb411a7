# SPDX-License-Identifier: MIT
"""Find what this machine lacks for experiments that are named: scenario files, packs, studies and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from mptcplab.api.beds import plan_beds
from mptcplab.api.sources import Changes, open_source, override_texts
from mptcplab.cache import check_cache
from mptcplab.campaign.failures import find_missing, install_command
from mptcplab.campaign.record import check_capabilities
from mptcplab.doctor.lacks import Lacks, collect_lacks
from mptcplab.engine.defaults import DEFAULT_ENGINE
from mptcplab.errors import InputError
from mptcplab.packs import is_url
from mptcplab.scenario.examples import MARK, find_example
from mptcplab.scenario.load import Run, load
from mptcplab.study.library import select, study_names, table_job


def find_lacks(
    names: str | Path | Sequence[str | Path],
    *,
    set: Changes = (),
    engine: str = DEFAULT_ENGINE,
    beds: int | None = None,
) -> Lacks:
    """Return what this machine lacks for experiments, each thing once, with the commands that get it.

    ``names`` are scenario files, packs, addresses of either, examples such as ``@two-paths``, and studies or tables
    such as ``nguyen2014/rtt``. ``set`` changes keys of each, ``engine`` will execute the runs, and ``beds`` is the
    number of test beds of :func:`mptcplab.api.reproduce_beds`. The result is false if nothing is missing. Nothing is
    installed.

    :raises InputError: if there is no such file or study, or it is wrong, or the engine cannot execute its runs.
    :raises MissingError: if the cache folder cannot be written: nothing can be built without it.
    """
    overrides = override_texts(set)
    texts = [str(names)] if isinstance(names, (str, Path)) else [str(name) for name in names]
    runs = {user: some for name in dict.fromkeys(texts) for user, some in _runs(name, overrides, engine, beds)}
    for some in runs.values():
        check_capabilities(some, name=engine)
    check_cache()
    lacking = {user: find_missing(some, engine=engine) for user, some in runs.items()}
    return collect_lacks(lacking, install_command(texts, overrides, engine=engine, beds=beds))


def _runs(name: str, overrides: tuple[str, ...], engine: str, beds: int | None) -> Iterator[tuple[str, list[Run]]]:
    """Yield the runs of a scenario file, or of each table of a study, with the name of the file or table."""
    if name.startswith(MARK) and not Path(name).is_file():
        yield name, load(find_example(name[1:]), overrides=overrides).runs
        return
    if name.partition("/")[0] in study_names() and not Path(name).is_file():
        tables = select(name)
        if beds is not None:
            yield from plan_beds(tables, beds, overrides, quick=False).runs_of_tables.items()
            return
        for selected in tables:
            yield selected.name, table_job(selected, overrides, quick=False).runs
        return
    if not Path(name).is_file() and not name.endswith(".toml") and not is_url(name):
        hint = f"name a scenario file, or one of {', '.join(study_names())}"
        raise InputError(f"'{name}' is neither a scenario file nor a study", hint=hint)
    if beds is not None:
        raise InputError(f"--beds is for studies, and {name} is a scenario file", hint="leave out --beds")
    with open_source(name, overrides=overrides, engine=engine) as source:
        yield name, source.experiment.runs
