# SPDX-License-Identifier: MIT
"""From recordings to numbers. Pure functions: nothing is run, and a recording yields the same numbers years later."""
