# SPDX-License-Identifier: MIT
"""What a bottleneck's queue is kept by, one module per family; see :class:`mptcplab.network.disciplines.base`."""
