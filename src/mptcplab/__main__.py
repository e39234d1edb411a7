# SPDX-License-Identifier: MIT
"""``mptcplab`` and ``python -m mptcplab``."""

from __future__ import annotations

from mptcplab.cli.main import main

if __name__ == "__main__":
    main()
