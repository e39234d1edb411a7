# SPDX-License-Identifier: MIT
"""The live page in a browser (Debian's chromium, headless): an experiment from the form to its report, and the end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

pytest.importorskip("flask", reason="the extra `serve` is not installed")

_DESKTOP, _PHONE = (1280, 900), (390, 844)
#: Runs take seconds; machines are busy.
_PATIENCE_MS = 240_000


@dataclass(frozen=True)
class Server:
    """`mptcplab serve` as a process of its own."""

    process: subprocess.Popen[str]
    url: str
    folder: Path

    def experiment(self) -> dict[int, str]:
        """Return the names of the processes below the server, by their numbers."""
        listed = subprocess.run(["ps", "-eo", "pid=,ppid=,comm="], capture_output=True, text=True, check=True).stdout
        entries = [line.split(maxsplit=2) for line in listed.splitlines()]
        parents = {int(pid): int(parent) for pid, parent, _ in entries}
        names = {int(pid): name for pid, _, name in entries}
        below, last = {self.process.pid}, 0
        while len(below) > last:
            last = len(below)
            below |= {pid for pid, parent in parents.items() if parent in below}
        return {pid: names[pid] for pid in sorted(below - {self.process.pid})}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    process = subprocess.Popen(
        [sys.executable, "-m", "mptcplab", "serve", "results", "--port", "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    process.stdout.readline()
    yield Server(process, process.stdout.readline().strip(), tmp_path)
    if process.poll() is None:
        process.terminate()
    process.wait(60)
    process.stdout.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": _DESKTOP[0], "height": _DESKTOP[1]})
    yield made
    made.close()


def is_gone(number: int) -> bool:
    """Return whether a process has ended, perhaps without a parent that has asked for its status."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_for_end(numbers: list[int]) -> None:
    """Wait until all of these processes have ended. The bound is what `mptcplab run` takes to end its labs."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not all(map(is_gone, numbers)):
        time.sleep(0.1)
    assert [number for number in numbers if not is_gone(number)] == []


def test_an_experiment_from_the_form_to_its_report(server: Server, context: BrowserContext) -> None:
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("response", lambda answer: complaints.append(answer.url) if answer.status >= 400 else None)
    page.goto(server.url)
    assert "token" not in page.url
    page.locator('input[name="rate:link1"]').fill("8")
    page.locator('input[name="rate:link2"]').fill("5")
    page.locator('select[name="scheduler"]').select_option("roundrobin")
    command = page.locator("#command")
    expect(command).to_contain_text("links.link2.rate=5 Mbit/s", timeout=_PATIENCE_MS)
    expect(command).to_contain_text("--set transport.scheduler=roundrobin")
    page.click("#start")
    expect(page.locator("#status")).to_contain_text("done, 2 of 2 runs", timeout=_PATIENCE_MS)
    # A curve for TCP and one for MPTCP, and the table below.
    expect(page.locator("#curves .curve")).to_have_count(2)
    rows = page.locator("#rows tbody tr")
    expect(rows).to_have_count(2)
    values = {row.locator("td").first.inner_text(): float(row.locator("td").nth(1).inner_text()) for row in rows.all()}
    # Payload is about 95 % of 8 and of 13 Mbit/s; TCP has the first path only.
    assert 7.0 < values["protocol tcp: bulk"] < 8.0
    assert 11.0 < values["protocol mptcp: bulk"] < 13.0
    # The next experiment begins with the values of this one, and the results are listed.
    assert page.locator('input[name="rate:link1"]').input_value() == "8"
    assert page.locator('select[name="scheduler"]').input_value() == "roundrobin"
    expect(page.locator("#folders a")).to_have_count(1)
    for width, height in (_DESKTOP, _PHONE):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    with context.expect_page() as opened:
        page.click("#report")
    report = opened.value
    report.on("console", lambda message: complaints.append(message.text))
    expect(report.locator("h1")).to_have_text("Two equal paths of 100 Mbit/s", timeout=_PATIENCE_MS)
    report.locator(".figure").first.scroll_into_view_if_needed()
    expect(report.locator(".figure svg").first).to_be_visible(timeout=_PATIENCE_MS)
    assert complaints == []
    # The command that the page has shown finds the runs recorded.
    (folder,) = (server.folder / "results/live").iterdir()
    assert command.inner_text().endswith(f"--out results/live/{folder.name}")


def test_other_pages_reach_nothing(server: Server, context: BrowserContext) -> None:
    """A page of another site, in the browser that has the cookie, can neither read nor start anything."""
    page = context.new_page()
    page.goto(server.url)
    base = re.sub(r"/\?.*", "", server.url)
    evil = context.new_page()
    evil.route("http://evil.example/", lambda route: route.fulfill(content_type="text/html", body="<p>evil</p>"))
    evil.goto("http://evil.example/")
    for target in (f"{base}/", f"{base}/events", f"{base}/report/0/x"):
        assert evil.evaluate(
            "url => fetch(url, {credentials: 'include'}).then(() => 'read', () => 'refused')", target
        ) == ("refused")
    evil.evaluate(
        """url => { const form = document.createElement('form'); form.method = 'post'; form.action = url;
        document.body.append(form); form.submit(); }""",
        f"{base}/start",
    )
    expect(evil.locator("body")).to_contain_text("comes from another site")
    assert server.experiment() == {}
    page.reload()
    expect(page.locator("h1", has_text="No experiment yet")).to_be_visible()


def start(server: Server, context: BrowserContext) -> list[int]:
    """Start an experiment of a minute, and return the numbers of its processes when a lab runs."""
    page = context.new_page()
    page.goto(server.url)
    page.locator('input[name="repeats"]').fill("10")
    page.click("#start")
    expect(page.locator("#cancel")).to_be_visible(timeout=_PATIENCE_MS)
    deadline = time.monotonic() + 120
    # The command, and a lab: one process, or more where its programs have processes of their own.
    while "linux" not in (processes := server.experiment()).values() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert "linux" in processes.values(), processes
    return list(processes)


def test_cancel_ends_all_processes(server: Server, context: BrowserContext) -> None:
    numbers = start(server, context)
    page = context.pages[0]
    page.click("#cancel")
    expect(page.locator("#status")).to_contain_text("cancelled", timeout=_PATIENCE_MS)
    wait_for_end(numbers)
    assert server.experiment() == {}
    assert server.process.poll() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_survives_the_server(server: Server, context: BrowserContext, number: signal.Signals) -> None:
    numbers = start(server, context)
    server.process.send_signal(number)
    status = server.process.wait(60)
    assert status == (-signal.SIGKILL if number == signal.SIGKILL else 0)
    wait_for_end(numbers)
