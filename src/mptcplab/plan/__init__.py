# SPDX-License-Identifier: MIT
"""From a scenario to plain commands and a timeline. Pure: nothing is executed here."""
