# SPDX-License-Identifier: MIT
"""The pages of a site, staged in one folder: what ``docs/`` has, what it links to, and pages that are generated.

Pages in the repository link to scenarios, tests and C files beside ``docs/``. A site has one folder, so each linked
file becomes a page with its text, and links are written anew. So everything can be read offline, and MkDocs' strict
mode checks every link.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

#: A link or image whose target is a file: not an address, not an anchor of the same page.
_LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")
_FENCE = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"^(?:[-*+]|\d+\.) ")
_LANGUAGES = {
    ".toml": "toml",
    ".py": "python",
    ".c": "c",
    ".h": "c",
    ".sh": "sh",
    ".json": "json",
    ".patch": "diff",
    ".ini": "ini",
}
_IMAGES = (".svg", ".png")
#: Longer files are cut: a page of a trace with a hundred thousand lines helps nobody.
_MAX_SHOWN_CHARS = 60_000


@dataclass(frozen=True)
class SiteSources:
    """What a site consists of: the pages from the repository, by their place in it, and files that they link to."""

    pages: dict[PurePosixPath, PurePosixPath]
    files: list[PurePosixPath]


def stage_pages(folder: Path) -> SiteSources:
    """Write all pages, images and linked files to ``folder``, which is emptied, and return what they are.

    :raises ValueError: if a page links to a file that does not exist; the message names all of these links.
    """
    shutil.rmtree(folder, ignore_errors=True)
    pages = {_source(page): _place_of_page(_source(page)) for page in _find_pages()}
    linked: set[PurePosixPath] = set()
    broken: list[str] = []
    for source, place in pages.items():
        text = _rewrite_links((ROOT / source).read_text(), source, pages, linked, broken)
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(separate_lists(text))
    if broken:
        raise ValueError("links to files that do not exist: " + ", ".join(sorted(broken)))
    for file in sorted(linked):
        _stage_file(folder, file)
    return SiteSources(pages, sorted(linked))


def separate_lists(text: str) -> str:
    """Put an empty line before each list that follows a paragraph.

    Python-Markdown needs it, GitHub's Markdown does not.
    """
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = re.match(r" *(`{3,}|~{3,})", line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1] == fence:
            fence = ""
        above = lines[-1] if lines else ""
        if not fence and _ITEM.match(line) and above.strip() and not _ITEM.match(above) and not above.startswith(" "):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def _find_pages() -> list[Path]:
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", ROOT / "bench" / "README.md"]
    return pages + sorted(DOCS.rglob("*.md"))


def _source(page: Path) -> PurePosixPath:
    return PurePosixPath(page.relative_to(ROOT).as_posix())


def _place_of_page(source: PurePosixPath) -> PurePosixPath:
    """Return where a page is on the site: README is its first page, docs/README.md the list of all pages."""
    if source == PurePosixPath("README.md"):
        return PurePosixPath("index.md")
    if source == PurePosixPath("docs/README.md"):
        return PurePosixPath("contents.md")
    if source.parts[0] == "docs":
        return source.relative_to("docs")
    return PurePosixPath(str(source).replace("/README.md", ".md").lower())


def _place_of_file(file: PurePosixPath) -> PurePosixPath:
    """Return where a linked file is: an image as it is, a folder or a text as a page below ``files/``."""
    if file.suffix in _IMAGES:
        return file.relative_to("docs") if file.parts[0] == "docs" else PurePosixPath("files") / file
    return PurePosixPath("files") / f"{file}.md"


def _rewrite_links(
    text: str,
    source: PurePosixPath,
    pages: dict[PurePosixPath, PurePosixPath],
    linked: set[PurePosixPath],
    broken: list[str],
) -> str:
    here = pages[source].parent

    def rewrite(match: re.Match[str]) -> str:
        target = PurePosixPath(normpath(source.parent / match[2]))
        place = pages.get(target) or pages.get(target / "README.md")
        if place is None:
            if not (ROOT / target).exists() or target.parts[:1] == ("..",):
                broken.append(f"{source}: {match[2]}")
                return match[0]
            linked.add(target)
            place = _place_of_file(target)
        anchor = match[3] if place.suffix == ".md" and target in pages else ")"
        return match[1] + relpath(place, here) + anchor

    parts, end = [], 0
    for fence in _FENCE.finditer(text):
        parts += [_LINK.sub(rewrite, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, _LINK.sub(rewrite, text[end:])])


def _stage_file(folder: Path, file: PurePosixPath) -> None:
    target = folder / _place_of_file(file)
    target.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix in _IMAGES:
        shutil.copyfile(ROOT / file, target)
        return
    target.write_text(f"---\nsearch:\n  exclude: true\n---\n\n# {file}\n\n{_describe(ROOT / file)}\n")


def _describe(file: Path) -> str:
    """Return a linked file's text as a fence, or the list of a linked folder's files."""
    if file.is_dir():
        return "\n".join(f"- `{entry.name}{'/' if entry.is_dir() else ''}`" for entry in sorted(file.iterdir()))
    text = file.read_text(errors="replace")
    if len(text) > _MAX_SHOWN_CHARS:
        text = text[:_MAX_SHOWN_CHARS] + "\n...\n"
    return f"````{_LANGUAGES.get(file.suffix, 'text')}\n{text.rstrip()}\n````"
