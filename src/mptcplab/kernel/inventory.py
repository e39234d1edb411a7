# SPDX-License-Identifier: MIT
"""The kernels of this machine, each with its state: whether runs use it, whether it is current, its kept tree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mptcplab.errors import MissingError
from mptcplab.kernel.build import find_tree
from mptcplab.kernel.cache import KernelBuild, find_kernel, is_current, list_kernels


@dataclass(frozen=True)
class KernelEntry:
    """A finished kernel: ``is_default`` if runs use it, ``is_current`` unless its inputs have changed since.

    ``tree`` is the folder in which it can be built again, if that was kept.
    """

    kernel: KernelBuild
    is_default: bool
    is_current: bool
    tree: Path | None

    def to_json(self) -> dict[str, object]:
        """Return the kernel's properties, without ``is_default``."""
        kernel = self.kernel
        return {
            "version": kernel.version,
            "variant": kernel.variant,
            "release": kernel.release,
            "hz": kernel.hz,
            "key": kernel.key,
            "executable": str(kernel.executable),
            "built": kernel.built,
            "lost_options": list(kernel.lost_options),
            "given_patches": list(kernel.given),
            "current": self.is_current,
            "package": kernel.package or None,
            "tree": str(self.tree) if self.tree else None,
        }


def describe_kernel(kernel: KernelBuild) -> KernelEntry:
    """Return a kernel with its state."""
    return _entry(kernel, _default_path())


def list_entries() -> list[KernelEntry]:
    """Return all finished kernels with their state, in the order of :func:`list_kernels`."""
    kernels = list_kernels()
    default = _default_path()
    return [_entry(kernel, default) for kernel in kernels]


def require_tree(kernel: KernelBuild) -> Path:
    """Return the tree that was kept of a kernel. :raises MissingError: if it was not kept."""
    tree = find_tree(kernel)
    if tree is None:
        raise MissingError(
            f"the tree of the kernel {kernel.name} was not kept",
            hint=f"mptcplab kernel build {kernel.version} --keep-tree",
        )
    return tree


def _entry(kernel: KernelBuild, default: Path | None) -> KernelEntry:
    return KernelEntry(kernel, kernel.path == default, is_current(kernel), find_tree(kernel))


def _default_path() -> Path | None:
    try:
        return find_kernel().path
    except MissingError:
        return None
