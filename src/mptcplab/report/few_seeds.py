# SPDX-License-Identifier: MIT
"""The note about results of few seeds, in the words of the report and of comparisons."""

from __future__ import annotations

#: The quantile of Student's t for 95 % is 2.8 with 5 runs, 4.3 with 3 and 12.7 with 2; with many it is 2.0.
MIN_SEEDS = 5


def few_seeds_note(fewest: int) -> str:
    """Return the note for results whose smallest number of seeds, ``fewest``, is below :data:`MIN_SEEDS`."""
    return f"Intervals for n = {fewest} are wide (Student's t). Use at least {MIN_SEEDS} seeds for comparisons."
