# SPDX-License-Identifier: MIT
"""What runs inside the lab kernel. Standard library only, and nothing of the host side.

It starts anew in every run, and each module that it imports is read through the host's file system: hence no pathlib,
dataclasses, shutil, typing or traceback here, which together took as long as all the rest.
"""
