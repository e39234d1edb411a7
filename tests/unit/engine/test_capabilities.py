# SPDX-License-Identifier: MIT
"""The capabilities of engines, checked against plans."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mptcplab import api
from mptcplab.engine.virtual.engine import VirtualEngineKind
from mptcplab.errors import InputError
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.scenario.load import load

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
REAL = replace(VirtualEngineKind.capabilities, virtual_time=False, chooses_kernel=False, features=frozenset())


def _plan(name: str, *overrides: str) -> Plan:
    return compile_plan(load(EXAMPLES / f"{name}.toml", overrides=overrides).points[0].scenario, seed=1)


def test_plans_list_their_effects_on_packets() -> None:
    assert _plan("two-paths").features == ("netem", "tbf")
    assert _plan("two-paths", "links.link1.discipline=cake").features == ("cake", "netem", "tbf")
    assert "nft" in _plan("middlebox", "routers.r*.middlebox.strip=['mp_join']").features
    rate_later = _plan("two-paths", "events=[{at = '1 s', link = 'link1', type = 'change', loss = '1 %'}]")
    assert "netem" in rate_later.features


def test_the_lab_has_no_limits() -> None:
    assert not VirtualEngineKind.capabilities.has_limits
    VirtualEngineKind.capabilities.check(
        _plan("two-paths", "links.link1.discipline=cake"), kernel="6.12", name="virtual"
    )


def test_an_engine_without_shaping_refuses_shaped_links() -> None:
    with pytest.raises(InputError, match=r"the engine 'real' does not support what .* packets: netem, tbf"):
        REAL.check(_plan("two-paths"), kernel=None, name="real")


def test_an_engine_with_a_fixed_kernel_refuses_a_chosen_one() -> None:
    plan = replace(_plan("two-paths"), setup=())
    REAL.check(plan, kernel=None, name="real")
    with pytest.raises(InputError, match=r"does not run lab kernels, and the scenario requires 6\.12"):
        REAL.check(plan, kernel="6.12", name="real")


def test_what_the_engine_cannot_do_is_said_before_what_the_machine_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, a user is told to build a kernel, and refused after that."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/nonexistent")
    monkeypatch.setattr("mptcplab.kernel.cache.find_usable_prebuilt", lambda: None)
    custom_program = EXAMPLES / "ebpf" / "my-control.toml"
    with pytest.raises(InputError, match="the engine 'virtual' does not load eBPF programs"):
        api.run(load(custom_program))
    with pytest.raises(InputError, match="the engine 'virtual' does not load eBPF programs"):
        api.find_lacks([str(custom_program)])
    with pytest.raises(InputError, match="does not run lab kernels"):
        api.find_lacks([str(EXAMPLES / "two-paths.toml")], set=["kernel=6.12"], engine="stock")
