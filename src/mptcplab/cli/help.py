# SPDX-License-Identifier: MIT
"""The parts that every ``--help`` has, whatever the command itself says: exit status, files, environment.

A command writes its own examples, and any section that differs from the usual one; :func:`complete` adds the others.
"""

from __future__ import annotations

import click

_EXIT = """\b
Exit status:
  0    done
  1    a run failed, or a verdict that was asked for did not hold
  2    the input is wrong
  3    this machine lacks something
  130  interrupted
"""
_FILES = """\b
Files:
  results/NAME/          what `run` leaves: table, figure, results.json and recordings
  ~/.cache/mptcplab/     lab kernels, their sources and logs, compiled tools
"""
_ENVIRONMENT = """\b
Environment:
  XDG_CACHE_HOME         mptcplab/ in it is used instead of ~/.cache/mptcplab/
  TMPDIR                 for the lab's memory where /dev/shm is too small, or mounted noexec
  NO_COLOR               no colours, if it is set; there are none either when the output is not a terminal
"""
#: Set while a shell asks for completions, to the name of that shell's way to ask.
VARIABLE = "_MPTCPLAB_COMPLETE"
SECTIONS = {"Exit status:": _EXIT, "Files:": _FILES, "Environment:": _ENVIRONMENT}
#: For commands whose own module has none.
EXAMPLES = {
    "": """\b
Examples:
  mptcplab doctor                           what this machine lacks
  mptcplab kernel build                     once: the lab kernel
  mptcplab init my.toml                     a scenario, from a few questions
  mptcplab run examples/two-paths.toml      an experiment
  mptcplab reproduce subramani2018/4.1      a published table, measured again
""",
    "show": """\b
Examples:
  mptcplab show examples/two-paths.toml
  mptcplab show my.toml --set links.link2.delay='50 ms' --json | jq .runs
""",
    "plan": """\b
Examples:
  mptcplab plan examples/two-paths.toml
  mptcplab plan my.toml --point 2 --seed 7 > point2.sh
""",
    "kernel": """\b
Examples:
  mptcplab kernel build        once: the kernel that runs use
  mptcplab kernel list
""",
    "kernel build": """\b
Examples:
  mptcplab kernel build                               Debian's source of the usual version
  mptcplab kernel build 6.12                          the long-term one
  mptcplab kernel build --source ~/linux --jobs 8     a tree or tarball of your own
""",
    "kernel list": """\b
Examples:
  mptcplab kernel list
  mptcplab kernel list --json | jq -r '.[].executable'
""",
    "kernel path": """\b
Examples:
  mptcplab kernel path
  mptcplab kernel path 6.12
""",
}
#: Options that mean the same wherever they are.
_OPTIONS = {"engine": "Where plans are carried out.", "out": "Results folder."}


def complete(command: click.Command, name: str) -> None:
    """Give ``command``, called ``name`` behind ``mptcplab``, the sections that its help lacks; subcommands as well."""
    said = command.epilog or ""
    added = [EXAMPLES[name]] if "Examples:" not in said and name in EXAMPLES else []
    added += [said] if said else []
    added += [section for title, section in SECTIONS.items() if title not in said]
    command.epilog = "\n".join(added)
    for option in command.params:
        if isinstance(option, click.Option) and not option.help:
            option.help = _OPTIONS.get(option.name or "")
    for below_name, below in command.commands.items() if isinstance(command, click.Group) else ():
        complete(below, f"{name} {below_name}".strip())
