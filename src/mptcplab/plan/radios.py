# SPDX-License-Identifier: MIT
"""Compile radio links: the medium (tools/radio), hostapd on access points, wpa_supplicant on stations, their watchers.

Set-up goes in this order, each step ending when it is done. The medium makes all radios and stays in the background.
Each radio moves to its node; hostapd starts. Interfaces get addresses and routes as cables do. Then all stations
start, and the set-up waits until each is associated. At time zero the nodes begin to move.

Programs that stay write below FOLDER. Their logs are read at the end.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mptcplab.node.cell import RadioCell, network_lines
from mptcplab.node.placed import Waypoint
from mptcplab.plan.estimate import sample_interval_ns
from mptcplab.scenario.events import Event
from mptcplab.scenario.network import Network
from mptcplab.scenario.wifi import AIR, ROAMING
from mptcplab.steps import OURS, Command, Counter, Program, shell
from mptcplab.units import Duration
from mptcplab.workload.base import WorkloadBase

# Compile events of radios to lines of the medium's configuration: they need no commands while workloads run.
#
# A silent failure of a radio link switches the station's radio off in the air, one of a node all its radios: they
# neither hear nor are heard, and the programs that use them find out as on real machines. A station's interface that
# is set down is not an event of the air.

#: Kinds of events of all radios of a node, in recordings.
RADIOS_OFF, RADIOS_ON = "radios-off", "radios-on"
_NS = 10**9
_STATES = {"down": "off", "up": "on"}


def is_of_air(network: Network, event: Event) -> bool:
    """Return whether the medium carries the event out."""
    if event.is_of_node:
        return True
    if event.is_of_path_manager:
        return False
    if network.scenario.links[event.link].radio is None:
        return False
    return event.type in _STATES and not _is_of_interface(network, event)


def air_kind(event: Event) -> str:
    """Return the kind that recordings call the event."""
    if event.is_of_node and event.type in _STATES:
        return RADIOS_OFF if event.type == "down" else RADIOS_ON
    return event.type


def air_value(event: Event) -> str:
    """Return what an event of a node changes, as text; empty if its kind says all."""
    if event.position is not None:
        return "to {:g}, {:g} m".format(*event.position)
    return f"{event.power_dbm:g} dBm" if event.power_dbm is not None else ""


def air_lines(network: Network, node: str, links: tuple[str, ...], radio: str) -> Iterator[str]:
    """Yield the changes of the ``radio`` of ``node`` at the end of ``links``, in the order of time."""
    for event in _sort_events(network):
        is_own = event.node == node if event.is_of_node else links == (event.link,)
        if not is_own or event.type == "move":
            continue
        word = f" {event.power_dbm:g}" if event.power_dbm is not None else ""
        yield f"{_STATES.get(event.type, event.type)} {radio} {seconds(int(event.at))}{word}"


def insert_jumps(network: Network, node: str) -> Iterator[Waypoint]:
    """Yield the waypoints of a node that events move: it leaves its place a nanosecond before it is at the next."""
    here = network.nodes[node].position
    for event in _sort_events(network):
        if event.type == "move" and event.node == node and event.position is not None and here is not None:
            if event.at > 1:
                yield Waypoint(int(event.at) - 1, here)
            yield Waypoint(int(event.at), event.position)
            here = event.position


def changes_air(network: Network) -> bool:
    """Return whether any event is the medium's."""
    return any(_sort_events(network))


def seconds(time_ns: int) -> str:
    """Return a time in seconds, to the nanosecond."""
    return f"{time_ns // _NS}.{time_ns % _NS:09}".rstrip("0").rstrip(".")


def _sort_events(network: Network) -> list[Event]:
    events = (event for event in network.scenario.events if is_of_air(network, event))
    return sorted(events, key=lambda event: int(event.at))


def _is_of_interface(network: Network, event: Event) -> bool:
    """Return whether a failure, or the failure that an ``up`` ends, sets the interface down."""
    if event.type == "down":
        return event.failure_mode == "interface"
    before = (failure for failure in network.scenario.events if failure.link == event.link and failure.type == "down")
    last = max((failure for failure in before if failure.at <= event.at), key=lambda item: int(item.at), default=None)
    return last is not None and last.failure_mode == "interface"


