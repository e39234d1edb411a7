# SPDX-License-Identifier: MIT
"""The program ``steer``, one file for machines without mptcplab: ``steer daemon|agent FILE``, ``steer status``."""

from __future__ import annotations

import json
import sys

from mptcplab.errors import Exit, InputError, LabError, MissingError, reason

#: Where the daemon listens unless its configuration says otherwise.
CONTROL = "/run/mptcplab-steer.sock"
_USAGE = "steer daemon FILE | steer agent FILE | steer status [SOCKET]"


def run_daemon(source: str) -> None:
    """Steer as a configuration says. :raises LabError: if that is wrong, or this machine lacks something."""
    from mptcplab.steering.configuration import daemon_config  # late: each side loads only what it needs
    from mptcplab.steering.daemon import Daemon
    from mptcplab.steering.kernel_link import check_path_manager

    config = daemon_config(source)
    check_path_manager()
    try:
        daemon = Daemon(config)
    except OSError as error:
        hint = "run it as root, on Linux with MPTCP, with an address of this machine in `listen`"
        raise MissingError(f"the daemon cannot start: {reason(error)}", hint=hint) from error
    daemon.run()


def run_agent(source: str) -> None:
    """Report as a configuration says. :raises LabError: if that is wrong, or this machine lacks something."""
    from mptcplab.steering.agent import AccessPointAgent
    from mptcplab.steering.configuration import agent_config

    config = agent_config(source)
    try:
        agent = AccessPointAgent(config)
    except OSError as error:
        hint = f"are these interfaces of this machine: {', '.join(config.devices)}?"
        raise MissingError(f"the agent cannot start: {reason(error)}", hint=hint) from error
    agent.run()


def main(arguments: list[str]) -> int:
    """Run the program; return its exit status."""
    try:
        match arguments:
            case ["daemon", source]:
                run_daemon(source)
            case ["agent", source]:
                run_agent(source)
            case ["status", *path] if len(path) < 2:
                from mptcplab.steering.control import read_status

                print(json.dumps(read_status(path[0] if path else CONTROL), indent=2))
            case _:
                raise InputError("this is not a command of steer", hint=_USAGE)
    except LabError as error:
        print(f"steer: {error.message}\n  hint: {error.hint}", file=sys.stderr)
        return int(error.status)
    except KeyboardInterrupt:
        return int(Exit.INTERRUPTED)
    return 0
