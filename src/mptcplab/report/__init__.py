# SPDX-License-Identifier: MIT
"""Tables, figures and HTML pages from results. Nothing here measures."""
