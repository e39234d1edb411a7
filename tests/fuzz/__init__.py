# SPDX-License-Identifier: MIT
"""Fuzzing: for any input, every reader must give a result, or one sentence and a hint.

    tests/fuzz/targets/   one small target for each reader: its seeds, and a function that reads any bytes
         judge.py   decides whether a reader's result is good
         worker.py  atheris (libFuzzer) on one target, in a separate process
         __main__.py    `python -m tests.fuzz --minutes N`: all targets in turn, and the findings

The short form is tests/unit/tests/test_fuzz.py: the same targets, with hypothesis.
"""
