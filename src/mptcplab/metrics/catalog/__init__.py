# SPDX-License-Identifier: MIT
"""The metrics: each module has those of one concept, with the functions that compute them. ``place`` is their order."""
