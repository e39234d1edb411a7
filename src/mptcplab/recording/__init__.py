# SPDX-License-Identifier: MIT
"""The on-disk form of a run, and its reader.

    RUN/manifest.json         who, what, with what: everything needed to repeat and to judge it; written last
        plan.json             what was executed
        subflows.parquet      TCP_INFO of every subflow (or TCP connection) over time
        connections.parquet   payload and MPTCP_INFO of every connection over time
        events.parquet            what changed in the network while the workloads ran, and when
        out/NAME.out, .err    what each program wrote, as it wrote it
        captures/NODE-LINK.pcap   packets, where the scenario asks for them
        counters/NODE/        what the kernel counted: nstat, tc -s, ip -s link, ip mptcp
        machine.json          what all hosts share: TCP's memory and its limits, softirq rounds that were given time
        console.txt           what the lab kernel printed

A failed run leaves as much of that as there was, in another place and without a manifest, and ``error.txt``.

Nothing in it depends on when, where or how fast the run was executed: equal identity, equal bytes.
"""
