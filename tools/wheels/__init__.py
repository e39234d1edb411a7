# SPDX-License-Identifier: MIT
"""Builds the wheels of a release: `mptcplab`, all of `packages/`, and `mptcplab-kernel` with what is compiled.

python -m tools.wheels            all wheels, to dist/
python -m tools.wheels.compare    builds them again from a copy of the checkout, and compares all bytes
python -m tools.wheels.install    installs them in an empty environment, and runs a scenario without a compiler

tools/wheels/contents.py   what is in `mptcplab-kernel`
       elf.py        the C library that executables need, and so the tag of the wheel
       audit.py      has auditwheel check this tag
       build.py      calls hatchling
       depend.py     makes each wheel depend on wheels of its release, inside of hatchling
       kernel/       the project of `mptcplab-kernel`, without what is built
       subramani2018 a link to the study, whose tables two examples extend
"""
