# SPDX-License-Identifier: MIT
"""The configuration of one node as files for a real machine: collected once, written in several formats."""
