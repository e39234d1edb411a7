# SPDX-License-Identifier: MIT
"""Programs of gateways that Debian does not have: built from their registries, with pinned versions and checksums."""
