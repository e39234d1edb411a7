# SPDX-License-Identifier: MIT
"""``python -m bench.browser``: measures the size of the report of a sweep of 500 runs, and the time to open it.

The sweep has 25 points with 20 seeds of a transfer of 0.1 s. The time is measured in headless chromium with an empty
profile: from the navigation to the load event, and from scrolling to the first figure after a second until it is drawn.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Playwright, sync_playwright

from mptcplab import api

_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
#: The time that a reader looks at the top of the page before scrolling to the figures.
_READING_MS = 1000
_SEEDS = 20
_SWEEP = """
title = "Two paths: delay and loss of the second path"
topology = { preset = "disjoint-paths" }
links.link1 = { rate = "50 Mbit/s", delay = "10 ms" }
links.link2 = { rate = "20 Mbit/s", delay = "10 ms" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "0.1 s" }
record.interval = "10 ms"
sweep."links.link2.delay" = ["5 ms", "10 ms", "20 ms", "50 ms", "100 ms"]
sweep."links.link2.loss" = ["0 %", "0.1 %", "0.5 %", "1 %", "2 %"]
"""


def _make(folder: Path, seeds: int) -> Path:
    """Run the sweep, or the runs that are not recorded yet, and return its results folder."""
    folder.mkdir(parents=True, exist_ok=True)
    scenario = folder / "sweep500.toml"
    scenario.write_text(f"repeats = {seeds}{_SWEEP}")
    return api.run(api.load(scenario), folder / "results").folder


def _open(playwright: Playwright, file: Path) -> tuple[float, float]:
    """Return the milliseconds until the page is loaded, and from scrolling to its first figure until it is drawn."""
    with tempfile.TemporaryDirectory() as profile:
        context = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=shutil.which("chromium"),
            args=list(_FLAGS),
            viewport={"width": 1280, "height": 900},
        )
        page = context.new_page()
        page.goto(file.as_uri())
        loaded = float(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd"))
        page.wait_for_timeout(_READING_MS)
        started = time.monotonic()
        page.locator(".figure").first.scroll_into_view_if_needed()
        page.locator(".figure .main-svg").first.wait_for(state="attached")
        drawn = 1e3 * (time.monotonic() - started)
        context.close()
    return loaded, drawn


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.browser", description=__doc__)
    parser.add_argument("--results", type=Path, help="a results folder to use instead of running the sweep")
    parser.add_argument("--out", type=Path, default=Path("results/bench/browser"), help="folder for the sweep")
    parser.add_argument("--repeats", type=int, default=5, help="times to open the page; default 5")
    parser.add_argument("--seeds", type=int, default=_SEEDS, help="seeds per point; 20 seeds of 25 points are 500 runs")
    arguments = parser.parse_args()
    results = arguments.results or _make(arguments.out, arguments.seeds)
    from mptcplab.pages import write_report

    file = results.resolve() / "report.html"
    started = time.monotonic()
    write_report(results, file)
    print(f"built in {time.monotonic() - started:.1f} s, {file.stat().st_size / 1e6:.2f} MB (bound: 8 MB)")
    with sync_playwright() as playwright:
        times = [_open(playwright, file) for _ in range(arguments.repeats)]
    for name, values in zip(("opened", "first figure drawn after"), zip(*times, strict=True), strict=True):
        middle = statistics.median(values)
        print(f"{name} {middle:.0f} ms, median of {len(values)} ({min(values):.0f} to {max(values):.0f})")
    print("bound: 2000 ms to open")


if __name__ == "__main__":
    main()
