# SPDX-License-Identifier: MIT
"""Calibration without running anything: the fit, the catalogue of programs, and what the command prints and refuses."""

from __future__ import annotations

import json
import os

import pytest
from click.testing import CliRunner
from hypothesis import assume, given
from hypothesis import strategies as st

from mptcplab.calibrate import syscalls
from mptcplab.calibrate.measure import Costs, LoadSample, SideCalibration, fit
from mptcplab.calibrate.programs import PROGRAMS, flow_payload, iperf3_payload
from mptcplab.cli import calibrate as command
from mptcplab.cli.commands.machine import calibrate
from mptcplab.errors import InputError, MissingError
from mptcplab.node.cpu import Cpu
from mptcplab.units import CpuTime

#: Calls and bytes by byte of payload: bulk transfers have few calls, short responses have many.
LOADS = [(0.0002, 2.0), (0.0003, 2.0), (0.001, 2.0), (0.005, 2.1), (0.05, 3.0)]


def _samples(costs: Costs, factors: list[float] | None = None) -> list[LoadSample]:
    exact = [LoadSample(str(number), 1.0, *load) for number, load in enumerate(LOADS)]
    factors = factors or [1.0] * len(LOADS)
    return [
        LoadSample(sample.load, costs.cost_of(sample) * factor, sample.calls, sample.bytes)
        for sample, factor in zip(exact, factors, strict=True)
    ]


@given(st.floats(0, 1e5), st.floats(0, 100))
def test_exact_costs_are_found(per_call: float, per_byte: float) -> None:
    costs = Costs(per_call, per_byte)
    samples = _samples(costs)
    assume(min(sample.cpu_ns for sample in samples) > 1e-6)
    costs_found = fit(samples)
    assert [costs_found.cost_of(sample) for sample in samples] == pytest.approx(
        [sample.cpu_ns for sample in samples], rel=1e-6
    )


@given(st.lists(st.floats(0.7, 1.4), min_size=len(LOADS), max_size=len(LOADS)), st.floats(0, 1e4), st.floats(0.01, 10))
def test_no_other_costs_fit_better(factors: list[float], per_call: float, per_byte: float) -> None:
    """Around the solution, within the costs that are not negative."""
    samples = _samples(Costs(per_call, per_byte), factors)

    def squares(costs: Costs) -> float:
        return sum(costs.error(sample) ** 2 for sample in samples)

    fitted = fit(samples)
    assert fitted.per_call_ns >= 0
    assert fitted.per_byte_ns >= 0
    for call, byte in ((1.01, 1), (0.99, 1), (1, 1.01), (1, 0.99)):
        assert squares(Costs(fitted.per_call_ns * call, fitted.per_byte_ns * byte)) >= squares(fitted) - 1e-12
    assert squares(Costs(fitted.per_call_ns + 1, fitted.per_byte_ns)) >= squares(fitted) - 1e-12


def test_a_cost_is_never_negative() -> None:
    """Bytes that seem to save time: the calls have to explain it alone."""
    samples = [LoadSample("a", 1.0, 0.001, 1.0), LoadSample("b", 0.9, 0.001, 2.0)]
    fitted = fit(samples)
    assert fitted.per_byte_ns == 0
    assert fitted.per_call_ns == pytest.approx(947.5, rel=0.01)


def test_loads_that_are_alike_give_one_cost() -> None:
    """Calls and bytes cannot be separated then; the two costs together are right."""
    samples = [LoadSample(name, 2.0, 0.001, 2.0) for name in "ab"]
    assert fit(samples).cost_of(samples[0]) == pytest.approx(2.0)


# -- the catalogue


@pytest.mark.parametrize("name", PROGRAMS)
def test_chains_run_what_their_program_names(name: str) -> None:
    program = PROGRAMS[name]
    for cipher in program.ciphers or ("",):
        chain = program.chain(cipher, 1.5)
        servers = (*chain.sides, *chain.helpers)
        started = {*(server.argv[0] for server in servers), *(load.argv[0] for load in chain.loads)}
        assert started == set(program.uses)
        ports = [server.port for server in servers]
        assert len(set(ports)) == len(ports)
        assert len({load.name for load in chain.loads}) == len(chain.loads) >= 4
        if program.ciphers:
            others = [program.chain(other, 1.5) for other in program.ciphers if other != cipher]
            assert not {side.argv for side in chain.sides} & {side.argv for other in others for side in other.sides}


def test_payload_is_that_of_all_connections() -> None:
    events = [
        {"event": "start", "conn": 0},
        {"event": "interval", "bytes": 500},
        {"event": "end", "conn": 0, "bytes": 1000},
        {"event": "end", "conn": 1, "bytes": 24},
    ]
    assert flow_payload("".join(f"{json.dumps(event)}\n" for event in events)) == 1024
    assert iperf3_payload(json.dumps({"end": {"sum_sent": {"bytes": 9}, "sum_received": {"bytes": 7}}})) == 7


# -- the counter of system calls


def test_jumps_of_the_counter_end_inside_of_it() -> None:
    """At the end of the comparisons: one past them, where bytes are added, or after that."""
    program = syscalls._program(3)
    assert {len(instruction) for instruction in program} == {8}
    jumps = {
        at: at + 1 + int.from_bytes(instruction[2:4], "little", signed=True)
        for at, instruction in enumerate(program)
        if instruction[0] in (syscalls._JUMP, syscalls._JUMP_IF_EQUAL, syscalls._JUMP_UNLESS_POSITIVE)
    }
    end = len(program) - 2
    assert len(jumps) == len(syscalls.MOVING) + 3
    assert sorted(set(jumps.values())) == [end - 1, end]
    assert list(jumps.values()).count(end - 1) == len(syscalls.MOVING)


# -- the command


def test_costs_are_printed_as_a_scenario_writes_them() -> None:
    calibration = SideCalibration("entry", Costs(3581.4, 0.04687), ())
    assert command._toml(calibration) == '{ per_call = "3.58 us", per_byte = "0.047 ns" }'
    cpu = Cpu.model_validate(calibration.cpu)
    assert (cpu.per_call, cpu.per_byte) == (CpuTime(3_580_000), CpuTime(47))


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["shadowsocks-libev", "--cipher", "rot13"], "'rot13' is not a cipher of shadowsocks-libev", "aes-256-gcm"),
        (["socat", "--cipher", "aes-256-gcm"], "'aes-256-gcm' is not a cipher of socat", "leave --cipher out"),
    ],
)
def test_a_cipher_that_the_program_lacks_is_refused(arguments: list[str], message: str, hint: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        CliRunner().invoke(calibrate, arguments, catch_exceptions=False)
    assert hint in str(caught.value.hint)


def test_it_needs_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(MissingError, match="needs root"):
        CliRunner().invoke(calibrate, ["flow"], catch_exceptions=False)
