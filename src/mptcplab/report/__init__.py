# SPDX-License-Identifier: MIT
"""Tables and figures from result rows. Nothing here measures."""
