# SPDX-License-Identifier: MIT
"""All formats by the names for ``--format``."""

from __future__ import annotations

from collections.abc import Mapping

from mptcplab.export import networkd, sh, uci
from mptcplab.export.model import Format

_FOLDER = "/etc/mptcplab"
FORMATS: Mapping[str, Format] = {
    # What a script has written vanishes when the machine restarts, as what it has configured does.
    "sh": Format("/run", sh.write),
    "networkd": Format(_FOLDER, networkd.write),
    "uci": Format(_FOLDER, uci.write),
}
