# SPDX-License-Identifier: MIT
"""The analysis of any schedule of data over subflows agrees with a model that counts the input."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.capture_packets import CLIENT, HERE, Pipe, analyse, dss, first_data

from mptcplab.capture.packet import ACK, Packet, SocketAddress, VantagePoint

DATA = first_data(CLIENT)
#: What happens to each chunk of data: its subflow, its length, whether TCP sends it again, whether it is reinjected.
CHUNKS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(1, 3000), st.booleans(), st.sampled_from([None, None, 0, 1, 2])),
    max_size=40,
)


@given(
    CHUNKS,
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**64 - 1),
    st.booleans(),
    st.booleans(),
    st.sampled_from([32, 64]),
)
def test_against_a_model(
    chunks: list[Any], sequence: int, data: int, twice: bool, begins_later: bool, bits: int
) -> None:
    """Test any schedule over three subflows from any sequence numbers, in one or two files, with or without SYNs."""
    packets: list[Packet] = []
    vantages = (HERE, VantagePoint(0, "1")) if twice else (HERE,)
    ends = [(SocketAddress(f"10.0.{n}.1", 40000 + n), SocketAddress(f"10.0.{n}.2", 5001)) for n in range(3)]
    pipes = [Pipe(packets, end, starts=(sequence, sequence // 2), vantages=vantages) for end in ends]
    pipes[0].open_capable()
    pipes[1].open_join()
    pipes[2].open_join()
    if begins_later:
        packets.clear()
    else:
        data = DATA
    fresh, again, reinjected = [0, 0, 0], [0, 0, 0], [0, 0, 0]
    for number, length, is_again, elsewhere in chunks:
        at = pipes[number].sent[0]
        mapping = dss(data, at, length, ack=0, bits=64 if begins_later else bits)
        pipes[number].send(0, ACK, mapping, length=length)
        fresh[number] += length
        if is_again:
            pipes[number].send(0, ACK, mapping, at=at, length=length)
            again[number] += length
        if elsewhere is not None and elsewhere != number:
            pipes[elsewhere].data(0, data, length, bits=64 if begins_later else bits)
            fresh[elsewhere] += length
            reinjected[elsewhere] += length
        data += length
    if begins_later and not chunks:
        return
    (connection,) = analyse(packets).connections
    directions = {subflow.ends[0]: subflow.directions[0] for subflow in connection.subflows}
    for number in range(3):
        direction = directions.get(str(ends[number][0]))
        if direction is None:
            assert fresh[number] == 0
            continue
        assert direction.payload_bytes == fresh[number]
        assert direction.sent_bytes == fresh[number] + again[number]
        # A single byte that has been acknowledged is taken for a probe; nothing is acknowledged here.
        assert direction.retransmitted_bytes == again[number]
        assert direction.reinjected_bytes == reinjected[number]
        assert direction.unseen_bytes == 0
    assert connection.data_bytes[0] == sum(fresh) - sum(reinjected)
    assert connection.reinjected_bytes[0] == sum(reinjected)
