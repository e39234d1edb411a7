# SPDX-License-Identifier: MIT
"""Deprecated keys work as their successors do, wherever they are written, and warn; nothing warns without one."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from mptcplab.scenario import deprecated
from mptcplab.scenario.deprecated import DeprecatedKeyWarning, RenamedKey
from mptcplab.scenario.document import ScenarioError
from mptcplab.scenario.load import load

ROOT = Path(__file__).resolve().parents[3]
#: As if `rate` had once been called `speed`.
SPEED = RenamedKey(("links", "*", "speed"), "rate", "1.3.0")
SCENARIO = """
title = "x"
topology.preset = "disjoint-paths"
links.link1.{key} = "10 Mbit/s"
workloads.bulk = {{ kind = "flow", from = "client", to = "server", duration = "1 s" }}
"""


@pytest.fixture(autouse=True)
def _rename_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deprecated, "RENAMED", (SPEED,))


def _write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "s.toml"
    file.write_text(text)
    return file


def test_the_former_name_means_the_same_and_warns_with_its_line(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = load(_write(tmp_path, SCENARIO.format(key="rate"))).points[0].scenario
    file = _write(tmp_path, SCENARIO.format(key="speed"))
    with pytest.warns(DeprecatedKeyWarning) as caught:
        assert load(file).points[0].scenario == expected
    assert {str(warning.message) for warning in caught} == {
        f"{file}:4: links.link1.speed is deprecated since version 1.3.0, and will be removed; use `rate`"
    }


@pytest.mark.parametrize("place", ["sweep", "command line", "pattern"])
def test_it_works_wherever_a_key_can_be_set(tmp_path: Path, place: str) -> None:
    text = SCENARIO.format(key="delay").replace("10 Mbit/s", "10 ms")
    sweeps, overrides = {
        "sweep": ('[sweep]\n"links.link1.speed" = ["1 Mbit/s", "2 Mbit/s"]\n', ()),
        "command line": ("", ("links.link1.speed=1 Mbit/s",)),
        "pattern": ('[sweep]\n"links.link*.speed" = ["1 Mbit/s", "2 Mbit/s"]\n', ()),
    }[place]
    with pytest.warns(DeprecatedKeyWarning, match=r"links\.link1\.speed is deprecated"):
        points = load(_write(tmp_path, text + sweeps), overrides=overrides).points
    rates = [link.forward.rate for point in points for name, link in point.scenario.links.items() if name == "link1"]
    assert [rate and rate / 1e6 for rate in rates] == [1.0, 2.0][: len(points)]


def test_both_names_are_a_mistake(tmp_path: Path) -> None:
    text = SCENARIO.format(key="speed") + 'links.link1.rate = "5 Mbit/s"\n'
    with pytest.raises(ScenarioError, match="is the former name of `rate`, which is set as well"):
        load(_write(tmp_path, text))


@pytest.mark.slow
def test_the_command_line_prints_a_sentence(tmp_path: Path) -> None:
    file = _write(tmp_path, SCENARIO.format(key="speed"))
    program = (
        "import sys; from mptcplab.scenario import deprecated as d; "
        "d.RENAMED = (d.RenamedKey(('links', '*', 'speed'), 'rate', '1.3.0'),); "
        f"sys.argv = ['mptcplab', 'show', {str(file)!r}]; from mptcplab.cli.main import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        f"mptcplab: warning: {file}:4: links.link1.speed is deprecated since version 1.3.0, and will be removed; "
        "use `rate`"
    ]


def test_the_changelog_lists_what_is_deprecated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    text = (ROOT / "CHANGELOG.md").read_text()
    listed = " ".join(re.findall(r"^### Deprecated\n(.*?)^##", text, re.MULTILINE | re.DOTALL))
    assert [key.pattern for key in deprecated.RENAMED if f"`{key.pattern[-1]}`" not in listed] == []
