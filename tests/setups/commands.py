# SPDX-License-Identifier: MIT
"""The commands that are compared, and how one runs in a root file system."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tests.setups.roots import REPOSITORY, SITE

from mptcplab.cache import cache_root
from mptcplab.errors import LabError

#: The checkout, the results and the cache folder in a root file system.
_CHECKOUT, _OUT, _CACHE = "/mptcplab", "/out", "/cache"
#: Folders of the cache that all set-ups share: the kernel is the same file everywhere.
_SHARED = ("kernels", "sources")
#: More variables, and a longer search path, than this machine has.
_LONG_ENVIRONMENT = {f"UNUSED_{number}": "x" * 500 for number in range(40)}


@dataclass(frozen=True)
class Comparison:
    """A command of mptcplab, and the folder or the options by which it writes its results."""

    name: str
    arguments: tuple[str, ...]
    out: tuple[str, ...]
    statuses: tuple[int, ...] = (0,)


def comparisons(kernel: str) -> list[Comparison]:
    """Return all comparisons with the lab kernel of this name."""
    examples = ("two-paths", "loss", "iperf3", "requests", "web", "transfer", "failure")
    runs = [
        Comparison(
            f"example {name}", ("run", f"{_CHECKOUT}/examples/{name}.toml", "--set", f"kernel={kernel}"), ("--out",)
        )
        for name in examples
    ]
    # A verdict may be another with few seeds.
    studies = [
        Comparison(f"study {table}", ("reproduce", table, "--quick", "--set", f"kernel={kernel}"), ("--out",), (0, 1))
        for table in ("nguyen2014/rtt", "subramani2018/4.2")
    ]
    suites = ("diag", "pm_netlink", "mptcp_sockopt", "mptcp_join/remove_tests", "mptcp_join/add_addr_ports_tests")
    tests = [
        Comparison(f"suite {name}", ("selftest", name, "--kernel", kernel, "--json"), ("--out",)) for name in suites
    ]
    return [*runs, *studies, *tests]


def folder_of(comparison: Comparison, out: Path) -> Path:
    """Return the folder of the comparison's results below a set-up's folder of results."""
    return out / comparison.name.replace(" ", "-").replace("/", "-")


def run_in(
    root: Path, comparison: Comparison, out: Path, *, long_environment: bool
) -> subprocess.CompletedProcess[str]:
    """Run a comparison in a root file system, with its results below ``out``, and return how it ended."""
    target = folder_of(comparison, Path(_OUT))
    argv = ["/usr/bin/python3", "-m", "mptcplab", *comparison.arguments, *comparison.out, str(target)]
    places = {REPOSITORY: _CHECKOUT, out: _OUT, Path("/proc"): "/proc", Path("/dev"): "/dev", Path("/sys"): "/sys"}
    for name in _SHARED:
        # A cache that no selftest has used has no folder of theirs.
        (cache_root() / name).mkdir(parents=True, exist_ok=True)
        places[cache_root() / name] = f"{_CACHE}/mptcplab/{name}"
    variables = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONPATH": f"{_CHECKOUT}/src:{SITE}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_CACHE_HOME": _CACHE,
        "HOME": "/root",
        "LC_ALL": "C.UTF-8",
    }
    if long_environment:
        variables |= _LONG_ENVIRONMENT
        variables["PATH"] = f"{':'.join(f'/no/such/folder/{number}' for number in range(50))}:{variables['PATH']}"
    return subprocess.run(
        ["unshare", "--mount", "sh", "-ec", _script(root, places, argv)],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )


def _script(root: Path, places: dict[Path, str], argv: Sequence[str]) -> str:
    """Return shell commands that run ``argv`` in ``root``, with folders of this machine at their ``places`` there."""
    lines = ["mount --make-rprivate /"]
    for source, place in places.items():
        target = shlex.quote(f"{root}{place}")
        lines += [f"mkdir -p {target}", f"mount --rbind {shlex.quote(str(source))} {target}"]
    return "\n".join([*lines, f"exec chroot {shlex.quote(str(root))} {shlex.join(argv)}"])


def run_main(main: Callable[[], int]) -> NoReturn:
    """End this process with the status that ``main`` returns, or print its error and end with the error's status."""
    try:
        sys.exit(main())
    except LabError as error:
        print(f"setups: {error.message}\n  hint: {error.hint}", file=sys.stderr)
        sys.exit(error.status)
