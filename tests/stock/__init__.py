# SPDX-License-Identifier: MIT
"""Tests of the engine ``stock``: they need QEMU and a kernel of Debian, which ``make stock-tests`` obtains."""
