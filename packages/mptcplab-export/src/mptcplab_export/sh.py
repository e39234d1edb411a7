# SPDX-License-Identifier: MIT
"""A shell script that configures a machine, and restores it.

Each step of ``up`` is written down with the command that undoes it, in a file that ``down`` executes. So ``down`` is
right even if the script has been exported again since, and a step that fails undoes those before it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from mptcplab.plan.export import ExportedFile
from mptcplab.steps import Command
from mptcplab_export.model import Configuration, ExportInterface, Service
from mptcplab_export.parts import deletion, new_table

_STEP = """\
# Run a command.
try() {
	"$@" || {
		echo "$0: this failed: $*" >&2
		exit 1
	}
}

# Let `down` run a command before the commands of earlier steps.
keep() {
	steps="$1
$steps"
	printf '%s' "$steps" > "$undoing"
}

# Run a command that the one in $1 undoes.
step() {
	undo=$1
	shift
	try "$@"
	keep "$undo"
}

setting() {
	step "sysctl -qw '$1=$(sysctl -n "$1")'" sysctl -qw "$1=$2"
}

# An address that the machine already has stays when the others are removed.
address() {
	[ -n "$(ip -o address show dev "$1" to "$2")" ] ||
		step "ip address delete $2/$3 dev $1" ip address add "$2/$3" dev "$1" ${4:-}
}

interface() {
	[ -n "$(ip -o link show dev "$1" up)" ] || step "ip link set dev $1 down" ip link set dev "$1" up
}
"""
_ROUTE = """\
route() {
	step "ip route delete $*" ip route add "$@"
}
"""
_RULE = """\
rule() {
	step "FAMILY delete $*" FAMILY add "$@"
}
"""
_AFTER = """\
# The word after $1 in the others.
after() {
	wanted=$1
	shift
	while [ "$1" != "$wanted" ]; do shift; done
	echo "$2"
}
"""
_MTU = """\
mtu() {
	step "ip link set dev $1 mtu $(after mtu $(ip -o link show dev "$1"))" ip link set dev "$1" mtu "$2"
}
"""
_ENDPOINT = """\
# The kernel numbers endpoints, and deletes them by their numbers.
endpoint() {
	shown=$1
	shift
	try ip mptcp endpoint add "$@"
	keep "ip mptcp endpoint delete id $(number "$shown")"
}

number() {
	ip mptcp endpoint show | while read -r line; do
		case $line in
		"$1 id "*) after id $line ;;
		esac
	done
}
"""
_WRITE = """\
write() {
	(umask 077 && printf '%s\\n' "$2" > "$1")
	keep "rm -f $1"
}
"""
_SERVICE = """\
service() {
	log=/run/mptcplab-$1.log
	shift
	setsid "$@" < /dev/null > "$log" 2>&1 &
	keep "kill -s TERM -- -$!"
}
"""
_DOWN = """\
down() {
	[ -e "$undoing" ] || return 0
	# What has vanished meanwhile cannot be undone.
	set +e
	. "$undoing"
	set -e
	rm "$undoing"
}

case ${1:-} in
up)
	down
	trap '[ $? = 0 ] || down' EXIT
	trap 'exit 130' INT TERM
	up
	;;
down)
	down
	;;
*)
	echo "usage: sh $0 up | down" >&2
	exit 2
	;;
esac
"""


def write(configuration: Configuration) -> tuple[ExportedFile, ...]:
    """Return the script."""
    return (ExportedFile(f"{configuration.node}.sh", "\n".join(_lines(configuration)), 0o700),)


def programs(configuration: Configuration) -> tuple[str, ...]:
    """Return the names of the programs that the script starts, without its services' programs."""
    texts = ["ip", "rm", "sysctl"]
    texts += ["nft"] if configuration.tables else []
    texts += ["setsid"] if configuration.services else []
    texts += ["env"] if any(service.environment for service in configuration.services) else []
    return tuple(texts)


