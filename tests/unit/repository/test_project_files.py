# SPDX-License-Identifier: MIT
"""The files for contributors and their tools at the top of the repository agree with the package and its checks."""

from __future__ import annotations

import configparser
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from mptcplab import __version__

ROOT = Path(__file__).resolve().parents[3]
FILES = (
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "CITATION.cff",
    ".editorconfig",
    ".clang-format",
    ".pre-commit-config.yaml",
)
#: The sections of Keep a Changelog.
CHANGES = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
LICENCES = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"]["text"].split(" AND ")


def _read(name: str) -> str:
    return (ROOT / name).read_text()


def _checks() -> list[str]:
    """Return the commands of the targets that the Makefile's ``check`` makes."""
    makefile = _read("Makefile")
    targets = re.search(r"^CHECKS := (.+)$", makefile, re.MULTILINE)
    assert targets is not None
    commands = []
    for target in targets[1].split():
        rule = re.search(rf"^{target}:\n((?:\t.*\n)+)", makefile, re.MULTILINE)
        assert rule is not None, target
        commands += [line.strip().replace("$(BIN)", ".venv/bin") for line in rule[1].splitlines()]
    return commands


def test_the_citation_names_the_version_and_the_licence_of_the_package() -> None:
    citation = yaml.safe_load(_read("CITATION.cff"))
    required = {"cff-version", "message", "title", "authors"}
    assert required <= citation.keys()
    assert (citation["cff-version"], citation["type"]) == ("1.2.0", "software")
    assert (citation["title"].partition(":")[0], str(citation["version"])) == ("mptcplab", __version__)
    assert [list(author) for author in citation["authors"]] == [["name"]], "an entity: no person speaks for all"
    # A list would mean a choice of licences, so the field has the first, and the abstract names all.
    assert citation["license"] == LICENCES[0]
    assert [name for name in LICENCES if name not in citation["abstract"]] == []


@pytest.mark.parametrize("name", FILES)
def test_each_of_them_is_mentioned_where_people_look(name: str) -> None:
    guide = _read("CONTRIBUTING.md") if name != "CONTRIBUTING.md" else ""
    hooks = "`pre-commit install`" if name == ".pre-commit-config.yaml" else name
    assert hooks in _read("README.md") + guide


def test_the_readme_leads_to_every_page() -> None:
    links = set(re.findall(r"\]\(([\w.]+)\)", _read("README.md")))
    assert {name for name in FILES if name.endswith((".md", ".cff"))} <= links


def test_the_changelog_is_in_its_form() -> None:
    text = _read("CHANGELOG.md")
    versions = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert versions[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", version) for version in versions[1:])
    headings = re.findall(r"^### (.+)$", text, re.MULTILINE)
    assert set(headings) <= CHANGES
    assert "Added" in headings


def test_hooks_are_the_checks_of_make_and_fetch_nothing() -> None:
    hooks = [
        (repo["repo"], hook)
        for repo in yaml.safe_load(_read(".pre-commit-config.yaml"))["repos"]
        for hook in repo["hooks"]
    ]
    assert {(repo, hook["language"]) for repo, hook in hooks} == {("local", "system")}
    assert sorted(hook["entry"] for _, hook in hooks) == sorted(_checks())
    assert not any(hook["pass_filenames"] for _, hook in hooks), "checks are of the whole tree, as in make"


def test_editors_use_the_line_length_of_the_linter() -> None:
    config = configparser.ConfigParser()
    config.read_string("[top]\n" + _read(".editorconfig"))
    (python,) = (section for section in config.sections() if "py," in section)
    ruff = tomllib.loads(_read("pyproject.toml"))["tool"]["ruff"]
    assert config[python]["max_line_length"] == str(ruff["line-length"])


def test_editors_indent_c_as_the_kernel_does() -> None:
    style = yaml.safe_load(_read(".clang-format"))
    assert (style["UseTab"], style["IndentWidth"], style["BreakBeforeBraces"]) == ("Always", 8, "Linux")


def test_code_under_the_licence_of_the_kernel_is_what_becomes_part_of_a_kernel() -> None:
    """README.md and LICENSE say so of these two folders."""
    for file in sorted((ROOT / "bpf").rglob("*.[ch]")):
        assert "SPDX-License-Identifier: GPL-2.0-only" in file.read_text(), file
    for file in sorted((ROOT / "tools").rglob("*.[ch]")):
        assert "SPDX-License-Identifier: MIT" in file.read_text(), file
    for name in ("README.md", "LICENSE"):
        assert re.search(r"kernel/`?(,| and) `?bpf/", _read(name)), name
