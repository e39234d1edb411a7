# SPDX-License-Identifier: MIT
"""The kernel's own MPTCP selftests, from the kernel's source, in labs of their own."""
