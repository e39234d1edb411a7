# SPDX-License-Identifier: MIT
"""The shell text of one run on one machine: files that scripts beside this module read, and one-shot scripts."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from mptcplab.steps import Call, Command, Counter, Program, Queue
from mptcplab_ssh.fitting import FittedNode

#: The folder with a folder of every run on a machine. In memory: a restart of the machine ends it as well.
ROOT = "/run/mptcplab-ssh"
#: The program that samples sockets and queues; names of workloads have no dot.
SAMPLER = "samples.node"
#: All states in which data was or can be carried, as the guest samples them.
_STATES = "state connected exclude syn-sent exclude syn-recv exclude time-wait"
_END = "END_OF_FILE"


def folder_of(node: str) -> str:
    """Return the folder of a run as ``node`` of a machine."""
    return f"{ROOT}/{node}"


@cache
def read_script(name: str) -> str:
    """Return the text of a script beside this module."""
    return (Path(__file__).parent / name).read_text()


def files_of(
    fitted: FittedNode,
    *,
    back: Mapping[int, Sequence[str]],
    lease_seconds: int,
    events: Mapping[str, Sequence[Command]],
    interval_ns: int | None,
) -> dict[str, str]:
    """Return the files of the run's folder. ``back`` are the lines that put back each interface, by number.

    ``events`` are the commands of each event that has some here, by the name of its function. ``interval_ns`` is the
    time between samples, if any are taken.
    """
    steps = [_function("setup", fitted.commands), _count_function(fitted.counters)]
    steps += [_function(name, commands) for name, commands in events.items()]
    files = {
        "node.sh": _variables(fitted, lease_seconds),
        "keeper.sh": read_script("keeper.sh"),
        "agent.sh": read_script("agent.sh"),
        "steps.sh": "\n".join(steps),
        "lease": "0\n",
    }
    files |= {f"back-{number}.sh": "".join(f"{line}\n" for line in lines) for number, lines in back.items()}
    files |= {f"run-{program.name}.sh": _program(program) for program in fitted.programs}
    if interval_ns is not None:
        files[f"run-{SAMPLER}.sh"] = _sampler(fitted.queues, interval_ns)
    return files


def _variables(fitted: FittedNode, lease_seconds: int) -> str:
    lines = [f"NS=mptcplab.{fitted.node}", f"LEASE={lease_seconds}", f"COUNT={len(fitted.interfaces)}"]
    for number, (link, interface) in enumerate(fitted.interfaces.items(), start=1):
        lines += [f"OLD_{number}={interface.device}", f"NEW_{number}={link}"]
    lines.append(f"FLOW={shlex.quote(fitted.machine.flow or '')}")
    return "".join(f"{line}\n" for line in lines)


def _function(name: str, commands: Iterable[Command]) -> str:
    """Return a function that executes ``commands`` up to the first that fails."""
    lines = [
        f"\tAT={number}; {shlex.join(command.argv)} >&2 || return" for number, command in enumerate(commands, start=1)
    ]
    return "\n".join([f"{name}() {{", *lines, "\t:", "}"])


def _count_function(counters: Iterable[Counter]) -> str:
    lines = [
        f"\tAT={number}; {shlex.join(counter.argv)} >{shlex.quote(f'counters/{counter.name}')} || return"
        for number, counter in enumerate(counters, start=1)
    ]
    return "\n".join(["count() {", *lines, "\t:", "}"])


def _program(program: Program) -> str:
    return f"echo $$ >{shlex.quote(f'pid-{program.name}')}\ncd /tmp\nexec {Call(program.argv)}\n"


def _sampler(queues: Sequence[Queue], interval_ns: int) -> str:
    devices = dict.fromkeys(queue.device for queue in queues)
    lines = [f"\techo '# {device}'; tc -s -j qdisc show dev {device}; echo" for device in devices]
    return "\n".join(
        [
            f"echo $$ >'pid-{SAMPLER}'",
            'now() { while read -r a b at d; do [ "$a" = now ] && break; done </proc/timer_list; echo "@ $at"; }',
            "while :; do",
            "\tnow",
            f"\tss -tinOH {_STATES}",
            *lines,
            f"\tsleep {interval_ns / 1e9:g} || sleep 1",
            "done",
            "",
        ]
    )


def opening_script(node: str, files: Mapping[str, str], owner: str) -> str:
    """Return the script that makes the run's folder and starts the keeper, before anything is changed."""
    folder = folder_of(node)
    lines = ["umask 077", f"mkdir -p {ROOT} && mkdir {folder} && cd {folder} || exit", "mkdir out counters || exit"]
    for name, text in files.items():
        body = text if text.endswith("\n") else f"{text}\n"
        lines.append(f"cat >{shlex.quote(name)} <<'{_END}' || exit\n{body}{_END}")
    return "\n".join(
        [
            *lines,
            f"echo {shlex.quote(owner)} >owner",
            "cat /proc/sys/kernel/random/boot_id >boot",
            "[ -e /run/netns ] || echo FRESH=1 >>node.sh",
            "SETSID=$(command -v setsid)",
            f"$SETSID sh ./keeper.sh watch {folder} </dev/null >/dev/null 2>&1 &",
            "tries=0",
            "while [ ! -s keeper.pid ]; do",
            "\t[ $tries -lt 50 ] || { echo 'the keeper does not start' >&2; exit 1; }",
            "\tsleep 0.1 2>/dev/null || sleep 1",
            "\ttries=$((tries + 1))",
            "done",
            "echo open",
            "",
        ]
    )


