# SPDX-License-Identifier: MIT
"""The command line itself: one module per theme, with the arguments, options and help of its commands.

``--help``, the shell's completion and the check of options read these modules only. So they import no room that takes
long to load: a command's body is in the module that :func:`mptcplab.cli.options.defer_to` names, and choices that
other rooms define are found when somebody needs them.
"""
