# SPDX-License-Identifier: MIT
"""What runs inside the lab kernel. Standard library only, and nothing of the host side."""
