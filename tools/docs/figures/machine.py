# SPDX-License-Identifier: MIT
"""The first table of docs/machine.md: the lab kernel's settings, read inside it, beside Debian's kernel's.

    python -m tools.docs.refresh docs/machine.md --only settings

This module has no values of the lab: a program inside the lab reads them, on a host of a scenario and in the network
namespace of process 1, which no scenario changes and which has the kernel's own defaults. Debian's kernel is built from
the same source, so its values are those defaults unless its configuration or its packages change them: `DEBIAN`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
SCENARIO = ROOT / "examples" / "two-paths.toml"
HOST, DEVICE = "client", "access1"
KERNELS = ("7.2", "6.12")
DEFAULT = "the kernel's default"
CONFIG = "linux-config-6.12 6.12.117-1~deb12u1, linux-config-7.2 7.2.12-1~bpo13+1"

#: Runs in the lab. Prints one JSON object of texts by name, null for settings that this kernel lacks.
READER = r"""
import ctypes, json, os, subprocess, sys, time

def text(file):
    try:
        with open(file) as opened:
            return " ".join(opened.read().split())
    except FileNotFoundError:
        return None

def jiffies():
    with open("/proc/timer_list") as opened:
        return next(int(line.split()[1]) for line in opened if line.startswith("jiffies:"))

def ticks_per_second():
    before = jiffies()
    time.sleep(10)
    return str(round((jiffies() - before) / 10))

def sysctls(names):
    return {name: text("/proc/sys/" + name.replace(".", "/")) for name in names}

def offloads(device):
    output = subprocess.run(["ethtool", "-k", device], capture_output=True, text=True, check=True).stdout
    named = dict(line.strip().partition(": ")[::2] for line in output.splitlines())
    wanted = ("tx-tcp-segmentation", "generic-segmentation-offload", "generic-receive-offload")
    return {name: named[name].split()[0] for name in wanted}

wanted = json.loads(sys.argv[1])
device = wanted["device"]
shown = subprocess.run(["ip", "-j", "link", "show", "dev", device], capture_output=True, check=True).stdout
link = json.loads(shown)[0]
found = {
    "HZ": ticks_per_second(),
    "CPUs": str(os.cpu_count()),
    "memory": text("/proc/meminfo").split()[1] + " kB",
    "preemption": text("/proc/version"),
    "qdisc of an interface": link["qdisc"],
    "txqueuelen": str(link["txqlen"]),
    **offloads(device),
    "host": sysctls(wanted["sysctls"]),
}
libc = ctypes.CDLL(None, use_errno=True)
namespace = os.open("/proc/1/ns/net", os.O_RDONLY)
if libc.setns(namespace, 0x40000000):
    raise OSError(ctypes.get_errno(), "setns")
found["default"] = sysctls(wanted["sysctls"])
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Setting:
    """One row: a fact of the machine, or a sysctl if the name has dots.

    ``debian`` is Debian's value, by kernel where they differ; DEFAULT means the kernel's own.
    """

    name: str
    debian: str | Mapping[str, str] = DEFAULT
    source: str = ""
    note: str = ""


