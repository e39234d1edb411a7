# SPDX-License-Identifier: MIT
"""docs/first-scenario.md shows the files of examples/ride as they are, and the traces are what their maker makes."""

from __future__ import annotations

import re
import runpy
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
GUIDE = (ROOT / "docs" / "first-scenario.md").read_text()
RIDE = ROOT / "examples" / "ride"
FILES = sorted(RIDE.glob("*.toml"))
_LICENCE = "# SPDX-License-Identifier: MIT\n"


def test_the_guide_shows_every_file() -> None:
    shown = re.findall(r"^```toml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    assert len(FILES) == 9
    assert shown == [file.read_text().removeprefix(_LICENCE) for file in FILES]


def test_traces_are_made_by_their_maker(tmp_path: Path) -> None:
    copy = shutil.copy(RIDE / "make_traces.py", tmp_path)
    runpy.run_path(str(copy), run_name="__main__")
    made = sorted(tmp_path.glob("*.csv"))
    assert [file.name for file in made] == ["operator1.csv", "operator2.csv"]
    for file in made:
        assert file.read_text() == (RIDE / file.name).read_text()
    assert "\n".join((RIDE / "operator1.csv").read_text().splitlines()[:4]) in GUIDE
