# SPDX-License-Identifier: MIT
"""Fuzzing: whatever a reader is given, it ends with a result or with one sentence and a hint.

    fuzz/targets/   one small target for each reader: inputs to begin with, and what is done with any bytes
         judge.py   what counts as a good end
         worker.py  atheris (libFuzzer) on one target, in a process of its own
         __main__.py    `python -m fuzz --minutes N`: all targets in turn, and what was found

The short form is tests/unit/test_fuzz.py: the same targets, with hypothesis.
"""
