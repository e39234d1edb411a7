# SPDX-License-Identifier: MIT
"""Commands: parse, call, print."""
