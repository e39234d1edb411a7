# SPDX-License-Identifier: MIT
"""All formats by the names for ``--format``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mptcplab.export import networkd, sh, uci
from mptcplab.export.model import Configuration, File

FORMATS: Mapping[str, Callable[[Configuration], tuple[File, ...]]] = {
    "sh": sh.write,
    "networkd": networkd.write,
    "uci": uci.write,
}
