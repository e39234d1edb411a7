# SPDX-License-Identifier: MIT
"""Reads a report's HTML, for tests."""

from __future__ import annotations

from html.parser import HTMLParser

from mptcplab.report.html import Drawing, ExperimentSection

#: Whatever a title or a name may try.
EVIL = "</script><script>document.title = 'broken'</script><img src=x onerror=alert(1)> & \"quoted\""


def drawing_of(section: ExperimentSection, kind: str) -> Drawing:
    return next(drawing for drawing in section.drawings if drawing.kind == kind)


class PageText(HTMLParser):
    """Visible text, tags and the cells of tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.cells: list[str] = []
        self._in: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "action", "data")]
        if tag == "td":
            self.cells.append("")
        self._in.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._in and self._in.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "td" in self._in:
            self.cells[-1] += data
