# SPDX-License-Identifier: MIT
"""Selects the runs of an experiment, identifies them and stores their recordings. Engines execute the plans."""
