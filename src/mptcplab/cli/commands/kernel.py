# SPDX-License-Identifier: MIT
"""``mptcplab kernel``: builds the lab kernel, lists the built ones, prints the path of one."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli import shell_completion
from mptcplab.cli.options import defer_to, json_option, patch_option
from mptcplab.kernel.data import DEFAULT_HZ, DEFAULT_VERSION, FIXES, HZ_CHOICES

_source_option = click.option(
    "--source",
    type=click.Path(path_type=Path),
    metavar="TARBALL|TREE",
    help="Linux source to use instead of Debian's package; it is not changed.",
)
_plain_option = click.option(
    "--plain", is_flag=True, help="Mainline's network stack without our changes. Selected as 7.2-plain."
)
_fix_option = click.option(
    "--fix",
    "fixes",
    type=click.Choice(list(FIXES)),
    multiple=True,
    help="Include a fix for mainline that is not submitted yet. Repeatable. Selected as, for example, 7.2-window.",
)


@click.group()
def kernel() -> None:
    """Build lab kernels, and list the built ones."""


@kernel.command()
@click.argument("version", required=False, shell_complete=shell_completion.kernels)
@_source_option
@click.option("--jobs", type=click.IntRange(min=1), help="Compilers to run in parallel. Default: one per CPU.")
@click.option("--keep-tree", is_flag=True, help="Keep the built tree (2 GB), so that later builds continue in it.")
@click.option(
    "--debug", is_flag=True, help="Enable lockdep, KASAN and other checks, which are slow. Selected as 7.2-debug."
)
@click.option(
    "--hz",
    type=click.Choice([str(hz) for hz in HZ_CHOICES]),
    default=str(DEFAULT_HZ),
    show_default=True,
    help="Timer frequency of the kernel, in ticks per second. Selected as, for example, 7.2-hz100.",
)
@_plain_option
@click.option("--cpu", is_flag=True, help="Let a node's programs take CPU time, see docs/cpu.md. Selected as 7.2-cpu.")
@click.option("--wifi", is_flag=True, help="Let simulated radios push back, see docs/wifi.md. Selected as 7.2-wifi.")
@_fix_option
@patch_option("Patch to apply after ours. Repeatable. The kernel is then selected by its path or hash.")
@click.option("--check", is_flag=True, help="Only check that patches apply and the configuration is right.")
@json_option
@defer_to("mptcplab.cli.kernel:build")
def build() -> None:
    """Build the lab kernel of VERSION. Default: 7.2 (6.12 and 6.1 are long-term versions).

    A build takes about 4 minutes on 2 cores. A kernel that is already built is not built again. If its tree was kept
    (--keep-tree), only the files that changed are compiled: of kernel/net, of a git tree, or named by patches.
    """


@kernel.command(
    epilog="\b\nExamples:\n  mptcplab kernel tree ~/linux-lab\n  mptcplab kernel tree ~/linux-plain 6.12 --plain\n"
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("version", required=False, shell_complete=shell_completion.kernels)
@_source_option
@_plain_option
@_fix_option
@patch_option("Patch to commit after ours. Repeatable.")
@defer_to("mptcplab.cli.kernel:tree")
def tree() -> None:
    """Write a git tree to the new folder DIR: Linux VERSION, with a commit for each of the lab's patches.

    It is for making a patch: commit a change there, and build a kernel with what `git format-patch` writes, as
    `mptcplab kernel build --patch FILE`. The tree takes 2 GB and a few minutes.
    """


@kernel.command(name="list")
@json_option
@defer_to("mptcplab.cli.kernel:list_")
def list_() -> None:
    """List the lab kernels that are built. * marks the kernel that runs use; + 2 means two patches of --patch.

    A stale one was built from other patches or options than the present ones: no run uses it by its version. A kernel
    that names mptcplab-kernel was installed with that package.
    """


@kernel.command(epilog="\b\nExamples:\n  mptcplab kernel stock\n  mptcplab kernel stock 6.12\n")
@click.argument("version", required=False, shell_complete=shell_completion.stock_kernels)
@json_option
@defer_to("mptcplab.cli.kernel:stock")
def stock() -> None:
    """Obtain Debian's own kernel VERSION (such as 6.12) for `--engine stock`. Without VERSION, list the obtained ones.

    It is downloaded from Debian's packages (about 100 MB), without root and without changes to this machine's apt.
    """


@kernel.command()
@click.argument("version", default=DEFAULT_VERSION, shell_complete=shell_completion.kernels)
@click.option("--tree", is_flag=True, help="Print the path of the tree that --keep-tree kept.")
@defer_to("mptcplab.cli.kernel:path")
def path() -> None:
    """Print the path of the executable of the lab kernel VERSION. Default: the version that runs use."""
