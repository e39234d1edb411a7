# SPDX-License-Identifier: MIT
"""Documentation says what is so: its reference is made from the models, its scenarios load, its links lead on."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from mptcplab.metrics import reference as metric_reference
from mptcplab.metrics.network import SCOPES
from mptcplab.metrics.registry import METRICS
from mptcplab.plan.compile import compile_plan
from mptcplab.scenario import reference
from mptcplab.scenario.load import load

ROOT = Path(__file__).resolve().parents[3]
#: Every scenario has a title; configurations of programs have none.
EXAMPLES = sorted(file for file in (ROOT / "examples").rglob("*.toml") if "title = " in file.read_text())
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^( *)```toml\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^\]\n]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def _name(file: Path) -> str:
    return str(file.relative_to(ROOT))


def _scenarios() -> Iterator[tuple[str, str]]:
    """TOML blocks that are whole scenarios: the ones with a title."""
    for page in PAGES:
        text = page.read_text()
        for match in _FENCE.finditer(text):
            indent, block = match[1], match[2]
            if indent:
                block = "\n".join(line.removeprefix(indent) for line in block.splitlines())
            if "title" in tomllib.loads(block):
                line = text.count("\n", 0, match.start()) + 1
                yield f"{_name(page)}:{line}", block


def _anchors(page: Path) -> set[str]:
    """Anchors as GitHub makes them."""
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(text))
    return {heading.strip().replace(" ", "-") for heading in plain}


def test_there_is_something_to_test() -> None:
    assert len(EXAMPLES) >= 17
    assert len(list(_scenarios())) >= 5


def test_tables_of_metrics_are_up_to_date() -> None:
    """Every metric of the lab stands in one of them."""
    text = (ROOT / "docs" / "metrics.md").read_text()
    assert text == metric_reference.replace(text), "run: python -m mptcplab.metrics.reference --write docs/metrics.md"
    documented = {*(metric.section for metric in METRICS.values()), *(scope.name for scope in SCOPES)}
    assert documented == set(metric_reference.sections(text))


def test_reference_is_up_to_date() -> None:
    page = ROOT / "docs" / "scenario.md"
    text = page.read_text()
    assert text == reference.replace(text), "run: python -m mptcplab.scenario.reference --write docs/scenario.md"


def test_every_key_has_a_meaning() -> None:
    rows = [line.split(" | ") for line in reference.reference().splitlines() if line.startswith("| `")]
    assert len(rows) > 40
    assert [row[0] for row in rows if not row[-1].strip(" |")] == []


@pytest.mark.slow
@pytest.mark.parametrize("file", EXAMPLES, ids=_name)
def test_example_compiles_at_every_point(file: Path) -> None:
    experiment = load(file)
    if file.parent in (ROOT / "examples", ROOT / "examples" / "ride"):
        assert len(experiment.runs) <= 30, "an example for reading runs in a few seconds"
    for point in experiment.points:
        assert compile_plan(point.scenario, seed=1).programs


@pytest.fixture(scope="module")
def beside_examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all examples, which scenarios of pages extend."""
    folder = tmp_path_factory.mktemp("examples")
    for example in (*EXAMPLES, *(ROOT / "examples").rglob("*.csv")):
        shutil.copy(example, folder)
    return folder


@pytest.mark.parametrize(("place", "text"), [pytest.param(*case, id=case[0]) for case in _scenarios()])
def test_scenario_in_a_page_loads(place: str, text: str, beside_examples: Path) -> None:
    file = beside_examples / "page.toml"
    file.write_text(text)
    for point in load(file).points:
        assert compile_plan(point.scenario, seed=1).programs, place


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(page.read_text()):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        other = (page.parent / path).resolve() if path else page
        assert other.exists(), f"{_name(page)}: {target}"
        if anchor:
            assert anchor in _anchors(other), f"{_name(page)}: {target}"
