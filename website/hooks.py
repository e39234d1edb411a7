# SPDX-License-Identifier: MIT
"""Hooks of MkDocs: docstrings are written for Sphinx, whose roles are removed from the pages of the Python API."""

import re
from typing import Any

_ROLE = re.compile(r":(?:func|class|mod|meth|attr|data|exc):(?=<code>)")


def on_page_content(html: str, **_: Any) -> str:
    """Return a page's HTML without roles such as ``:func:`` before a name in code."""
    return _ROLE.sub("", html)