#: The medium and the watcher of radios, in plans.
RADIO = f"{OURS}radio"
FOLDER = "/run/wifi"
#: Standard output of this program has what the radios of its node hear.
WATCHER = "radio.{}"
#: Time in which a station must find its access point and associate: several scans.
_ASSOCIATION_S = 30
#: Walks end by then, though a run may take longer: an hour.
_LONGEST_WALK_NS = 3600 * _NS
#: A threshold for fragments that no frame reaches. mac80211's fast path does not know fragments: with any threshold it
#: is not used. In Linux 7.2 it leaves no room for what CCMP adds, since hwsim says that the radio encrypts, and lets
#: mac80211 do so later. Frames of some lengths are then dropped, each time that they are sent.
_NO_FRAGMENTS = "2346"
_PID = f"{FOLDER}/medium.pid"
_STATS = f"{FOLDER}/medium.json"


@dataclass(frozen=True)
class RadioPort:
    """A radio: the interface ``device`` of ``node``, in the cell of ``access_point``, at the end of ``links``.

    A station may also associate with the access points ``through``.
    """

    number: int
    node: str
    device: str
    access_point: str
    cell: RadioCell
    power_dbm: float
    links: tuple[str, ...]
    through: tuple[str, ...] = ()
    roam_below_dbm: float | None = None

    @property
    def name(self) -> str:
        """Its name for the medium and for ``iw phy``."""
        return f"radio{self.number}"

    @property
    def mac(self) -> str:
        """Its address."""
        return f"02:00:00:00:{self.number >> 8:02x}:{self.number & 255:02x}"

    @property
    def is_station(self) -> bool:
        """True if it is a station of the cell, not its access point."""
        return self.node != self.access_point


def radios_of(network: Network) -> list[RadioPort]:
    """Return all radios, by node: one of each access point, and one for each radio link of a station."""
    links = {name: link for name, link in network.scenario.links.items() if link.radio is not None}
    if not links:
        return []
    roamed = {node for group in network.roaming_groups for node in group}
    radios: list[RadioPort] = []
    for node, settings in network.nodes.items():
        ports = [port for port in network.ports_of(node) if port.link in links]
        cell = settings.cell(node)
        if cell is not None and (ports or node in roamed):
            served = tuple(port.link for port in ports)
            radios.append(RadioPort(len(radios) + 1, node, AIR, node, cell, cell.power_dbm, served))
        elif cell is None:
            for port in ports:
                radio = links[port.link].radio
                assert radio is not None, "it is one of the radio links"
                of = network.nodes[port.peer].cell(port.peer)
                assert of is not None, "checked when the scenario was loaded"
                place = (len(radios) + 1, node, port.device, port.peer, of, radio.power_dbm, (port.link,))
                radios.append(RadioPort(*place, radio.through, radio.roam_below_dbm))
    return radios


def tracks_of(network: Network, seed: int) -> dict[str, list[Waypoint]]:
    """Return where each node with a radio is over time."""
    end_ns = min(_LONGEST_WALK_NS, max(_end_ns(workload) for workload in network.scenario.workloads.values()))
    nodes = dict.fromkeys(radio.node for radio in radios_of(network))
    return {node: [*network.nodes[node].track(node, seed, end_ns), *insert_jumps(network, node)] for node in nodes}


