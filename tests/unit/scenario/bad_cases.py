# SPDX-License-Identifier: MIT
"""The mistakes in ``bad/``: tables of scenario files that a user may get wrong, by topic, and their errors.

A table is a text with one scenario after each line ``=== NAME``. A scenario's head is ``# expect: LINE: KEY: KIND``
(without parts that the error lacks; with a file's name before the line if the mistake is in another file), and
``# set:`` with an argument of ``--set`` if that has the mistake. ``bad/messages.txt`` has a reviewed selection of
complete messages and hints.

    python -m tests.unit.scenario.bad_cases    rewrite heads and messages; review the difference before you commit it
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

import pytest

from mptcplab.scenario.document import ScenarioError
from mptcplab.scenario.load import load

BAD = Path(__file__).parent / "bad"
TABLES = sorted(BAD.glob("*.cases"))
MESSAGES = BAD / "messages.txt"
_CASE = re.compile(r"^=== (\S+)\n(.*?)(?=^=== |\Z)", re.MULTILINE | re.DOTALL)


def read_cases() -> dict[str, str]:
    """Return the text of each case by name; fail if two have the same name."""
    pairs = [pair for table in TABLES for pair in _CASE.findall(table.read_text())]
    cases = dict(pairs)
    assert len(cases) == len(pairs), "two cases have the same name"
    return cases


CASES = read_cases()


def unpack_cases(folder: Path) -> None:
    """Write each case to ``folder`` as NAME.toml, beside the files that cases refer to."""
    shutil.copytree(BAD, folder, ignore=shutil.ignore_patterns("*.cases", MESSAGES.name), dirs_exist_ok=True)
    for name, text in CASES.items():
        (folder / f"{name}.toml").write_text(text)


def head(name: str) -> dict[str, str]:
    """Return ``expect``, and ``set`` if there is one."""
    return dict(re.findall(r"^# (expect|set): (.*)$", CASES[name], re.MULTILINE))


def refusal(file: Path) -> ScenarioError:
    """Return the error of loading ``file``, an unpacked case; fail if it loads, or without a kind of error."""
    overrides = [value for key, value in head(file.stem).items() if key == "set"]
    with pytest.raises(ScenarioError) as caught:
        load(file, overrides=overrides)
    return caught.value


def summary(file: Path, error: ScenarioError) -> str:
    """Return place, key and kind of ``error`` in the form of a head."""
    place = re.sub(rf"^{re.escape(str(file))}:?|^{re.escape(str(file.parent))}/", "", str(error.place))
    return ": ".join(part for part in (place, error.key, error.kind) if part)


def describe(file: Path, error: ScenarioError) -> str:
    """Return message and hint in the form of :data:`MESSAGES`, without the folder."""
    text = f"{file.stem}\n  {error.message}\n  hint: {error.hint}\n"
    return text.replace(f"{file.parent}/", "")


def read_blocks() -> dict[str, str]:
    """Return the blocks of :data:`MESSAGES` by the name of their case."""
    return {block.split("\n")[0]: block for block in re.findall(r"^\S.*\n(?:  .*\n)+", MESSAGES.read_text(), re.M)}


def _rewrite(folder: Path) -> None:
    for table in TABLES:
        text = table.read_text()
        for name, case in _CASE.findall(text):
            file = folder / f"{name}.toml"
            old = re.search(r"^# expect: .*$", case, re.MULTILINE)
            assert old, f"{name} has no line '# expect: '"
            now = case.replace(old[0], f"# expect: {summary(file, refusal(file))}", 1)
            text = text.replace(f"=== {name}\n{case}", f"=== {name}\n{now}")
        table.write_text(text)
    files = [folder / f"{name}.toml" for name in sorted(read_blocks())]
    MESSAGES.write_text("\n".join(describe(file, refusal(file)) for file in files))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        unpack_cases(Path(scratch))
        _rewrite(Path(scratch))
