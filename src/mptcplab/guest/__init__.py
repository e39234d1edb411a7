# SPDX-License-Identifier: MIT
"""What runs inside the lab kernel. Standard library only, and nothing of the host side.

It starts anew in every run, and each module that it imports is read through the host's file system. Hence a short run
imports no regular expressions or enumerations here, and nothing that needs them: json, signal, shlex, ctypes, typing,
dataclasses, pathlib, traceback. They took longer to load than all work of such a run.
"""
