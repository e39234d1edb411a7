# SPDX-License-Identifier: MIT
"""``python -m tools.docs.paper``: the paper as PDF, of docs/paper/paper.md. ``make paper`` calls it.

The page is Markdown like all others, so that its numbers are checked like theirs. WeasyPrint sets it in two columns.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import markdown

from mptcplab import __version__

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
SOURCE = ROOT / "docs" / "paper" / "paper.md"
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FIGURE = re.compile(r'<p><img alt="(?P<caption>[^"]*)" src="(?P<source>[^"]*)" */?></p>')


def to_html(text: str) -> str:
    """Return the page as HTML: the title and the abstract over both columns, each figure with its caption."""
    body = markdown.markdown(_COMMENT.sub("", text), extensions=["tables", "fenced_code"])
    body = _FIGURE.sub(r'<figure><img src="\g<source>" alt=""><figcaption>\g<caption></figcaption></figure>', body)
    head, separator, rest = body.partition("<h2>")
    assert separator, "the paper has no section"
    heading, _, abstract = head.partition("</h1>")
    byline = f"<p class='byline'>mptcplab contributors · describes version {__version__}</p>"
    parts = f"<header>{heading}</h1>{byline}<div class='abstract'>{abstract}</div></header><main><h2>{rest}</main>"
    return f"<!doctype html><html lang='en'><head><title>{_title(text)}</title></head><body>{parts}</body></html>"


def _title(text: str) -> str:
    return text.partition("\n")[0].removeprefix("# ")


def write_pdf(target: Path) -> int:
    """Write the PDF and return its number of pages. The same page gives the same bytes."""
    from weasyprint import CSS, HTML  # late: it loads libraries of Debian packages

    html = HTML(string=to_html(SOURCE.read_text()), base_url=str(SOURCE.parent))
    document = html.render(stylesheets=[CSS(filename=str(FOLDER / "paper.css"))])
    target.parent.mkdir(parents=True, exist_ok=True)
    document.write_pdf(str(target), pdf_identifier=b"mptcplab")
    return len(document.pages)


def main() -> None:
    """Write the PDF where the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs.paper", description="Make the paper as PDF.")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "paper" / "mptcplab.pdf", help="the file to write")
    out: Path = parser.parse_args().out
    pages = write_pdf(out)
    print(f"{out}: {pages} pages")


if __name__ == "__main__":
    main()
