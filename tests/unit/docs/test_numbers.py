# SPDX-License-Identifier: MIT
"""Numbers of the documentation: made by scripts, quoted as the tables have them; and what finds others."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from tools.docs import check, refresh
from tools.docs.figures import coupled_api
from tools.docs.making import commands, console, data, measure, pages, quotes, rows, stamps, work
from tools.docs.making.pages import ROOT, Page
from tools.docs.making.sources import SOURCES

PAGES = pages.pages()
TABLES = quotes.Tables(PAGES, stamps.read_measured(), data.make_rows())
_IMAGE = re.compile(r"!\[[^\]\n]*\]\(([^)\s]+\.svg)\)")
_TABLE = """# A page

<!-- table some-table -->
| control | rate | delay (ms) | n |
| --- | --- | --- | --- |
| reno | 4.70 ± 0.20 (4.50, 4.60) | 10.0 ± 1.0 | 3 |
| lia | 3.82 ± 0.10 (4.00) | 12.5 ± 0.5 | 3 |
<!-- end of table some-table -->

"""


def _page(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Page:
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    file = tmp_path / "page.md"
    file.write_text(text)
    return Page(file)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_number_is_typed(page: Page) -> None:
    assert list(check.structure_problems(page, stamps.load())) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_prose_fits_its_tables(page: Page) -> None:
    assert list(check.prose_problems(page, TABLES)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_blocks_are_made_from_has_not_changed(page: Page) -> None:
    assert list(check.changed_inputs(page, stamps.load())) == []


def test_the_digest_of_a_folder_changes_with_every_file_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stamps, "ROOT", tmp_path)
    (tmp_path / "measured" / "ride").mkdir(parents=True)
    digests = []
    for name, text in (("two-paths.json", "1"), ("ride/train.json", "1"), ("ride/train.json", "2")):
        (tmp_path / "measured" / name).write_text(text)
        digests.append(stamps.digests([tmp_path / "measured"])["measured"])
    (tmp_path / "measured" / "two-paths.json").rename(tmp_path / "measured" / "transfer.json")
    digests.append(stamps.digests([tmp_path / "measured"])["measured"])
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize("name", [name for name, source in SOURCES.items() if source.is_cheap])
def test_block_that_costs_nothing_is_up_to_date(name: str) -> None:
    (block,) = (block for page in PAGES for block in page.blocks if block.kind == "table" and block.name == name)
    assert block.text == SOURCES[name].make(ROOT), f"run: python -m tools.docs.refresh {block.page.relative_to(ROOT)}"


def test_every_table_that_a_script_makes_is_on_a_page() -> None:
    there = {block.name for page in PAGES for block in page.blocks if block.kind == "table"}
    assert set(SOURCES) - there == set()


def test_every_figure_has_a_command() -> None:
    for page in PAGES:
        described = re.findall(r"^<!-- figure (\S+) ", page.text, re.MULTILINE)
        made = {(page.file.parent / target).resolve() for target in described}
        shown = {(page.file.parent / target).resolve() for target in _IMAGE.findall(page.text)}
        assert shown - made == set(), f"{page.name}: nothing draws these"


def test_scenarios_of_sources_have_folders_of_their_own() -> None:
    scenarios = {source.scenario for source in SOURCES.values() if source.scenario}
    assert len({scenario.stem for scenario in scenarios}) == len(scenarios)


def test_quoted_values_are_measured_by_a_test() -> None:
    names = {name for names in measure.tests().values() for name in names}
    patterns = [re.compile(re.sub(r"\\\{.*?\\\}", ".+", re.escape(name))) for name in names]
    quoted = {name for page in PAGES for name in re.findall(r"\[measured: ([^\]]+)\]", page.text)} - {"NAME"}
    assert quoted
    assert [name for name in quoted if not any(pattern.fullmatch(name) for pattern in patterns)] == []


def test_typed_number_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = _page(tmp_path, _TABLE, monkeypatch)
    (block,) = page.blocks
    known = {block.key: stamps.Stamp(block.digest)}
    monkeypatch.setitem(SOURCES, "some-table", SOURCES["capturing"])
    assert list(check.structure_problems(page, known)) == []
    changed = _page(tmp_path, _TABLE.replace("4.70", "4.71"), monkeypatch)
    (problem,) = check.structure_problems(changed, known)
    assert "typed" in problem


@pytest.mark.parametrize(
    ("mark", "count"), [("", 1), ("<!-- typed: published values -->\n", 0), ("<!-- some comment -->\n", 1)]
)
def test_table_without_a_script_is_found(
    mark: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"# A page\n\n{mark}| what | rate |\n| --- | --- |\n| tcp | 94.6 Mbit/s |\n"
    assert len(pages.typed_tables(_page(tmp_path, text, monkeypatch))) == count


@pytest.mark.parametrize(
    ("sentence", "problem"),
    [
        ("takes 3.8<!-- = [rate @ lia] -->", None),
        ("takes 3.9<!-- = [some-table: rate @ lia] -->", "the page says 3.9"),
        ("takes 81<!-- = 100 * [rate @ lia] / [rate @ reno] --> %", None),
        ("at most 12.5<!-- = max([delay (ms) @ *]) -->", None),
        ("the models say 4.60<!-- = expected([rate @ reno], 1) -->", None),
        ("1 is in it<!-- holds covers([rate @ reno], 4.5) -->", None),
        ("1 is in it<!-- holds covers([rate @ *], 4.5) -->", "no longer holds"),
        ("apart<!-- holds apart([rate @ *]) and [rate @ lia] < [rate @ reno] -->", None),
        ("apart<!-- holds apart([delay (ms) @ *]) and 1 > 2 -->", "no longer holds"),
        ("takes 1<!-- = [rate @ olia] -->", "has no cell"),
        ("takes 1<!-- = [speed @ lia] -->", "has no column"),
        ("takes 1<!-- = [other: rate @ lia] -->", "has no column"),
        ("takes 1<!-- = [measured: nothing] -->", "no test has measured"),
        ("takes 1<!-- = __import__('os') -->", "not allowed"),
        ("code `1<!-- = [rate @ nobody] -->` is no quote", None),
    ],
)
def test_quote(sentence: str, problem: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = _page(tmp_path, _TABLE + sentence + "\n", monkeypatch)
    tables = quotes.Tables([page], {})
    problems = [quotes.problem(quote, tables) for quote in quotes.quotes_of(page)]
    print(problems)
    if problem is None:
        assert set(problems) <= {None}
    else:
        assert len(problems) == 1
        assert problem in (problems[0] or "")


def test_quotes_are_written_as_the_table_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = _page(
        tmp_path, f"{_TABLE}It takes 9.9<!-- = [rate @ lia] -->, of 4.70<!-- = [rate @ reno] -->.\n", monkeypatch
    )
    monkeypatch.setattr(refresh, "pages", lambda: [page])
    assert refresh.write_quotes(page) == 1
    assert "It takes 3.8<!-- = [rate @ lia] -->, of 4.70<!--" in page.file.read_text()


def test_quotes_in_tables_are_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "It takes 9.9<!-- = [rate @ lia] -->.\n\n| a | b |\n| --- | --- |\n| x | 9.9<!-- = [rate @ lia] --> |\n"
    page = _page(tmp_path, _TABLE + lines, monkeypatch)
    monkeypatch.setattr(refresh, "pages", lambda: [page])
    assert refresh.write_quotes(page, in_tables_only=True) == 1
    text = page.file.read_text()
    assert "It takes 9.9<!--" in text
    assert "| x | 3.8<!--" in text


def test_number_before_a_quote_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = _page(tmp_path, f"{_TABLE}as much<!-- = [rate @ lia] -->\n", monkeypatch)
    with pytest.raises(quotes.QuoteError, match="no number stands before"):
        list(quotes.quotes_of(page))


OUTPUT = """done    seed 1: 10.3 s of virtual time in 1.5 s (1 of 1)
A title

  protocol   rate
 ─────────────────
  tcp        94.57
  mptcp      185.0

  One run.
