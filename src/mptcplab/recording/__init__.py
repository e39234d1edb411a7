# SPDX-License-Identifier: MIT
"""The on-disk form of a run, and its reader.

    RUN/manifest.json         identity and description: everything needed to repeat and judge the run; written last
        plan.json             the plan that was executed
        subflows.parquet      TCP_INFO of every subflow (or TCP connection) over time
        connections.parquet   payload and MPTCP_INFO of every connection over time
        events.parquet            changes of the network while the workloads ran, with their instants
        out/NAME.out, .err    the output of each program, unchanged
        captures/NODE-LINK.pcap   packets, if the scenario requests captures
        counters/NODE/        the kernel's counters: nstat, tc -s, ip -s link, ip mptcp
        machine.json          state that all hosts share: TCP's memory and its limits, delayed softirq rounds, polls
        console.txt           the lab kernel's console output

The files of a failed run are kept in another folder, without a manifest and with ``error.txt``.

Nothing in a recording depends on when, where or how fast the run was executed: equal identities give equal bytes.
"""
