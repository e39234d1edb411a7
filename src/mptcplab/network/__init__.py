# SPDX-License-Identifier: MIT
"""What links do to packets: one module per behaviour and per queueing discipline; :mod:`registry` finds them."""
