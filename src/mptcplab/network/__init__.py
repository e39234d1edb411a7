# SPDX-License-Identifier: MIT
"""Effects of links on packets: one module per behaviour and per queue discipline; :mod:`registry` finds them."""
