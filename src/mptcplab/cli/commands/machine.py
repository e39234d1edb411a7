# SPDX-License-Identifier: MIT
"""The commands about this machine: what it lacks, what its programs cost, what its kernels do, its shells."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli import shell_completion
from mptcplab.cli.options import (
    DeferredChoice,
    beds_option,
    defer_to,
    engine_option,
    json_option,
    junit_option,
    patch_option,
    set_option,
)
from mptcplab.selftest import DEFAULT_SCRIPTS

# ``mptcplab doctor``.

_DOCTOR_EPILOG = """\b
Examples:
  mptcplab doctor
  mptcplab doctor --json | jq -r '.commands[]'
  mptcplab doctor --for sriaimsard2019                   what its tables lack, and one command that gets it
  mptcplab doctor --for sriaimsard2019 --install         get it
  mptcplab doctor --for my.toml --set kernel=7.2-hz100
  mptcplab doctor --for ito2016 --beds 32
  mptcplab doctor --packages lab

\b
Exit status:
  0    experiments can run on this machine; something for another purpose may be missing.
       With --for: nothing that they need is missing
  2    the input is invalid
  3    experiments cannot run: the report names what is broken and the command that fixes it.
       With --for: something that they need is missing, also after --install
  130  interrupted
"""


@click.command(epilog=_DOCTOR_EPILOG)
@click.option(
    "--for",
    "names",
    multiple=True,
    metavar="FILE|STUDY[/TABLE]",
    shell_complete=shell_completion.files_and_tables,
    help="Report only what is missing for this scenario, or for these tables of a study: Debian packages, lab kernels,"
    " programs of gateways, and what building these takes. Repeatable.",
)
@click.option(
    "--install",
    "installs",
    is_flag=True,
    help="Get what is missing: install packages with apt, as root or by sudo, and build the rest. It asks nothing, and"
    " services of the packages are not started.",
)
@set_option("Set a key of every scenario of --for. Repeatable.")
@engine_option("Engine that is to execute the runs of --for.")
@beds_option("With --for: what `mptcplab reproduce STUDY --beds N` needs, whose kernels and settings can differ.")
@click.option(
    "--packages",
    "wanted",
    type=click.Choice(["lab", "gateways", "wifi"]),
    help="Print only the Debian packages that this machine lacks: of the programs that scenarios and captures start,"
    " of those gateways that Debian has, or of radio links.",
)
@json_option
@defer_to("mptcplab.cli.doctor:doctor")
def doctor() -> None:
    """Check what this machine lacks, and name the commands that fix it.

    It checks Python and its packages, the programs that labs and kernel builds use, space on disk and in memory,
    limits, and the lab kernels. Then it boots an empty lab. Each line is fine, missing (something is needed for the
    purpose that the line names) or broken (experiments cannot run).

    With --for, it checks only what some experiments need, and finds all of it at once.
    """


# ``mptcplab calibrate``: measures what a program costs on this machine's CPU.

_CALIBRATE_EPILOG = """\b
Examples:
  mptcplab calibrate shadowsocks-libev
  mptcplab calibrate shadowsocks-libev --cipher aes-256-gcm --json | jq '.[].cpu'
  mptcplab calibrate iperf3 --seconds 3 --repeats 5
"""


@click.command(epilog=_CALIBRATE_EPILOG)
@click.argument("program", type=DeferredChoice("mptcplab.calibrate.programs:PROGRAMS"))
@click.option(
    "--cipher", "ciphers", multiple=True, help="Cipher of the program. Repeatable. Default: all that are known."
)
@click.option(
    "--seconds", type=click.FloatRange(0.2, 60), default=1.0, show_default=True, help="Duration of each load."
)
@click.option(
    "--repeats",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    help="Runs of each load, of which the one with the least CPU time counts.",
)
@json_option
@defer_to("mptcplab.cli.calibrate:calibrate")
def calibrate() -> None:
    """Measure the CPU time of PROGRAM per system call and per byte, for the key `cpu` of a node.

    It runs natively on this machine, as root, in a network namespace of its own, and carries traffic of several kinds.
    Its CPU time, system calls and bytes give the two costs. CPU time depends little on other programs that run
    meanwhile, but caches are shared: an idle machine is better.
    """


# ``mptcplab selftest``.

_SELFTEST_EPILOG = f"""\b
NAME is a script in tools/testing/selftests/net/mptcp, or a group of mptcp_join, such as mptcp_join/add_tests.
With --patch, it can be a script in tools/testing/selftests/net that a patch adds or changes.
Default: {", ".join(DEFAULT_SCRIPTS)}.

