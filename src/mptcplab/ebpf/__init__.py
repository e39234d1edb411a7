# SPDX-License-Identifier: MIT
"""The lab's coupled congestion controls as eBPF programs, for kernels that do not have them."""
