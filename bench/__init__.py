# SPDX-License-Identifier: MIT
"""How fast the lab is: ratios to real time, to ns-3 and to this machine's own kernel, and how cost grows."""