\b
Examples:
  mptcplab selftest
  mptcplab selftest pm_netlink mptcp_join/fullmesh_tests --out logs
  mptcplab selftest simult_flows mptcp_connect --scheduler blest
  mptcplab selftest pm_netlink diag --junit tests.xml
  mptcplab selftest --kernel 7.2-plain --json > before.json
  mptcplab selftest --kernel PATH --baseline before.json
  mptcplab selftest --kernel 6.12 --json | jq '.results[] | select(.verdict == "not ok")'
"""


@click.command(epilog=_SELFTEST_EPILOG)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--kernel",
    "version",
    metavar="VERSION",
    shell_complete=shell_completion.kernels,
    help="Lab kernel; the selftests come from its source. Default: 7.2.",
)
@click.option(
    "--source",
    type=click.Path(path_type=Path),
    metavar="TARBALL|TREE",
    help="Source of the lab kernel, if it was not Debian's package.",
)
@patch_option("Patch to apply to the selftests. Repeatable. The kernel does not change.")
@click.option(
    "--congestion-control",
    default="",
    metavar="NAME",
    show_default=False,
    help="Congestion control of sockets that choose none. Default: the kernel's.",
)
@click.option(
    "--scheduler",
    default="",
    metavar="NAME",
    show_default=False,
    help="Scheduler of MPTCP sockets that choose none. Default: the kernel's.",
)
@click.option(
    "--seed", type=click.IntRange(0, 10**18), default=1, show_default=True, help="Seed of all random numbers."
)
@click.option("--jobs", type=click.IntRange(1, 1024), help="Labs to run in parallel. Default: one per CPU.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the complete output of the scripts.")
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Earlier output of --json with the same seed: show only what changed.",
)
@junit_option
@json_option
@defer_to("mptcplab.cli.selftest:selftest")
def selftest() -> None:
    """Run the kernel's own MPTCP selftests in virtual time, each in a separate lab.

    They come from the source of the lab kernel, and their helper programs are compiled once. The exit status is 1 if a
    test does not pass (with --baseline: if a result changed), and 3 if this machine lacks a program that a script
    checks for: nothing runs then.
    """


# ``mptcplab completion`` and the completion protocol for bash. :mod:`mptcplab.cli.shell_completion` provides the
# values.

_COMPLETION_EPILOG = """\b
Examples:
  mptcplab completion bash > ~/.local/share/bash-completion/completions/mptcplab
  mptcplab completion zsh > ~/.zfunc/_mptcplab     # with fpath+=(~/.zfunc) before compinit in ~/.zshrc
  mptcplab completion fish > ~/.config/fish/completions/mptcplab.fish
  eval "$(mptcplab completion bash)"               # this shell only

\b
Files:
  ~/.local/share/bash-completion/completions/mptcplab    bash (create the folder first)
  ~/.zfunc/_mptcplab                                     zsh
  ~/.config/fish/completions/mptcplab.fish               fish
"""


@click.command(epilog=_COMPLETION_EPILOG)
@click.argument("shell", type=DeferredChoice("mptcplab.cli.shell_completion:PLACES"))
@click.pass_context
@defer_to("mptcplab.cli.shell_completion:completion")
def completion() -> None:
    """Print the script with which SHELL completes mptcplab's commands, options and values.

    Values are scenario files, keys of --set, nodes, studies and their tables, and kernels.
    """
