# SPDX-License-Identifier: MIT
"""The rules of style: what vale reports and what it lets pass, and what happens where vale is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tools.style import __main__ as style

from mptcplab.errors import LabError, MissingError

#: Each sentence breaks one rule.
BAD = {
    "This column is no setting.": "IsNo",
    "The delay is that of the link.": "ThatOf",
    "Losses are\nthose of the queue.": "ThatOf",
    "List those that are built.": "ThoseThat",
    "Use the one that fits.": "ThoseThat",
    "It says whom to move.": "Whom",
    "Wait for so many seconds.": "SoMany",
    "Warn of outages that are none.": "Noun",
    "The fault was mended.": "Words",
}
GOOD = (
    "There is no path.",
    "It is no longer down, and is no faster than before.",
    "All of the links are up; that often happens.",
    "Name those, or this one. Who moves?",
    "So it is, and many are.",
)


def _alerts(capfd: pytest.CaptureFixture[str], *files: Path) -> list[tuple[str, int, str]]:
    """Return file, line and rule of each alert. Skips the test without vale."""
    if not style.vale_path().is_file():
        pytest.skip("vale is not built: `make check` builds it")
    status = style.main(["--all", *map(str, files)])
    lines = [line.split(":") for line in capfd.readouterr().out.splitlines()]
    assert status in (0, 1)
    return [(Path(words[0]).name, int(words[1]), words[3].removeprefix("Mptcplab.")) for words in lines]


def test_each_rule_reports_its_sentence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = {}
    for number, sentence in enumerate(BAD):
        file = tmp_path / f"page-{number}.md"
        file.write_text(f"# Page\n\nBefore. {sentence} After.\n")
        files[file.name] = BAD[sentence]
    sentences = {name: rule for name, _, rule in _alerts(capfd, *tmp_path.glob("*.md"))}
    assert sentences == files


def test_good_english_and_code_pass(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    fence = "```text\nthat of the link\n```\n"
    (tmp_path / "page.md").write_text("\n\n".join(["# Page", *GOOD, "Write `those that`.", fence]))
    (tmp_path / "module.py").write_text(
        '"""A module."""\n\n# A comment.\nthose_that = {"whose": len("there is no path")}\n'
    )
    assert _alerts(capfd, *tmp_path.iterdir()) == []


def test_comments_docstrings_and_messages_are_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        '"""Return that of a link."""\n\nVALUE = 1  # whom it concerns\n\n\n'
        'def check() -> None:\n    raise ValueError(f"{VALUE} is no number")\n'
    )
    assert sorted(_alerts(capfd, module)) == [
        ("module.py", 1, "ThatOf"),
        ("module.py", 3, "Whom"),
        ("module.py", 7, "IsNo"),
    ]


@pytest.mark.parametrize("name", ["file.c", "file.h"])
def test_comments_of_c_are_read(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """With their lines, and across lines of a block; strings and code are not."""
    (tmp_path / name).write_text(
        "/*\n * The delay of a link, and\n * those\n * that are longer.\n */\n"
        'const char *whom = "so many";\t/* to nobody */\n'
        "// This is no setting.\n"
        "/**\n * f() - wait\n * @n: for so many seconds\n */\nvoid f(int n);\n"
    )
    assert sorted(_alerts(capfd, tmp_path / name)) == [
        (name, 3, "ThoseThat"),
        (name, 6, "Whom"),
        (name, 7, "IsNo"),
        (name, 10, "SoMany"),
    ]


def test_descriptions_of_patches_are_read(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The diff is not: its context is of the files that it changes."""
    patch = tmp_path / "0001-change.patch"
    patch.write_text(
        "From: mptcplab\nSubject: [PATCH] mptcp: list those that are open\n\nThe state is that\nof the link.\n---\n"
        "--- a/file.c\n+++ b/file.c\n@@ -1,2 +1,4 @@\n /* This is no setting. */\n+\n+/* for whom */\n+\n int n;\n"
    )
    assert sorted(_alerts(capfd, patch)) == [(patch.name, 2, "ThoseThat"), (patch.name, 4, "ThatOf")]


def test_rules_are_errors_and_fail_the_check(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`make check` prints errors only, and ends with status 1 if there is one."""
    page = tmp_path / "page.md"
    page.write_text("The delay is that of the link.\n")
    assert _alerts(capfd, page)
    assert style.main([str(page)]) == 1
    page.write_text("The delay is the link's.\n")
    assert style.main([str(page)]) == 0


def test_no_module_of_the_package_is_left_out() -> None:
    """Modules whose bytes name recordings were, until their words followed the rules."""
    assert "src/mptcplab/guest/counters.py" in style.list_files()
    assert "[src/" not in (style.ROOT / ".vale.ini").read_text()


def test_what_is_checked_exists() -> None:
    files = style.list_files()
    for part in (
        "README.md",
        "docs/scenario.md",
        "docs/decisions/0034-style-checker.md",
        "src/mptcplab/cli/commands/experiments.py",
        "examples/ride/make_traces.py",
        "packages/mptcplab-ssh/tests/ssh/stock.py",
        "tests/unit/tools/test_style.py",
        "kernel/net/mptcp/coupled.c",
        "bpf/coupled.bpf.h",
        "tools/flow/conn.c",
        "kernel/patches/0010-mptcp-blocked-window.patch",
    ):
        assert part in files
    assert {Path(name).suffix for name in files} == {".md", ".py", ".c", ".h", ".patch"}


def test_only_files_that_changed_are_checked_again(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is kept while a file fails, so that it fails again."""
    passed = tmp_path / "passed"
    checker = [sys.executable, "-c", "import sys; print(*sys.argv[1:]); sys.exit('bad.md' in sys.argv)"]

    def check(*names: str) -> tuple[int, str]:
        return style.check_changed(checker, list(names), tmp_path, passed), capfd.readouterr().out.strip()

    for name in ("a.md", "b.md", "bad.md"):
        (tmp_path / name).write_text("same")
    assert check("a.md", "b.md", "bad.md") == (1, "a.md b.md bad.md")
    assert check("a.md", "bad.md") == (1, "a.md bad.md")
    assert check("a.md", "b.md") == (0, "a.md b.md")
    assert check("a.md", "b.md") == (0, ""), "both have passed"
    (tmp_path / "b.md").write_text("changed")
    assert check("a.md", "b.md") == (0, "b.md")


def test_changed_rules_check_all_files_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "rules"
    rules.mkdir()
    (tmp_path / "a.md").touch()
    monkeypatch.setattr(style, "RULES", rules)
    for text in ("first", "second"):
        (rules / "Rule.yml").write_text(text)
        assert style.check_changed(["echo"], ["a.md"], tmp_path, tmp_path / "passed") == 0
        assert capfd.readouterr().out.strip() == "a.md", text


@pytest.mark.parametrize(
    "error",
    [MissingError("vale needs Go 1.25 or later", hint="none"), LabError("vale could not be built", hint="see log")],
)
def test_without_vale_the_check_is_skipped(
    error: LabError, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither an old Go nor a registry that does not answer stops somebody who changes code."""

    def build_vale() -> Path:
        raise error

    monkeypatch.setattr(style, "build_vale", build_vale)
    assert style.main([]) == 0
    text = capsys.readouterr().err
    assert "style check is skipped" in text
    assert error.message in text
    assert f"hint: {error.hint}" in text or "Go 1.25" in text
