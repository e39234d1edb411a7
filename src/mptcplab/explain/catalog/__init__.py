# SPDX-License-Identifier: MIT
"""The reasons, one module for each kind; each module has them in ``REASONS``."""
