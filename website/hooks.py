# SPDX-License-Identifier: MIT
"""Hooks of MkDocs: docstrings are written for Sphinx, whose roles are removed from the pages of the Python API, and a
site that stands alone does not look for other versions."""

import re
from pathlib import Path
from typing import Any

_ROLE = re.compile(r":(?:func|class|mod|meth|attr|data|exc):(?=<code>)")

_VERSION = re.compile(r"\d+\.\d+\.\d+")


def on_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration, without the switch between versions unless the site's folder is named by one.

    The theme would ask for a list of versions that is not there, and the browser report an error on every page.
    """
    if not _VERSION.fullmatch(Path(config["site_dir"]).name):
        config["extra"].pop("version", None)
    return config


def on_page_content(html: str, **_: Any) -> str:
    """Return a page's HTML without roles such as ``:func:`` before a name in code."""
    return _ROLE.sub("", html)