def _lines(configuration: Configuration) -> Iterator[str]:
    name = f"{configuration.node}.sh"
    yield "#!/bin/sh"
    yield f"# Configures this machine as the node {configuration.node} of: {configuration.title}"
    yield "# Made by `mptcplab plan`. Run it as root:"
    yield f"#   sh {name} up      configure; repeat it after a restart, or with a newer version of this script"
    yield f"#   sh {name} down    restore what was before"
    yield f"# It needs {', '.join(programs(configuration))}."
    yield from (f"# {note}" for note in configuration.notes)
    yield from ("set -eu", "", "# The commands that `down` executes.")
    yield from (f"undoing=/run/mptcplab-{configuration.node}.undo", "steps=", "")
    yield from _functions(configuration)
    yield "up() {"
    yield from (f"\t{line}" if line else "" for line in _setup_lines(configuration))
    yield from ("}", "", _DOWN)


def _functions(configuration: Configuration) -> Iterator[str]:
    has_mtu = any(interface.mtu is not None for interface in configuration.interfaces)
    yield _STEP
    if configuration.routes:
        yield _ROUTE
    if configuration.rules:
        yield _RULE.replace("FAMILY", "ip -6 rule" if configuration.is_v6 else "ip rule")
    if has_mtu or configuration.endpoints:
        yield _AFTER
    if has_mtu:
        yield _MTU
    if configuration.endpoints:
        yield _ENDPOINT
    if any(service.files for service in configuration.services):
        yield _WRITE
    if configuration.services:
        yield _SERVICE


def _setup_lines(configuration: Configuration) -> Iterator[str]:
    yield "# Settings"
    yield from (f"setting {shlex.join(pair)}" for pair in configuration.settings)
    for interface in configuration.interfaces:
        yield from _interface(interface)
    if configuration.routes:
        yield from ("", "# Routes, and rules that select their tables")
    yield from (f"route {_words_after_add(route.command(configuration.node))}" for route in configuration.routes)
    yield from (f"rule {_words_after_add(rule.command(configuration.node))}" for rule in configuration.rules)
    if configuration.limits is not None:
        yield from ("", "# MPTCP's path manager")
        yield f'step "ip mptcp limits set $(ip mptcp limits show)" {shlex.join(configuration.limits.command())}'
    for endpoint in configuration.endpoints:
        yield f"endpoint {shlex.quote(' '.join(endpoint.name()))} {shlex.join(endpoint.addition()[4:])}"
    for table in configuration.tables:
        yield from ("", "# Packet rules", f"{_step(deletion(table), ('nft', '-f', '-'))} <<- 'END'")
        yield from new_table(table)
        yield "END"
    for service in configuration.services:
        yield from ("", f"# {service.name}")
        yield from (f"write {shlex.join(file)}" for file in service.files)
        yield f"service {shlex.quote(service.name)} {_call(service)}"


def _interface(interface: ExportInterface) -> Iterator[str]:
    yield from (
        "",
        f"# {interface.device}" + (f": the scenario's {interface.link}" if interface.device != interface.link else ""),
    )
    if interface.mtu is not None:
        yield f"mtu {interface.device} {interface.mtu}"
    # Routes need the address at once.
    usable = " nodad" if interface.address.version == 6 else ""
    yield f"address {interface.device} {interface.address.ip} {interface.address.network.prefixlen}{usable}"
    yield f"interface {interface.device}"


def _words_after_add(command: Command) -> str:
    """Return the words after ``add``."""
    return shlex.join(command.argv[command.argv.index("add") + 1 :])


def _step(undo: tuple[str, ...], command: tuple[str, ...]) -> str:
    return f"step {shlex.quote(shlex.join(undo))} {shlex.join(command)}"


def _call(service: Service) -> str:
    variables = [f"{name}={shlex.quote(value)}" for name, value in service.environment]
    return " ".join((*(("env", *variables) if variables else ()), shlex.join(service.argv)))
