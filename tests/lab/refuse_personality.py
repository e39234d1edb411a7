# SPDX-License-Identifier: MIT
"""``python refuse_personality.py COMMAND...``: run a command that may not call personality(2), as in most containers.

Docker's seccomp profile allows this call with a few values only, and refuses to disable address randomisation.
"""

import ctypes
import os
import struct
import sys

_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _FILTER = 22, 38, 2
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBER_OF_CALL, _PERSONALITY = 0, 135
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 1  # EPERM
_PROGRAM = (
    (_LOAD, 0, 0, _NUMBER_OF_CALL),
    (_JUMP_IF_EQUAL, 0, 1, _PERSONALITY),
    (_RETURN, 0, 0, _REFUSE),
    (_RETURN, 0, 0, _ALLOW),
)


class _Filter(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def main() -> None:
    """Install the filter, which programs inherit, and execute the command."""
    libc = ctypes.CDLL(None, use_errno=True)
    instructions = b"".join(struct.pack("=HBBI", *instruction) for instruction in _PROGRAM)
    program = _Filter(len(_PROGRAM), instructions)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program)):
        raise OSError(ctypes.get_errno(), "no filter")
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
