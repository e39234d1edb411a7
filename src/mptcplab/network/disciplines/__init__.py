# SPDX-License-Identifier: MIT
"""Queue disciplines of bottlenecks, one module per family; see :class:`mptcplab.network.disciplines.base`."""
