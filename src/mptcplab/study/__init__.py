# SPDX-License-Identifier: MIT
"""Published studies: their data, and our measurements held against it. The studies themselves are data only."""
