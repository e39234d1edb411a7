# SPDX-License-Identifier: MIT
"""``python -m docs.refresh [PAGE ...]``: run what the documentation's blocks are made of, and write them anew.

``make docs`` does it for all pages. What is recorded below results/docs/ is not run again, so an interrupted command
goes on where it ended. Afterwards it lists what no longer fits: numbers in prose (``--quotes`` writes them, once you
have read the sentences), claims, and outputs that have other lines than the page.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from docs.check import prose_problems
from docs.making import measure, quotes, stamps, work
from docs.making.pages import Page, pages


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m docs.refresh", description=__doc__)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="docs/NAME.md; all when none is named")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="blocks whose names begin so")
    parser.add_argument("--quotes", action="store_true", help="run nothing; write the numbers that prose quotes")
    parser.add_argument("--measured", action="store_true", help="also run the lab's tests whose values are quoted")
    parser.add_argument(
        "--accept", action="store_true", help="show the whole output of a command whose output has other lines now"
    )
    parser.add_argument("--adopt", action="store_true", help="run nothing; stamp new blocks as they stand, as stale")
    arguments = parser.parse_args()
    known = {page.name: page for page in pages()}
    for name in arguments.pages:
        if name not in known:
            parser.error(f"there is no page {name}: the pages are {', '.join(known)}")
    arguments.pages = [known[name] for name in arguments.pages or known]
    return arguments


def write_quotes(page: Page, *, in_tables_only: bool = False) -> int:
    """Write the numbers that a page quotes as its tables have them now; how many were others.

    In a row of a table a quote is data, and no sentence depends on it: such are written without being asked for.
    """
    tables = quotes.Tables(pages(), stamps.measured())
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
            continue  # said by prose_problems
        text = text[: quote.begin] + now + text[quote.at :]
        changed += 1
    page.file.write_text(text)
    return changed


def main() -> None:
    """Status 1 when something could not be made or no longer fits."""
    arguments = _arguments()
    problems: list[str] = []
    if arguments.quotes:
        for page in arguments.pages:
            print(f"{page.name}: {write_quotes(page)} numbers written")
    elif arguments.adopt:
        for page in arguments.pages:
            print(f"{page.name}: {work.adopt(page)} blocks stamped")
    else:
        if arguments.measured:
            problems += measure.run(_say)
        for page in arguments.pages:
            problems += work.refresh(page, arguments.only, _say, accept=arguments.accept)
            write_quotes(Page(page.file), in_tables_only=True)
    problems += [problem for page in arguments.pages for problem in prose_problems(Page(Path(page.file)))]
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
