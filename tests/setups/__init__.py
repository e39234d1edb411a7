# SPDX-License-Identifier: MIT
"""Compares what unlike installations of Debian measure with the same lab kernel.

`python -m tests.setups` makes root file systems of Debian, runs scenarios, short studies and selftests in each, and
compares all files of the recordings, byte for byte. The first two have the same versions of all programs, and must not
differ.

`python -m tests.setups.modes` compares user code in stubs and in the kernel's process on this machine.

    tests/setups/roots.py       makes the root file systems
           commands.py    runs the commands in one of them
           differences.py compares the recordings
           modes.py       compares where user code runs
"""
