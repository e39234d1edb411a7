# SPDX-License-Identifier: MIT
"""Engines execute plans. They run commands and programs without knowing their purpose."""
