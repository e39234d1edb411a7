# SPDX-License-Identifier: MIT
"""The engine ``local``: plans in network namespaces of this machine, in real time."""