#: Whether the keeper of the run in this folder works.
_LIVES = r"""
lives() {
	read -r pid <keeper.pid && tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q "keeper.sh .* *$PWD"
} 2>/dev/null
now() { sh ./keeper.sh now "$PWD" </dev/null >/dev/null 2>&1; }
"""


def cleaning_script(names: Sequence[str], lease_seconds: int) -> str:
    """Return the script that ends the runs ``names``, if they are over; it prints what stands in the way.

    A run that is still in contact with its own command changes its lease; ``lease_seconds`` is our guess of its length.
    """
    return f"""{_LIVES}
for name in {" ".join(map(shlex.quote, names))}; do
	cd "{ROOT}/$name" 2>/dev/null || continue
	if [ "$(cat boot 2>/dev/null)" != "$(cat /proc/sys/kernel/random/boot_id)" ]; then
		# Made before the machine started, or never finished: then nothing was changed.
		cd / && rm -rf "{ROOT}/$name"
		continue
	fi
	read -r before <lease
	tries=0
	while lives && [ $tries -lt {lease_seconds + 60} ]; do
		sleep 1
		read -r now <lease || break
		[ "$now" = "$before" ] || {{ read -r owner <owner; echo "busy $name $owner"; break; }}
		tries=$((tries + 1))
	done 2>/dev/null
	[ ! -e "{ROOT}/$name/node.sh" ] || lives || now
	[ -s failed ] && {{ read -r text <failed; echo "stuck $name $text"; }}
done
:
"""


def last_message(node: str, program: str) -> str:
    """Return the script that prints the end of a program's standard error, or else of its standard output."""
    error, output = (shlex.quote(f"out/{program}.{kind}") for kind in ("err", "out"))
    return f"cd {folder_of(node)} && if [ -s {error} ]; then tail -c 1000 {error}; else tail -c 1000 {output}; fi"


def collecting_script(node: str) -> str:
    """Return the script that prints every result: a line with name and size before each file's bytes."""
    return f"""
cd {folder_of(node)} || exit
for file in out/* counters/*; do
	[ -f "$file" ] || continue
	echo "$file $(($(wc -c <"$file")))"
	cat "$file"
done
"""


def ending_script(node: str, lease_seconds: int) -> str:
    """Return the script that makes the keeper put the machine back, waits for it, and prints what it could not do."""
    return f"""{_LIVES}
cd {folder_of(node)} 2>/dev/null || exit 0
: >end
tries=0
while lives && [ $tries -lt {10 * lease_seconds + 300} ]; do
	sleep 0.1 2>/dev/null || sleep 1
	tries=$((tries + 1))
done
[ ! -e node.sh ] || lives || [ -s failed ] || now
if [ -s failed ]; then cat failed; elif [ -e node.sh ]; then echo "the keeper does not end"; fi
:
"""
