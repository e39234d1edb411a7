# SPDX-License-Identifier: MIT
"""The paper: a page whose numbers are checked like the numbers of all others, and a PDF of about four pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

pytest.importorskip("markdown", reason="the extra `paper` is not installed")

from tools.docs.making import pages, quotes
from tools.docs.paper.__main__ import ROOT, SOURCE, to_html, write_pdf

TEXT = SOURCE.read_text()


def test_its_results_are_quoted() -> None:
    """Every decimal number, and every number of values or goodputs, comes from a table."""
    page = pages.Page(SOURCE)
    assert SOURCE in {other.file for other in pages.pages()}, "its quotes are not checked with the others"
    quoted = sum(quote.written is not None for quote in quotes.quotes_of(page))
    assert quoted >= 25, f"{quoted} numbers are quoted"
    prose = re.sub(r"```.*?```|^\|.*?$|^## References.*\Z|^!\[.*?$", "", TEXT, flags=re.MULTILINE | re.DOTALL)
    typed = re.findall(r"(?<![\w.§-])\d+\.\d+(?!\d*<!-- =|\.\d|\d)", re.sub(r"^#+ .*$", "", prose, flags=re.MULTILINE))
    # Linux 7.2 and Python 3.11 are names; the quotes' own expressions have limits.
    outside = [number for number in typed if not re.search(rf"<!--[^>]*{re.escape(number)}[^>]*-->", prose)]
    assert set(outside) <= {"7.2", "3.11"}, f"typed numbers: {outside}"


def test_every_reference_is_used() -> None:
    body, _, references = TEXT.partition("## References")
    numbers = set(re.findall(r"^(\d+)\. ", references, re.MULTILINE))
    assert len(numbers) >= 10
    assert set(re.findall(r"\[(\d+)\]", body)) == numbers


def test_its_html_has_what_the_page_has() -> None:
    html = to_html(TEXT)
    assert "<!--" not in html, "marks of the documentation are visible"
    assert html.count("<figure>") == TEXT.count("\n![") == 3
    assert html.count("<h2>") == len(re.findall("^## ", TEXT, re.MULTILINE))
    assert "<title>mptcplab: Multipath TCP experiments in virtual time</title>" in html


def test_the_citation_names_it() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())["preferred-citation"]
    assert f"# {cited['title']}\n" in TEXT


@pytest.mark.slow
def test_it_is_four_pages(tmp_path: Path) -> None:
    """And the same bytes when it is made again."""
    pytest.importorskip("weasyprint", reason="the extra `paper` is not installed")
    files = [tmp_path / "one.pdf", tmp_path / "two.pdf"]
    counts = [write_pdf(file) for file in files]
    assert counts == [4, 4], f"{counts[0]} pages"
    assert files[0].read_bytes() == files[1].read_bytes()
