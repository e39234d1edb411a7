# SPDX-License-Identifier: MIT
"""Sites of several versions side by side: a folder each, the list from which the theme makes its switch, and a start.

build/site/versions.json   in the form of mike, which the theme reads
           index.html      leads to the newest version
           0.2.0/          the site of a version
"""

from __future__ import annotations

import json
from pathlib import Path

from tools.release.versions import parse_version

_LIST = "versions.json"
_START = """<!doctype html>
<meta charset="utf-8"><title>mptcplab</title>
<meta http-equiv="refresh" content="0; url={version}/index.html">
<a href="{version}/index.html">mptcplab {version}</a>
"""


def add_version(root: Path, version: str) -> None:
    """Add the site in ``root/version`` to the list of all that are there.

    :raises InputError: if it is not a version, such as 0.2.0.
    """
    parse_version(version)
    file = root / _LIST
    known = [entry["version"] for entry in json.loads(file.read_text())] if file.exists() else []
    versions = sorted({version, *(name for name in known if (root / name).is_dir())}, key=parse_version, reverse=True)
    newest = versions[0]
    entries = [{"version": name, "title": name, "aliases": ["latest"] if name == newest else []} for name in versions]
    file.write_text(json.dumps(entries, indent=2) + "\n")
    (root / "index.html").write_text(_START.format(version=newest))
