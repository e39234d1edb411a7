# SPDX-License-Identifier: MIT
"""Run the sources of the documentation's blocks and rewrite them: ``python -m tools.docs.refresh [PAGE ...]``.

``make docs`` does this for all pages. Runs recorded below results/docs/ are not repeated, so an interrupted command
continues where it stopped. Afterwards it lists what no longer fits: numbers in prose (``--quotes`` writes them, once
you have read the sentences), claims, and outputs whose lines differ from the page.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.docs.check import prose_problems
from tools.docs.making import data, measure, quotes, stamps, work
from tools.docs.making.pages import Page, pages


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.docs.refresh", description=__doc__)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="docs/NAME.md; all when none is named")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="blocks whose names begin with NAME"
    )
    parser.add_argument("--quotes", action="store_true", help="run nothing; write the numbers that prose quotes")
    parser.add_argument("--figures", action="store_true", help="run nothing; draw the figures of what is there")
    parser.add_argument("--measured", action="store_true", help="also run the lab's tests whose values are quoted")
    parser.add_argument(
        "--accept", action="store_true", help="show the whole output of a command whose lines have changed"
    )
    parser.add_argument("--adopt", action="store_true", help="run nothing; stamp new blocks unchanged, as stale")
    arguments = parser.parse_args()
    known = {page.name: page for page in pages()}
    for name in arguments.pages:
        if name not in known:
            parser.error(f"there is no page {name}: the pages are {', '.join(known)}")
    arguments.pages = [known[name] for name in arguments.pages or known]
    return arguments


def write_quotes(page: Page, *, in_tables_only: bool = False) -> int:
    """Rewrite the numbers that a page quotes from its tables, and return how many changed.

    A quote in a row of a table is data, and no sentence depends on it, so ``make docs`` always writes these.
    """
    tables = quotes.Tables(pages(), stamps.read_measured(), data.make_rows())
    text, changed = page.text, 0
    for quote in reversed(list(quotes.quotes_of(page))):
        line = text[text.rfind("\n", 0, quote.begin) + 1 : quote.begin]
        if quote.written is None or (in_tables_only and not line.startswith("|")):
            continue
        if quotes.problem(quote, tables) is None:
            continue
        try:
            now = quotes.rewritten(quote.written, float(tables.value(quote)))
        except (quotes.QuoteError, TypeError):
            continue  # prose_problems reports it
        text = text[: quote.begin] + now + text[quote.at :]
        changed += 1
    page.file.write_text(text)
    return changed


def main() -> None:
    """Refresh the pages, and exit with status 1 if something could not be made or no longer fits."""
    arguments = _arguments()
    problems: list[str] = []
    if arguments.quotes:
        for page in arguments.pages:
            print(f"{page.name}: {write_quotes(page)} numbers written")
    elif arguments.figures:
        data.write()
        problems += [
            f"{page.name}: {figure} was not made" for page in arguments.pages for figure in work.copy_figures(page)
        ]
    elif arguments.adopt:
        for page in arguments.pages:
            print(f"{page.name}: {work.adopt(page)} blocks stamped")
    else:
        if arguments.measured:
            problems += measure.run(_report)
        for page in arguments.pages:
            problems += work.refresh(page, arguments.only, _report, accept=arguments.accept)
            write_quotes(Page(page.file), in_tables_only=True)
    problems += [problem for page in arguments.pages for problem in prose_problems(Page(Path(page.file)))]
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


def _report(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
