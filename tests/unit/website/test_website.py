# SPDX-License-Identifier: MIT
"""The documentation as a site: MkDocs builds it in strict mode, and a browser reads and searches it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import click
import pytest
from playwright.sync_api import Browser
from website import hooks
from website.page_generator import list_generated, write_commands, write_gallery
from website.stage import ROOT, _find_pages, _place_of_page, _source, separate_lists, stage_pages
from website.versions import add_version

from mptcplab.cli.main import commands
from mptcplab.errors import InputError

_PHONE = {"width": 400, "height": 800}
_DESKTOP = {"width": 1300, "height": 900}
_WAIT_MS = 30_000
_VERSION, _EARLIER = "0.10.0", "0.9.0"


def test_every_command_is_on_the_page_of_commands() -> None:
    text = write_commands()
    names = commands.list_commands(click.Context(commands))
    assert len(names) >= 20
    assert [name for name in names if f"## `mptcplab {name}`" not in text] == []
    assert "## `mptcplab kernel build`" in text


def test_the_gallery_has_a_command_for_each_figure() -> None:
    text = write_gallery()
    figures = text.count("\n![")
    assert figures >= 20, f"{figures} figures; docs/images has {len(list((ROOT / 'docs' / 'images').iterdir()))}"
    assert text.count("```sh\n") == figures


def test_every_page_is_in_the_navigation_or_on_the_list_of_all_pages() -> None:
    """The list of all pages is in the navigation. What other files pages link to is reached from these pages."""
    config = (ROOT / "website" / "mkdocs.yml").read_text()
    listed = re.findall(r"^ +- (?:.+: )?(\S+\.md)$", config.partition("\nnav:\n")[2], re.MULTILINE)
    assert len(listed) == len(set(listed))
    pages = {str(place) for place in (_place_of_page(_source(page)) for page in _find_pages())}
    linked = set(re.findall(r"\]\(([\w./-]+\.md)\)", (ROOT / "docs" / "README.md").read_text()))
    assert pages | set(list_generated()) == set(listed) | (pages & linked)
    assert len(listed) > 50, "most pages are in the navigation"


@pytest.mark.parametrize(("folder", "is_switch"), [("build/site", False), ("build/site/0.2.0", True)])
def test_only_the_site_of_a_version_looks_for_others(folder: str, is_switch: bool) -> None:
    config = {"site_dir": folder, "extra": {"version": {"provider": "mike"}}}
    assert ("version" in hooks.on_config(config)["extra"]) == is_switch


def test_versions_are_listed_by_their_numbers(tmp_path: Path) -> None:
    for version in ("0.9.0", "0.10.0", "0.2.0"):
        (tmp_path / version).mkdir()
        add_version(tmp_path, version)
    (tmp_path / "0.2.0").rmdir()
    add_version(tmp_path, "0.9.0")
    entries = json.loads((tmp_path / "versions.json").read_text())
    assert [(entry["version"], entry["aliases"]) for entry in entries] == [("0.10.0", ["latest"]), ("0.9.0", [])]
    assert "url=0.10.0/index.html" in (tmp_path / "index.html").read_text()
    with pytest.raises(InputError, match="'main' is not a version"):
        add_version(tmp_path, "main")


def test_a_list_after_a_paragraph_becomes_a_list() -> None:
    assert separate_lists("Text:\n- one\n- two") == "Text:\n\n- one\n- two"
    assert separate_lists("```sh\ntext\n- one\n```") == "```sh\ntext\n- one\n```"


def test_linked_files_become_pages(tmp_path: Path) -> None:
    staged = stage_pages(tmp_path)
    shown = (tmp_path / "files/examples/course/slow-start.toml.md").read_text()
    assert 'title = "Slow start"' in shown
    assert "(files/examples/course/slow-start.toml.md)" in (tmp_path / "course.md").read_text()
    assert len(staged.pages) > 40


@pytest.mark.slow
@pytest.mark.parametrize(
    ("link", "complaint"),
    [("other.md#part", ""), ("other.md#nowhere", "#nowhere"), ("gone.md", "gone.md"), ("/other.md", "absolute")],
)
def test_a_broken_link_or_anchor_fails_the_build(tmp_path: Path, link: str, complaint: str) -> None:
    """With the configuration of the site, whose pages are replaced by two."""
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "index.md").write_text(f"# Start\n\n[A link]({link})\n")
    (pages / "other.md").write_text("# Other\n\n## Part\n")
    config = tmp_path / "mkdocs.yml"
    settings = {
        "INHERIT": str(ROOT / "website" / "mkdocs.yml"),
        "docs_dir": str(pages),
        "hooks": [],
        "nav": ["index.md", "other.md"],
    }
    config.write_text(json.dumps(settings))
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(config)]
    built = subprocess.run(
        [*command, "--site-dir", str(tmp_path / "site")], capture_output=True, text=True, check=False
    )
    assert built.returncode == (1 if complaint else 0), built.stderr
    assert complaint in built.stderr


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: a browser asks for hundreds of files."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The built site, on a port of the loopback interface."""
    site = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "website", "--out", str(site), "--version", _VERSION],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (site / _EARLIER).mkdir()
    add_version(site, _EARLIER)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/{_VERSION}"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_a_browser_reads_and_searches_the_site_and_asks_nobody_else(browser: Browser, address: str) -> None:
    asked: list[str] = []
    for size in (_PHONE, _DESKTOP):
        page = browser.new_page(viewport={"width": size["width"], "height": size["height"]})
        page.set_default_timeout(_WAIT_MS)
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{address}/course.html")
        assert page.locator("h1").first.inner_text().startswith("A course in six exercises")
        # Tables and code scroll by themselves: the page is never wider than the window.
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= size["width"], f"the page is {width} px wide in a window of {size['width']}"
    page.locator("input.md-search__input").fill("bufferbloat")
    page.locator(".md-search-result__link").first.wait_for()
    assert "course" in (page.locator(".md-search-result__link").first.get_attribute("href") or "")
    page.goto(f"{address}/gallery.html")
    images = "[...document.images].filter(image => image.loading !== 'lazy')"
    broken = page.evaluate(f"{images}.filter(image => !image.naturalWidth).map(image => image.src)")
    assert broken == []
    assert page.locator(".md-version__link").all_inner_texts() == [_VERSION, _EARLIER]
    origin = address.rpartition("/")[0]
    assert {url for url in asked if not url.startswith((origin, "data:", "blob:"))} == set()