def air_commands(network: Network, seed: int) -> Iterator[Command]:
    """Yield the commands that make the radios and start the access points; none without radio links."""
    radios = radios_of(network)
    if not radios:
        return
    config = "\n".join(_medium_configuration(network, radios, seed))
    yield _shell(None, f"mkdir -p {FOLDER} && printf '%s\\n' {shlex.quote(config)} >{FOLDER}/medium.conf", "mkdir")
    medium = (RADIO, f"{FOLDER}/medium.conf", "--background", _PID, "--stats", _STATS, "--move-on-usr2")
    yield Command(None, medium)
    # An interface gets the name of its radio first, since names of interfaces on different nodes may be equal.
    line = f"for radio in {' '.join(radio.name for radio in radios)}; do "
    line += 'ip link set dev "$(ls /sys/class/ieee80211/$radio/device/net)" name $radio || exit; done'
    yield _shell(None, line, "ip", "ls")
    for radio in radios:
        # `iw` looks for a name in /sys, which does not have the radios of other namespaces.
        if network.scenario.wifi.rts_bytes is not None:
            yield Command(None, ("iw", "phy", radio.name, "set", "rts", str(network.scenario.wifi.rts_bytes)))
        if radio.cell.passphrase is not None:
            yield Command(None, ("iw", "phy", radio.name, "set", "frag", _NO_FRAGMENTS))
        yield Command(None, ("iw", "phy", radio.name, "set", "netns", "name", radio.node))
        yield Command(radio.node, ("ip", "link", "set", "dev", radio.name, "name", radio.device))
    yield from _switches(network)
    for radio in radios:
        if not radio.is_station:
            is_roamed = any(radio.node in group for group in network.roaming_groups)
            yield from _access_point(radio, ROAMING if is_roamed else None)


def _switches(network: Network) -> Iterator[Command]:
    """Yield the commands that join the access points between which stations roam: bridges, and cables of a star."""
    for group in network.roaming_groups:
        for number, node in enumerate(group):
            # An address of its own: by default it has a port's, and changes with the ports.
            mac = ("address", f"02:00:00:01:00:{number + 1:02x}")
            yield Command(node, ("ip", "link", "add", "name", ROAMING, *mac, "type", "bridge", "forward_delay", "0"))
            yield Command(node, ("ip", "link", "set", "dev", ROAMING, "up"))
        for number, node in enumerate(group[1:], start=1):
            cable = f"ess0.{number}"
            ends = ("netns", group[0], "type", "veth", "peer", "name", cable, "netns", node)
            yield Command(None, ("ip", "link", "add", "name", cable, *ends))
            for end in (group[0], node):
                yield Command(end, ("ip", "link", "set", "dev", cable, "master", ROAMING, "up"))
                yield Command(end, ("ethtool", "-K", cable, "tso", "off", "gso", "off", "gro", "off"))


def station_commands(network: Network) -> Iterator[Command]:
    """Yield the commands that start all stations, and wait until each is associated."""
    radios = radios_of(network)
    access_points = {radio.node: radio for radio in radios if not radio.is_station}
    stations = [radio for radio in radios if radio.is_station]
    for radio in stations:
        candidates = [access_points[node] for node in (radio.access_point, *radio.through)]
        lines = (*network_lines({port.mac: port.cell for port in candidates}, radio.roam_below_dbm), "")
        config = "p2p_disabled=1\nnetwork={\n" + "\n".join(lines) + "}"
        base = _file(radio)
        line = f"printf '%s\\n' {shlex.quote(config)} >{base}.conf && mkfifo {base}.events && "
        line += f"{{ wpa_supplicant -Dnl80211 -i{radio.device} -c{base}.conf >{base}.events 2>&1 & }}"
        yield _shell(radio.node, line, "mkfifo", "wpa_supplicant")
    for radio in stations:
        base = _file(radio)
        names = " or ".join((radio.access_point, *radio.through))
        far = f"{radio.node} does not associate with {names} within {_ASSOCIATION_S} s"
        line = f"exec 3<{base}.events; timeout {_ASSOCIATION_S} sed -u /CTRL-EVENT-CONNECTED/q <&3 >{base}.log || "
        line += f"{{ echo {shlex.quote(f'{far}: is it too far away?')} >&2; exit 1; }}; "
        line += f"{{ cat <&3 >>{base}.log & }}"
        yield _shell(radio.node, line, "timeout", "sed", "cat")
        yield from _bitrates(radio)


