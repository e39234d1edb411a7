# SPDX-License-Identifier: MIT
"""The lab kernel: its source, configuration, build and cache.

The lab kernel is Linux built as an ordinary program (User-Mode Linux). A build
is identified by everything that goes into it. A finished kernel is reused until
one of its inputs changes:

    source (Debian package, tarball, tree) --+
    kernel/config/lab.config ----------------+--> key --> ~/.cache/mptcplab/kernels/
    kernel/patches/*.patch, kernel/net/ -----+                VERSION-KEY/linux
    compiler, build recipe ------------------+

`data` loads our inputs, `source` and `debian` obtain Linux, `config` parses and
checks options, `steps` and `build` compile, `tree` keeps a built tree for the next
build, `cache` holds the finished kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mptcplab.lazy import lazy_names

if TYPE_CHECKING:
    from mptcplab.kernel.build import build_kernel
    from mptcplab.kernel.cache import KernelBuild, find_kernel, list_kernels
    from mptcplab.kernel.data import DEFAULT_VERSION

__all__ = ["DEFAULT_VERSION", "KernelBuild", "build_kernel", "find_kernel", "list_kernels"]
__getattr__ = lazy_names(__name__)
