# SPDX-License-Identifier: MIT
"""Checks the English of pages, comments, docstrings, messages and patches with vale and the rules of this project.

python -m tools.style [FILE...]   check these files, or all; builds vale first, once
pinned/   vale's version, with checksums
rules/    our rules, and which parts of Python are prose
"""
