# SPDX-License-Identifier: MIT
"""Programs inside the machine with several CPUs. Standard library only, and the lab's own `mptcplab.guest.system`."""
