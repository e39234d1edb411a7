# SPDX-License-Identifier: MIT
"""The metrics, one module per concept, with the functions that compute them. ``order`` sorts their columns."""
