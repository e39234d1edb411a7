# SPDX-License-Identifier: MIT
"""A build hook of hatchling: sets the tag of the wheel, which depends on what the executables need."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Tag(BuildHookInterface[Any]):
    """Takes the tag from the manifest."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Set the tag."""
        manifest = json.loads((Path(self.root) / "mptcplab_kernel" / "manifest.json").read_text())
        build_data["pure_python"] = False
        build_data["tag"] = manifest["tag"]
