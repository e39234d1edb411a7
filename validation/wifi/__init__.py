# SPDX-License-Identifier: MIT
"""The calibration of the radio medium (tools/radio): experiments in the lab beside models of the literature."""
