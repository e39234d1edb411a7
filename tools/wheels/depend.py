# SPDX-License-Identifier: MIT
"""A build hook of hatchling: the wheels of a release depend on wheels of the same release.

`mptcplab` depends on `mptcplab-kernel`, and the packages of `packages/` depend on `mptcplab`.
"""

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
            version_of_all = self.metadata.version
            is_core = self.metadata.core.name == "mptcplab"
            dependency = f"mptcplab-kernel=={version_of_all}; {_MARKER}" if is_core else f"mptcplab=={version_of_all}"
            build_data["dependencies"].append(dependency)
