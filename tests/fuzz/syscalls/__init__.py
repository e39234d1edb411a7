# SPDX-License-Identifier: MIT
"""Random system calls in the lab: the same with user code in stubs and in the lab kernel's own process.

    tests/fuzz/syscalls/calls.c        makes the calls of a seed, and prints a digest of them and of their results
                  life.c         a process of a few hundred calls, which may crash or hang
                  arguments.c    the calls and their arguments
                  trace.c        the records of the calls
                  compare.py     runs it in both modes, and finds the first call that differs
                  __main__.py    `python -m tests.fuzz.syscalls --calls N --seed S`

The short form is tests/lab/machine/test_random_calls.py.
"""
