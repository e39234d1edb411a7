# SPDX-License-Identifier: MIT
"""A processor with protection keys (PKU), emulated by QEMU: what guards a lab kernel that runs programs in its process.

Few machines of continuous integration have such a processor, and without it a wild write is caught by nothing.

    tests/pku/machine.py    boots Debian's kernel on this machine's files, and runs a command there
              init.sh       process 1 of the machine
              test_pku.py   that programs move by themselves, with equal results, and that wild ones reach nothing
              __main__.py   `python -m tests.pku COMMAND...`: any other command, such as the fuzzer of system calls
"""
