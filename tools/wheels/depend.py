# SPDX-License-Identifier: MIT
"""A build hook of hatchling: `mptcplab` of a release depends on the `mptcplab-kernel` of the same release."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: There is no wheel for other machines: on these, a kernel is built.
_MARKER = "sys_platform == 'linux' and platform_machine == 'x86_64'"


class Depend(BuildHookInterface[Any]):
    """Adds the dependency to the wheel's metadata."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the dependency, except to an editable installation."""
        if version == "standard":
            build_data["dependencies"].append(f"mptcplab-kernel=={self.metadata.version}; {_MARKER}")