_RAM = "in proportion to memory"
SETTINGS = (
    Setting("HZ", "250", CONFIG, "a case of effects.py"),
    Setting("CPUs", "the machine's", "", "not modelled: computing takes no time"),
    Setting("memory", "the machine's", "", "shared by all hosts; decides the limits marked so below"),
    Setting(
        "preemption",
        "PREEMPT_DYNAMIC",
        CONFIG,
        "without effect: nothing that runs takes time, so nothing waits for a CPU",
    ),
    Setting("qdisc of an interface", "fq_codel (mq with several queues)", CONFIG, "a case of effects.py"),
    Setting("net.core.default_qdisc", "fq_codel", f"{CONFIG}; linux-sysctl-defaults 4.12.1", "a case of effects.py"),
    Setting("txqueuelen", "1000", "ether_setup(), net/ethernet/eth.c", "unused without a queueing discipline"),
    Setting("tx-tcp-segmentation", "on with most network cards", "", "no key of a scenario changes it"),
    Setting("generic-segmentation-offload", "on", "", "as above"),
    Setting("generic-receive-offload", "on", "", "as above"),
    Setting(
        "net.ipv4.tcp_mem",
        _RAM,
        "tcp_init_mem(), net/ipv4/tcp.c",
        "all hosts share it; a run that reached it is marked",
    ),
    Setting("net.ipv4.udp_mem", _RAM, "udp_init(), net/ipv4/udp.c", "as above"),
    Setting(
        "net.ipv4.tcp_rmem",
        {"7.2": "4096 131072 33554432", "6.12": "4096 131072 6291456"},
        "tcp_init(): 1/128 of the memory, in 7.2 at most 32 MiB (4 GiB of memory), in 6.12 6 MiB (768 MiB)",
        "a case of effects.py",
    ),
    Setting("net.ipv4.tcp_wmem", DEFAULT, "tcp_init(): 1/128 of the memory, at most 4 MiB (512 MiB of memory)"),
    Setting("net.ipv4.tcp_max_orphans", _RAM, "tcp_init()", "a few thousand connections closed at once"),
    Setting("net.ipv4.tcp_max_tw_buckets", _RAM, "tcp_init()", "as above"),
    Setting("net.ipv4.tcp_max_syn_backlog", _RAM, "tcp_init()", "many connections opened at once"),
    Setting("net.core.rmem_max"),
    Setting("net.core.wmem_max"),
    Setting("net.core.somaxconn"),
    Setting("net.core.netdev_max_backlog"),
    *(
        Setting(f"net.ipv4.{name}")
        for name in (
            "tcp_congestion_control",
            "tcp_moderate_rcvbuf",
            "tcp_adv_win_scale",
            "tcp_notsent_lowat",
            "tcp_limit_output_bytes",
            "tcp_autocorking",
            "tcp_min_tso_segs",
            "tcp_tso_rtt_log",
            "tcp_pacing_ss_ratio",
            "tcp_pacing_ca_ratio",
            "tcp_comp_sack_delay_ns",
            "tcp_no_metrics_save",
            "tcp_no_ssthresh_metrics_save",
            "tcp_slow_start_after_idle",
            "tcp_recovery",
            "tcp_early_retrans",
            "tcp_frto",
            "tcp_reordering",
            "tcp_sack",
            "tcp_dsack",
            "tcp_timestamps",
            "tcp_window_scaling",
            "tcp_ecn",
            "tcp_fastopen",
            "tcp_syncookies",
            "tcp_mtu_probing",
            "tcp_rto_min_us",
            "tcp_retries2",
            "tcp_syn_retries",
            "tcp_syn_linear_timeouts",
            "tcp_fin_timeout",
            "tcp_thin_linear_timeouts",
        )
    ),
    Setting("net.ipv4.conf.all.rp_filter", DEFAULT, "linux-sysctl-defaults 4.12.1 leaves it out on purpose"),
    Setting("net.ipv4.conf.default.rp_filter", "2", "linux-sysctl-defaults 4.12.1", "no path of a scenario is one-way"),
)


def read(kernel: str) -> dict[str, Any]:
    """Return the output of the reader inside the lab kernel ``kernel``."""
    wanted = {"device": DEVICE, "sysctls": [setting.name for setting in SETTINGS if "." in setting.name]}
    command = [sys.executable, "-m", "mptcplab", "exec", "--kernel", kernel, "--scenario", str(SCENARIO), "--on", HOST]
    command += ["--no-stdin", "--", "python3", "-IS", "-c", READER, json.dumps(wanted)]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    return dict(json.loads(output))


def rows(hosts: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield a row for each setting: its name, the lab's value, Debian's, whether they agree, and a note with source."""
    for setting in SETTINGS:
        ours = {kernel: lab_value(setting.name, host) for kernel, host in hosts.items()}
        theirs = {kernel: _debian_value(setting, kernel, host) for kernel, host in hosts.items()}
        if not any(ours.values()):
            continue
        same = all(ours[kernel] == theirs[kernel] for kernel in hosts if ours[kernel] is not None)
        note = "; ".join(part for part in (setting.note, setting.source) if part)
        yield (setting.name, _values_text(ours), _values_text(theirs), "yes" if same else "**no**", note)


def lab_value(name: str, host: Mapping[str, Any]) -> str | None:
    """Return the value on a host, or the machine's if a host's namespace has none."""
    if "." not in name:
        return _preemption(host[name]) if name == "preemption" else str(host[name])
    host_value = host["host"][name]
    value = host_value if host_value is not None else host["default"][name]
    return None if value is None else str(value)


def _debian_value(setting: Setting, kernel: str, host: Mapping[str, Any]) -> str | None:
    if setting.debian == DEFAULT:
        return str(value) if (value := host["default"][setting.name]) is not None else None
    return setting.debian if isinstance(setting.debian, str) else setting.debian[kernel.partition("-")[0]]


def _preemption(version: str) -> str:
    """Return the word of /proc/version (init/version-timestamp.c) that names the preemption model."""
    return next((word for word in version.split() if word.startswith("PREEMPT")), "none, or voluntary")


def _values_text(values: Mapping[str, str | None]) -> str:
    """Return one text if all kernels agree, else each value with its version."""
    present = {kernel: value for kernel, value in values.items() if value is not None}
    if len(set(present.values())) == 1 and len(present) == len(values):
        return next(iter(present.values()))
    return ", ".join(f"{kernel}: {'absent' if value is None else value}" for kernel, value in values.items())


def table(hosts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table as Markdown."""
    lines = ["| setting | lab | Debian | same | remark, source |", "| --- " * 5 + "|"]
    lines += [f"| {' | '.join(row)} |" for row in rows(hosts)]
    return "\n".join(lines)


def table_of(kernels: Sequence[str]) -> str:
    """Return the table for these kernels, read inside a lab of each."""
    return table({kernel: read(kernel) for kernel in kernels})
