# SPDX-License-Identifier: MIT
"""The mistakes in ``bad/``: the error of loading each file, and the expectation in its head.

A head is ``# expect: LINE: KEY: KIND`` (without parts that the error lacks; with a file's name before the line if the
mistake is in another file), and ``# set:`` with an argument of ``--set`` if that has the mistake.
``bad/messages.txt`` has a reviewed selection of complete messages and hints.

    python -m tests.unit.bad_files    rewrite heads and messages; review the difference before you commit it
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mptcplab.scenario.document import ScenarioError
from mptcplab.scenario.load import load

BAD = Path(__file__).parent / "bad"
FILES = sorted(BAD.glob("*.toml"))
MESSAGES = BAD / "messages.txt"


def head(file: Path) -> dict[str, str]:
    """Return ``expect``, and ``set`` if there is one."""
    return dict(re.findall(r"^# (expect|set): (.*)$", file.read_text(), re.MULTILINE))


def refusal(file: Path) -> ScenarioError:
    """Return the error of loading ``file``; fail if it loads, or without a kind of error."""
    overrides = [value for key, value in head(file).items() if key == "set"]
    with pytest.raises(ScenarioError) as caught:
        load(file, overrides=overrides)
    return caught.value


def summary(file: Path, error: ScenarioError) -> str:
    """Return place, key and kind of ``error`` in the form of a head."""
    place = re.sub(rf"^{re.escape(str(file))}:?|^{re.escape(str(BAD))}/", "", str(error.place))
    return ": ".join(part for part in (place, error.key, error.kind) if part)


def describe(file: Path, error: ScenarioError) -> str:
    """Return message and hint in the form of :data:`MESSAGES`, without the folder."""
    text = f"{file.stem}\n  {error.message}\n  hint: {error.hint}\n"
    return text.replace(f"{BAD}/", "")


def reviewed() -> dict[str, str]:
    """Return the blocks of :data:`MESSAGES` by the stem of their file."""
    return {block.split("\n")[0]: block for block in re.findall(r"^\S.*\n(?:  .*\n)+", MESSAGES.read_text(), re.M)}


def _rewrite(file: Path) -> None:
    lines = file.read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line.startswith("# expect: "))
    lines[at] = f"# expect: {summary(file, refusal(file))}\n"
    file.write_text("".join(lines))


if __name__ == "__main__":
    for bad in FILES:
        _rewrite(bad)
    MESSAGES.write_text("\n".join(describe(bad, refusal(bad)) for bad in FILES if bad.stem in reviewed()))
