# SPDX-License-Identifier: MIT
"""The mistakes in ``bad/``: what loading each says, and what its head expects.

A head is ``# expect: LINE: KEY: KIND`` (without what an error has not; with the file's name before the line when
another file is to blame), and ``# set:`` with an argument of ``--set`` where the mistake is there.
``bad/messages.txt`` has some of the messages and hints, word for word.

    python -m tests.unit.bad_files    write the heads and messages anew; read the difference before you commit it
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
    """``expect``, and ``set`` if there is one."""
    return dict(re.findall(r"^# (expect|set): (.*)$", file.read_text(), re.MULTILINE))


def refusal(file: Path) -> ScenarioError:
    """What loading ``file`` ends with; fails when it is loaded, or refused without a kind."""
    overrides = [value for key, value in head(file).items() if key == "set"]
    with pytest.raises(ScenarioError) as caught:
        load(file, overrides=overrides)
    return caught.value


def summary(file: Path, error: ScenarioError) -> str:
    """Place, key and kind of ``error``, as a head has them."""
    place = re.sub(rf"^{re.escape(str(file))}:?|^{re.escape(str(BAD))}/", "", str(error.place))
    return ": ".join(part for part in (place, error.key, error.kind) if part)


def described(file: Path, error: ScenarioError) -> str:
    """Message and hint as :data:`MESSAGES` has them, with the folder cut off."""
    text = f"{file.stem}\n  {error.message}\n  hint: {error.hint}\n"
    return text.replace(f"{BAD}/", "")


def reviewed() -> dict[str, str]:
    """The blocks of :data:`MESSAGES`, by the stem of their file."""
    return {block.split("\n")[0]: block for block in re.findall(r"^\S.*\n(?:  .*\n)+", MESSAGES.read_text(), re.M)}


def _write_anew(file: Path) -> None:
    lines = file.read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line.startswith("# expect: "))
    lines[at] = f"# expect: {summary(file, refusal(file))}\n"
    file.write_text("".join(lines))


if __name__ == "__main__":
    for bad in FILES:
        _write_anew(bad)
    MESSAGES.write_text("\n".join(described(bad, refusal(bad)) for bad in FILES if bad.stem in reviewed()))
