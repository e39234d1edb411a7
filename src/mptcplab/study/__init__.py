# SPDX-License-Identifier: MIT
"""Published studies: compare their data with our measurements. The studies themselves are data only."""
