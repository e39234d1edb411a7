# SPDX-License-Identifier: MIT
"""Tables of docs/machine.md: the effects of the timers' frequency and of other settings of a machine.

Recorded runs are not repeated. Every case is a short form of a scenario of this repository: less time, one row, few
seeds. So the tables show the direction and the rough size of an effect; no study is judged by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.docs.making.pages import table_of as markdown

from mptcplab import api
from mptcplab.kernel.build import BuildOptions, build_kernel
from mptcplab.metrics.measure import WorkloadMeasurement
from mptcplab.scenario.load import load
from mptcplab.stats import Interval, mean_interval
from mptcplab.study.library import select
from mptcplab.study.measurement import shipped_values

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"
STUDIES = ROOT / "src" / "mptcplab" / "studies"

Rows = Mapping[str, WorkloadMeasurement]
Value = Callable[[Rows], float]
Variants = Mapping[str, tuple[str, ...]]
"""Settings by the title of their column."""

_FREQUENCIES = (100, 250, 1000)
HZ: Variants = {f"HZ {hz}": (f"kernel=7.2-hz{hz}",) for hz in _FREQUENCIES}
_FOLDER = "effects"


@dataclass(frozen=True)
class Case:
    """One row: a scenario in a short form, the value that is compared, and its published value if there is one."""

    title: str
    unit: str
    file: Path
    settings: tuple[str, ...]
    value: Value
    repeats: int = 3
    published: str = ""


def goodput(workload: str) -> Value:
    """Return a function for the goodput of ``workload`` in Mbit/s."""
    return lambda rows: rows[workload].goodput_bps / 1e6


def duration(workload: str) -> Value:
    """Return a function for the duration of ``workload`` in s."""
    return lambda rows: rows[workload].metrics["duration_s"]


def metric(workload: str, name: str) -> Value:
    """Return a function for one of :data:`mptcplab.metrics.registry.METRICS`."""
    return lambda rows: rows[workload].metrics[name]


def ratio(workload: str, other: str, *, flows: int = 1) -> Value:
    """Return a function for the goodput of ``workload`` as a multiple of one of the ``flows`` of ``other``."""
    return lambda rows: rows[workload].goodput_bps / (rows[other].goodput_bps / flows)


def share(workload: str, link: str) -> Value:
    """Return a function for the part of the data of ``workload`` on subflows that begin with ``link``."""
    return lambda rows: sum(
        part for path, part in rows[workload].sockets.shares.items() if path.split(">")[0].strip() == link
    )


def published_value(table: str, row: str, column: str) -> str:
    """Return the published value of a study's table, with its interval if it has one."""
    (selected,) = select(table)
    value = selected.table.published[row][column]
    return f"{value.mean:g}" + (f" ± {value.half_width:g}" if value.half_width is not None else "")


def _subramani(loss: str, protocol: str) -> Case:
    control = "cubic" if protocol == "tcp" else "balia"
    return Case(
        f"Subramani, Table 4.6: {protocol.upper()}, {loss} loss",
        "Mbit/s",
        STUDIES / "subramani2018" / "table-4.6.toml",
        (
            f"links.line1.forward.loss={loss}",
            f"transport.protocol={protocol}",
            f"transport.congestion_control={control}",
            "workloads.bulk.duration=20 s",
        ),
        goodput("bulk"),
        published=published_value("subramani2018/4.6", loss, protocol),
    )


def _ito(connection: str, column: str, *settings: str) -> Case:
    return Case(
        f"Ito, Table 3 (RTT 290 and 240 ms): {connection}, 0.5 % loss",
        "Mbit/s",
        STUDIES / "ito2016" / "table-3.toml",
        ("links.line*.loss=0.5 %", *settings),
        goodput("bulk"),
        repeats=5,
        published=published_value("ito2016/3", "0.5 %", column),
    )


def _best_path(title: str, protocol: str, control: str) -> Case:
    return Case(
        f"best path (RTT 40 ms, 0.2 % loss): {title}",
        "Mbit/s",
        EXAMPLES / "behaviour" / "rfc6356-best-path.toml",
        (
            f"transport.protocol={protocol}",
            f"transport.congestion_control={control}",
            "links.link2.forward.loss=0.2 %",
            "links.link2.delay=20 ms",
            "workloads.bulk.duration=40 s",
        ),
        goodput("bulk"),
    )


def _unequal(scheduler: str) -> Case:
    return Case(
        f"paths of 20 and 2 Mbit/s, 192 KiB of receive buffer: {scheduler}",
        "Mbit/s",
        EXAMPLES / "behaviour" / "unequal-paths.toml",
        (
            'transport.tcp_rmem=["4 KiB", "192 KiB", "192 KiB"]',
            "transport.protocol=mptcp",
            f"transport.scheduler={scheduler}",
        ),
        goodput("bulk"),
    )


