# SPDX-License-Identifier: MIT
"""What all tests share: the examples of property tests, and a browser.

Property tests draw the same examples every time, so that a change is judged by what it changed.
``make quick`` draws a fifth of them. ``HYPOTHESIS_PROFILE=default`` draws new ones: that, and ``make fuzz``, is how to
search for more.
"""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

#: Of the browser: it asks nobody for anything.
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

# Collection leaves objects that stay until the end. Going through them again and again took a tenth of the time.
gc.set_threshold(50_000, 20, 100)

# No test is timed: machines are busy.
settings.register_profile("default", deadline=None)
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("quick", derandomize=True, deadline=None, max_examples=20)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_collection_finish() -> None:
    """Leave what has been imported and collected out of all later garbage collections."""
    gc.freeze()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's chromium, headless. Playwright drives the installed one and downloads none."""
    from playwright.sync_api import sync_playwright  # late: few tests need it

    program = shutil.which("chromium")
    if program is None:
        pytest.fail("chromium is not installed; scripts/install-packages --tests", pytrace=False)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=list(_FLAGS))
        yield started
        started.close()
