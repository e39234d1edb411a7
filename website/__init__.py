# SPDX-License-Identifier: MIT
"""The documentation as a site: ``make site`` stages the pages of ``docs/`` and builds them with MkDocs."""