OF_HZ = (
    _subramani("1 %", "tcp"),
    _subramani("3 %", "tcp"),
    _subramani("5 %", "tcp"),
    _subramani("1 %", "mptcp"),
    _subramani("3 %", "mptcp"),
    _subramani("5 %", "mptcp"),
    Case(
        "Nguyen, shared bottleneck, 25 ms added: MPTCP / TCP",
        "ratio",
        STUDIES / "nguyen2014" / "rtt.toml",
        ("links.bottleneck.forward.delay=25 ms", "workloads.*.duration=60 s"),
        ratio("mptcp", "tcp"),
    ),
    _ito("MPTCP", "mptcp", "transport.protocol=mptcp", "workloads.bulk.from=client", "links.line1.overtake=false"),
    _ito("TCP on path 1", "tcp1", "transport.protocol=tcp", "workloads.bulk.from=client1", "links.line1.overtake=true"),
    _ito("TCP on path 2", "tcp2", "transport.protocol=tcp", "workloads.bulk.from=client2", "links.line1.overtake=true"),
    _best_path("two TCP flows", "tcp", "reno"),
    _best_path("MPTCP, LIA", "mptcp", "lia"),
    Case(
        "shared bottleneck, 2 subflows beside TCP: LIA / TCP",
        "ratio",
        EXAMPLES / "behaviour" / "rfc6356-shared-bottleneck.toml",
        (
            "workloads.tcp.connections=1",
            "topology.paths=2",
            "hosts.client.transport.congestion_control=lia",
        ),
        ratio("mptcp", "tcp"),
    ),
    Case(
        "congested path, 4 TCP flows on link2: OLIA's share on link2",
        "fraction",
        EXAMPLES / "behaviour" / "rfc6356-congested-path.toml",
        ("workloads.tcp2.connections=4", "hosts.client.transport.congestion_control=olia"),
        share("mptcp", "access2"),
    ),
    *(_unequal(scheduler) for scheduler in ("default", "minrtt", "blest")),
    Case(
        "one and two TCP flows on the two paths: BALIA's share on link2",
        "fraction",
        EXAMPLES / "behaviour" / "balia-friendliness.toml",
        ("transport.congestion_control=balia",),
        share("multipath", "access2"),
    ),
)

_LONG = EXAMPLES / "machine" / "long-path.toml"
_AGAIN = EXAMPLES / "machine" / "second-connection.toml"
_OWN = EXAMPLES / "machine" / "own-queue.toml"
_BUFFERS: Variants = {
    "tcp_rmem to 7.75 MiB": (),
    "to 32 MiB": ('transport.tcp_rmem=["4096 B", "128 KiB", "32 MiB"]',),
}
_METRICS: Variants = {
    "nothing known, as at the beginning of a run": ('transport.sysctl={"net.ipv4.tcp_no_metrics_save" = 1}',),
    "after an earlier connection": ('transport.sysctl={"net.ipv4.tcp_no_metrics_save" = 0}',),
}
_QUEUES: Variants = {
    "tail drop, 1000 packets": ("links.access1.discipline=tail-drop",),
    "fq_codel": ("links.access1.discipline=fq_codel",),
}
#: The case of each setting, with the lab's value and a usual machine's with Debian.
OF_SETTINGS: Sequence[tuple[Case, Variants]] = (
    (Case("1 Gbit/s, RTT 100 ms: TCP", "Mbit/s", _LONG, ("transport.protocol=tcp",), goodput("bulk")), _BUFFERS),
    (
        Case("two such paths: MPTCP", "Mbit/s", _LONG, ("transport.protocol=mptcp",), goodput("bulk")),
        _BUFFERS,
    ),
    (Case("10 MB, 0.1 % loss: duration", "s", _AGAIN, (), duration("second"), repeats=5), _METRICS),
    (Case("20 Mbit/s at the sender: TCP beside a call", "Mbit/s", _OWN, (), goodput("bulk")), _QUEUES),
    (Case("the same: mean delay of the call's packets", "ms", _OWN, (), metric("call", "delay_mean_ms")), _QUEUES),
)


def measure(case: Case, settings: Sequence[str], out: Path) -> Interval:
    """Return the mean of the case's value over its seeds. :raises LabError: when a run fails."""
    experiment = load(case.file, overrides=(*case.settings, *settings), repeats=case.repeats)
    if len(experiment.points) != 1:
        raise ValueError(f"{case.title}: {len(experiment.points)} points instead of one")
    values = []
    for done in api.execute_runs(experiment.runs, out):
        assert done.result is not None
        values.append(case.value({measurement.workload: measurement for measurement in done.result.measured}))
    return mean_interval(values)


def table_of_hz(work: Path) -> str:
    """Return the table of cases by the timers' frequency, on kernels built for it. ``work`` keeps the runs."""
    for hz in _FREQUENCIES:
        build_kernel(options=BuildOptions(hz=hz))
    body = []
    for case in OF_HZ:
        cells = [_cell(measure(case, settings, work / _FOLDER)) for settings in HZ.values()]
        body.append([f"{case.title}, {case.unit}", *cells, case.published, str(case.repeats)])
    return markdown(["case", *HZ, "published", "n"], body)


def table_of_settings(work: Path) -> str:
    """Return the table of single settings: the lab's value, and another machine's."""
    body = []
    for case, variants in OF_SETTINGS:
        cells = [f"{_cell(measure(case, chosen, work / _FOLDER))} ({name})" for name, chosen in variants.items()]
        body.append([f"{case.title}, {case.unit}", *cells, str(case.repeats)])
    return markdown(["case", "in the lab", "on a usual machine", "n"], body)


def loss_timers() -> str:
    """Return the full form of a study's table by the timers' frequency, as shipped: Mbit/s by loss."""
    (selected,) = select("subramani2018/loss-timers")
    shipped = shipped_values(selected)
    body = []
    for loss in selected.table.all_rows:
        values = [shipped[loss, f"hz{hz}"].interval for hz in _FREQUENCIES]
        body.append([loss, *map(_cell, values), str(values[0].n)])
    return markdown(["loss", *HZ, "n"], body)


def scenarios(cases: Iterable[Case]) -> tuple[Path, ...]:
    """Return the files of ``cases``, each once."""
    return tuple(dict.fromkeys(case.file for case in cases))


def _cell(value: Interval) -> str:
    digits = 1 if abs(value.mean) >= 10 else 2
    text = f"{value.mean:.{digits}f}"
    return text if value.half_width is None else f"{text} ± {value.half_width:.{digits}f}"
