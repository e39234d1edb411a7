# SPDX-License-Identifier: MIT
"""``python -m website``: build the documentation as a site, and end with status 1 if a link or an anchor is broken."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from tools.release.versions import parse_version

from mptcplab.errors import InputError
from website.page_generator import list_generated
from website.stage import ROOT, stage_pages
from website.versions import add_version

_WORK = ROOT / "build" / "website"


def main() -> int:
    """Stage all pages, and let MkDocs build them in its strict mode, in which a warning is an error."""
    parser = argparse.ArgumentParser(prog="python -m website", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site", help="folder of the site")
    parser.add_argument("--version", help="build to a folder of this version below, beside the folders of others")
    parser.add_argument("--stage-only", action="store_true", help="write the pages for MkDocs, and stop")
    arguments = parser.parse_args()
    pages = _WORK / "docs"
    try:
        if arguments.version:
            parse_version(arguments.version)
        staged = stage_pages(pages)
    except (ValueError, InputError) as error:
        print(f"website: {error}", file=sys.stderr)
        return 1
    for name, text in list_generated().items():
        (pages / name).write_text(text)
    print(f"{len(staged.pages)} pages and {len(staged.files)} linked files in {pages}")
    if arguments.stage_only:
        return 0
    site: Path = arguments.out.resolve()
    if arguments.version:
        site /= arguments.version
    config = Path(__file__).with_name("mkdocs.yml")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "--config-file", str(config)]
    status = subprocess.run([*command, "--site-dir", str(site)], check=False).returncode
    if arguments.version and not status:
        add_version(site.parent, arguments.version)
    return status


if __name__ == "__main__":
    sys.exit(main())