def radio_programs(network: Network) -> Iterator[Program]:
    """Yield the watchers, a server on each node with radios, and the program that lets the nodes move."""
    radios = radios_of(network)
    if not radios:
        return
    every = f"{sample_interval_ns(network.scenario) / _NS:g}"
    for node in dict.fromkeys(radio.node for radio in radios):
        devices = [radio.device for radio in radios if radio.node == node]
        yield Program(WATCHER.format(node), node, "server", (RADIO, "watch", "--every", every, *devices))
    if changes_air(network) or any(network.nodes[radio.node].moves for radio in radios):
        call = shell(f'read pid <{_PID} && kill -USR2 "$pid"')
        yield Program("radios.move", radios[0].node, "client", call.argv, deadline_ns=_NS, starts=call.starts)


def radio_counters(network: Network) -> Iterator[Counter]:
    """Yield the counters of the medium, and the logs of hostapd and wpa_supplicant."""
    radios = radios_of(network)
    for radio in radios:
        name = "hostapd.log" if not radio.is_station else f"wpa_supplicant-{radio.device}.log"
        yield Counter(radio.node, name, ("cat", f"{_file(radio)}.log"))
    if radios:
        line = f'rm -f {_STATS}; read pid <{_PID}; kill -USR1 "$pid"; until [ -e {_STATS} ]; do sleep 0.001; done; '
        call = shell(f"{line}cat {_STATS}", "rm", "sleep", "cat")
        yield Counter(radios[0].node, "medium.json", call.argv, starts=call.starts)


def _medium_configuration(network: Network, radios: Iterable[RadioPort], seed: int) -> Iterator[str]:
    """Yield the lines of the medium's configuration, see ``radio --help``."""
    wifi = network.scenario.wifi
    tracks = tracks_of(network, seed)
    yield f"seed {seed}"
    distance = f"log-distance {wifi.exponent:g} {wifi.reference_loss_db:g}"
    yield f"path-loss {distance if wifi.path_loss == 'log-distance' else 'free-space'}"
    yield f"shadowing-db {wifi.shadowing_db:g}"
    yield f"capture-db {wifi.capture_db:g}"
    yield f"default noise-dbm {wifi.noise_dbm:g} sensitivity-dbm {wifi.sensitivity_dbm:g}"
    if wifi.rts_bytes is not None and any(radio.cell.mode == "802.11n" for radio in radios):
        # mac80211's own threshold, set with `iw`, does not concern the rates of 802.11n.
        yield f"rts-bytes {wifi.rts_bytes}"
    if any(radio.cell.is_5_ghz for radio in radios):
        # hwsim's first domain, which allows access points at 5 GHz.
        yield "regulatory-domain 0"
    for radio in radios:
        first = tracks[radio.node][0].position
        words = f"radio {radio.name} {radio.mac} at {_metres(first)} power-dbm {radio.power_dbm:g}"
        yield f"{words} dsss-only" if radio.cell.mode == "802.11b" else words
        for later in tracks[radio.node][1:]:
            yield f"move {radio.name} {seconds(later.at_ns)} {_metres(later.position)}"
        yield from air_lines(network, radio.node, radio.links if radio.is_station else (), radio.name)


def _end_ns(workload: WorkloadBase) -> int:
    """Return the latest end of a workload, from time zero."""
    duration: Duration | None = getattr(workload, "duration", None)
    return int(workload.latest_start) + int(workload.timeout if duration is None else duration)


def _metres(position: tuple[float, float]) -> str:
    return " ".join(f"{metres:.2f}" for metres in position)


def _access_point(radio: RadioPort, bridge: str | None) -> Iterator[Command]:
    base = _file(radio)
    config = "\n".join(radio.cell.hostapd(radio.device, bridge))
    line = f"printf '%s\\n' {shlex.quote(config)} >{base}.conf; hostapd -B -t -f {base}.log {base}.conf >&2"
    yield _shell(radio.node, line, "hostapd")
    yield from _bitrates(radio)


def _bitrates(radio: RadioPort) -> Iterator[Command]:
    if radio.cell.bitrates:
        yield Command(radio.node, ("iw", "dev", radio.device, "set", "bitrates", *radio.cell.bitrates))


def _file(radio: RadioPort) -> str:
    """Return the path of its files, without their endings."""
    return f"{FOLDER}/{radio.name}"


def _shell(node: str | None, line: str, *programs: str) -> Command:
    call = shell(line, *programs)
    return Command(node, call.argv, call.starts)
