# SPDX-License-Identifier: MIT
"""The scenario language: from a TOML file to typed, checked runs."""
