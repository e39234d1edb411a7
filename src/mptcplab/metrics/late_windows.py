# SPDX-License-Identifier: MIT
"""Subflows that joined late and were limited by the window of a new connection.

Mainline enlarges the receive buffers of subflows when it enlarges the connection's (``mptcp_rcv_space_adjust()``
in net/mptcp/protocol.c). A subflow that joins afterwards has the default of ``tcp_rmem`` until the connection's buffer
grows again, which may be never.
"""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.lazy import pl
from mptcplab.metrics.ends import Ends
from mptcplab.recording.record import Recording

#: A subflow that is first seen this long after its connection is late. Subflows of a new connection join within some
#: round trips, and share the growth of its buffer.
_LATE_NS = 2_000_000_000
#: The window is the limit while so much of it is under way, and the congestion window would allow half as much again.
_FULL = 0.8
_ROOM = 1.5
#: A line that such a window fills has a standing queue: then the line is the limit.
_EMPTY = 1.25
#: The share of a subflow's samples in which it must be the limit, and the least number of samples.
_MOSTLY = 0.5
_LEAST = 10
#: Another subflow of the connection was offered a window larger by this factor.
_SMALL = 4
_COLUMNS = {"conn", "program", "snd_wnd", "snd_cwnd", "snd_mss", "unacked", "state", "rtt_us", "min_rtt_us"}


def late_window_warnings(recording: Recording, ends: Ends) -> Iterator[str]:
    """Yield a warning if late subflows of a workload were mostly limited by the window that the receiver offered."""
    samples = recording.subflows
    if ends.sending is None or not set(samples.columns) >= _COLUMNS:
        return
    first, last = samples["time_ns"].min(), samples["time_ns"].max()
    if not (isinstance(first, int) and isinstance(last, int) and last - first >= _LATE_NS):
        return  # Nothing can have joined late. Most short runs end here.
    frame = window_limited_subflows(samples.filter(pl.col("program") == ends.sending))
    for window in frame["window"]:
        yield (
            f"a subflow that joined late was limited by a receive window of {window / 1e3:.3g} kB: mainline does not "
            "enlarge the buffer of a subflow that joins after the connection's has grown; a larger default in tcp_rmem "
            "helps"
        )


def window_limited_subflows(samples: pl.DataFrame) -> pl.DataFrame:
    """Return the late subflows that their windows limited, with the median ``window`` in bytes.

    ``samples`` come from one program, the sender.
    """
    begun = pl.col("time_ns").min()
    offered = pl.col("snd_wnd").max()
    under_way = pl.col("unacked") * pl.col("snd_mss")
    full = under_way >= _FULL * pl.col("snd_wnd")
    has_room = pl.col("snd_cwnd") * pl.col("snd_mss") >= _ROOM * pl.col("snd_wnd")
    sending = samples.filter((pl.col("state") == "established") & (pl.col("unacked") > 0))
    is_limited = full & has_room & (pl.col("rtt_us") <= _EMPTY * pl.col("min_rtt_us"))
    known = sending.with_columns(first=begun.over("conn"), most=offered.over("conn"), is_limited=is_limited)
    subflows = known.group_by("conn", "local", "remote", maintain_order=True).agg(
        (begun - pl.col("first").first()).alias("later_ns"),
        (pl.col("most").first() / pl.col("snd_wnd").median()).alias("times"),
        pl.col("is_limited").mean().alias("share"),
        pl.len().alias("count"),
        pl.col("snd_wnd").cast(pl.Float64).median().alias("window"),
    )
    return subflows.filter(
        (pl.col("later_ns") >= _LATE_NS)
        & (pl.col("times") >= _SMALL)
        & (pl.col("share") >= _MOSTLY)
        & (pl.col("count") >= _LEAST)
    )
