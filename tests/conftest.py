# SPDX-License-Identifier: MIT
"""Property tests draw the same examples every time, so that a change is judged by what it changed.

``HYPOTHESIS_PROFILE=default`` draws new ones. That, and ``make fuzz``, is how to search for more.
"""

from __future__ import annotations

import os

from hypothesis import settings

# No test is timed: machines are busy.
settings.register_profile("default", deadline=None)
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
