# SPDX-License-Identifier: MIT
"""The sections that every ``--help`` has: examples, exit status, files, environment.

A command defines its own examples and each section that differs from the standard one; :func:`add_sections` adds the
others.
"""

from __future__ import annotations

import click

_EXIT = """\b
Exit status:
  0    success
  1    a run failed, or a requested check did not pass
  2    the input is invalid
  3    this machine lacks something that the command needs
  130  interrupted
"""
_FILES = """\b
Files:
  results/NAME/          results of `mptcplab run`: tables, figures, results.json and recordings
  ~/.cache/mptcplab/     lab kernels, their sources and build logs, compiled tools
"""
_ENVIRONMENT = """\b
Environment:
  XDG_CACHE_HOME         the cache is mptcplab/ in this folder. Default: ~/.cache
  TMPDIR                 holds the lab's memory if /dev/shm is too small, or mounted noexec
  NO_COLOR               if set, no colours; output that is not a terminal never has colours
"""
#: A shell that asks for completions sets this variable to the name of its completion protocol.
COMPLETION_VARIABLE = "_MPTCPLAB_COMPLETE"
SECTIONS = {"Exit status:": _EXIT, "Files:": _FILES, "Environment:": _ENVIRONMENT}
#: Examples of the commands whose modules define none.
EXAMPLES = {
    "": """\b
Examples:
  mptcplab doctor                           check what this machine lacks
  mptcplab kernel build                     build the lab kernel, once
  mptcplab init my.toml                     write a scenario, from a few questions
  mptcplab run examples/two-paths.toml      run an experiment
  mptcplab reproduce subramani2018/4.1      reproduce a published table
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
  mptcplab plan my.toml --node client --device link1=eth0,link2=wlan0 > client.sh
  mptcplab plan my.toml --node router --format uci --out router
""",
    "kernel": """\b
Examples:
  mptcplab kernel build        build the kernel that runs use, once
  mptcplab kernel list         list the kernels that are built
""",
    "kernel build": """\b
Examples:
  mptcplab kernel build                               the default version, from Debian's source
  mptcplab kernel build 6.12                          a long-term version; 6.1 is another
  mptcplab kernel build --source ~/linux --jobs 8     your own tree or tarball
""",
    "kernel list": """\b
Examples:
  mptcplab kernel list
  mptcplab kernel list --json | jq -r '.[].executable'
""",
    "gateways": """\b
Examples:
  mptcplab gateways build      build all programs, once
  mptcplab gateways list       list the built programs
""",
    "gateways build": """\b
Examples:
  mptcplab gateways build
  mptcplab gateways build go-shadowsocks2
""",
    "gateways list": """\b
Examples:
  mptcplab gateways list
  mptcplab gateways list --json | jq -r '.[] | select(.folder == null).name'
""",
    "cc": """\b
Examples:
  mptcplab cc load lia       let programs of this machine use LIA
  mptcplab cc list           list what can be loaded, and what is
  mptcplab cc unload lia     take it out of the kernel
""",
    "cc load": """\b
Examples:
  mptcplab cc load lia
  mptcplab cc load wvegas
""",
    "cc unload": """\b
Examples:
  mptcplab cc unload lia
""",
    "cc list": """\b
Examples:
  mptcplab cc list
  mptcplab cc list --json | jq -r '.[] | select(.state == "loaded").name'
""",
    "cc status": """\b
Examples:
  mptcplab cc status lia
""",
    "steer agent": """\b
Examples:
  mptcplab steer agent --config ap1.toml     beside hostapd, as root
""",
    "steer status": """\b
Examples:
  mptcplab steer status
  mptcplab steer status /run/mptcplab-steer.sock --json | jq .last.terminals
""",
    "steer program": """\b
Examples:
  mptcplab steer program       print the path; copy that file to the access points
""",
    "kernel path": """\b
Examples:
  mptcplab kernel path
  mptcplab kernel path 6.12
""",
}


def add_sections(command: click.Command, name: str) -> None:
    """Add the sections that the help of ``mptcplab NAME`` and of its subcommands lacks."""
    own_text = command.epilog or ""
    sections = [EXAMPLES[name]] if "Examples:" not in own_text and name in EXAMPLES else []
    sections += [own_text] if own_text else []
    sections += [section for title, section in SECTIONS.items() if title not in own_text]
    command.epilog = "\n".join(sections)
    for sub_name, subcommand in command.commands.items() if isinstance(command, click.Group) else ():
        add_sections(subcommand, f"{name} {sub_name}".strip())
