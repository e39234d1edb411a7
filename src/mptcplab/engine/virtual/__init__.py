# SPDX-License-Identifier: MIT
"""The engine ``virtual``: the lab kernel, a process of this machine, in virtual time."""