""".splitlines()


def test_output_that_a_page_shows_gets_new_numbers_only() -> None:
    shown = ["...", "  protocol   rate", " ────────────────", "  tcp        90.00", "  mptcp      99.0", "..."]
    now = console.update(shown, OUTPUT, "command")
    assert now == ["...", "  protocol   rate", " ─────────────────", "  tcp        94.57", "  mptcp      185.0", "..."]


def test_lines_of_the_wall_clock_are_kept() -> None:
    shown = ["done    seed 1: 10.3 s of virtual time in 9.9 s (1 of 1)", "A title", "..."]
    assert console.update(shown, OUTPUT, "command") == shown


def test_line_that_is_not_printed_any_more_is_named() -> None:
    with pytest.raises(console.ChangedOutputError, match=r"no line like 'udp        5\.0'"):
        console.update(["...", "  udp        5.0", "..."], OUTPUT, "command")


def test_rows_are_filled_from_results(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(
        '{"rows": [{"settings": {"transport.protocol": "tcp"}, "workload": "bulk", "mptcp": "no",'
        '"goodput_mbps": {"mean": 94.567, "ci95_half_width": null, "n": 1}, "shares": {"access1>link1": 1.0},'
        '"metrics": {"gap_s": {"mean": 1.5, "ci95_half_width": 0.25, "n": 3}}}]}'
    )
    head = "| protocol | goodput Mbit/s | gap s | restored s | share of link1 % |\n| --- | ---: | --- | --- | --- |\n"
    made = rows.fill(f"{head}| tcp | 1 | 2 | 3 | 4 |\n", tmp_path)
    assert made == f"{head}| tcp | 94.57 | 1.50 ± 0.25 |  | 100 |\n"
    in_ms = "| protocol | gap ms | goodput kbit/s |\n| --- | --- | --- |\n"
    assert rows.fill(f"{in_ms}| tcp | 1 | 2 |\n", tmp_path) == f"{in_ms}| tcp | 1500 ± 250 | 94567 |\n"
    with pytest.raises(ValueError, match="is not a column of a table"):
        rows.fill("| protocol | speed |\n| --- | --- |\n", tmp_path)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("mptcplab run examples/two-paths.toml --repeats 5", None),
        ("mptcplab run examples/no-lines.toml", "there is no examples/no-lines.toml"),
        ("mptcplab walk my.toml", "no command walk"),
        ("mptcplab run my.toml --repeat 5", "no option --repeat"),
        ("mptcplab kernel path --tree", None),
        ("mptcplab kernel path --trees", "no option --trees"),
        ("mptcplab exec --on client -- ping -c 3 10.0.2.2", None),
        ("make docs", None),
        ("make dogs", "no target dogs"),
        ("python -m tools.docs.refresh", None),
        ("python -m docs.refreshed", "no module docs.refreshed"),
        ("mptcplab run a.toml && mptcplab campare a b", "no command campare"),  # codespell:ignore campare
    ],
)
def test_command_of_a_page_is_checked(line: str, problem: str | None) -> None:
    message = commands.problem(line, PAGES[0])
    assert (message is None) if problem is None else problem in (message or ""), message


@pytest.mark.parametrize(("inputs", "problems"), [(None, 1), ({}, 0)])
def test_block_that_was_adopted_is_stale(inputs: dict[str, str] | None, problems: int) -> None:
    """Also a block that no scenario makes, about which identities of runs say nothing."""
    (page,) = (page for page in PAGES if page.name == "docs/machine.md")
    (block,) = (block for block in page.blocks if block.name == "settings")
    reasons = list(check.stale(page, {block.key: stamps.Stamp(block.digest, inputs=inputs)}))
    assert len(reasons) == problems, reasons


@pytest.mark.parametrize(("kernel", "problems"), [("7.2-new", 0), ("7.2-old", 1)])
def test_block_of_another_kernel_is_stale(kernel: str, problems: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks whose programs run in the lab without a scenario: a program, a selftest."""
    monkeypatch.setattr(work, "find_kernel", lambda: SimpleNamespace(path=Path("kernels/7.2-new")))
    reasons = []
    for name, wanted in (("docs/machine.md", "settings"), ("docs/kernel-developers.md", "selftests")):
        (page,) = (page for page in PAGES if page.name == name)
        (block,) = (block for block in page.blocks if block.name == wanted)
        assert work.kernel_of(block) == "7.2-new"
        stamp = stamps.Stamp(block.digest, kernels=(kernel,), inputs={})
        reasons += [reason for reason in check.stale(page, {block.key: stamp}) if "another kernel" in reason]
    assert len(reasons) == 2 * problems, reasons


def test_functions_of_the_guide_are_those_of_the_header() -> None:
    guide = (ROOT / "docs" / "add-a-congestion-control.md").read_text()
    example = (ROOT / "examples" / "semicoupled" / "mptcp_semicoupled.c").read_text()
    used = {name for name in coupled_api.list_functions() if re.search(rf"\b{name}\b", example)}
    assert len(used) >= 6
    assert [name for name in used if f"`{name}`" not in guide.partition("<!-- table coupled-api")[0]] == []


def test_a_command_with_an_example_runs_its_file() -> None:
    """So a block of `@NAME` becomes stale when the example changes."""
    experiment = work.experiment_of("mptcplab run @two-paths --repeats 3")
    assert experiment == work.Experiment("examples/two-paths.toml", (("--repeats", "3"),), "results/two-paths")
