# SPDX-License-Identifier: MIT
"""From recordings to numbers. Pure functions: nothing is run, and a stored recording gives the same years later."""
