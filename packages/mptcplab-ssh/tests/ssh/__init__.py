# SPDX-License-Identifier: MIT
"""Tests of the engine ``ssh`` with real sshd, each on a machine of its own: namespaces that end with the test."""
