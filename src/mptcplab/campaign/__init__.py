# SPDX-License-Identifier: MIT
"""Which runs are made, what they are called, and where they are kept. How a plan is carried out is up to engines."""
