# SPDX-License-Identifier: MIT
"""The engine ``ssh``: plans on real machines, by OpenSSH, in network namespaces with the interfaces of an inventory.

:mod:`.inventory` reads which machine is which node; :mod:`.fitting` divides a plan among them; :mod:`.machine` drives
one machine, by the shell scripts beside this file; :mod:`.saved` writes the commands that put an interface back;
:mod:`.timeline` runs the programs; :mod:`.collect` turns what the machines have into an engine's files.
"""
