# SPDX-License-Identifier: MIT
"""The margin of comparisons, in a module that the command line imports without all metrics."""

from __future__ import annotations

#: The smallest difference that matters, in percent of A, unless the user names another.
MARGIN_PERCENT = 1.0
