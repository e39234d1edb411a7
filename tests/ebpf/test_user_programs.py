# SPDX-License-Identifier: MIT
"""Users' own programs: what is refused before a machine boots, and what the machine does with the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mptcplab.campaign.lab import CompletedRun, Lab, Stop
from mptcplab.campaign.record import Engines, prepare_engines, prepare_job
from mptcplab.ebpf import user_programs
from mptcplab.ebpf.objects import find_missing_tools
from mptcplab.ebpf.user_programs import (
    CONGESTION_CONTROL,
    SCHEDULER,
    KernelTypes,
    compile_user_programs,
    names_of,
    types_of,
)
from mptcplab.errors import Exit, InputError, LabError, MissingError
from mptcplab.kernel.stock import StockKernel, find_stock
from mptcplab.plan.model import ProgramSource
from mptcplab.scenario.load import Run, load

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/ebpf/my-control.toml"
PROGRAM = EXAMPLE.with_name("my-control.bpf.c")
SCHEDULER_PROGRAM = EXAMPLE.with_name("fewest-retransmissions.bpf.c")
#: What a kernel of the MPTCP developers' tree has beside the types of Debian's: the ability, and the iterator.
_MORE_TYPES = """
struct bpf_struct_ops_mptcp_sched_ops {
};

struct bpf_iter_mptcp_subflow {
	__u64 __opaque[2];
};
"""
_HEAD = """
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
char _license[] SEC("license") = "GPL";
"""
_SCHEDULER = """
SEC("struct_ops/init") void BPF_PROG(init, struct mptcp_sock *msk) { }
SEC(".struct_ops") struct mptcp_sched_ops first = { .init = (void *)init, .name = "first" };
"""
#: Loads as C, but writes to a socket's field that congestion controls may only read.
_FORBIDDEN = ("tp->snd_ssthresh = tp->snd_cwnd", "tp->srtt_us = 0")


@pytest.fixture(scope="module", autouse=True)
def tools() -> None:
    """Skip all tests, with the command that gets what is missing, on a machine that cannot compile programs."""
    for error in find_missing_tools(with_headers=True):
        pytest.skip(f"{error.message}; {error.hint}")


def kernel_of(version: str) -> StockKernel:
    """Return a stock kernel; a test for which it was not obtained is skipped, with the command that obtains it."""
    try:
        return find_stock(version)
    except MissingError as error:
        pytest.skip(f"{error.message}; {error.hint}")


def _sources(
    text: str = "", *, change: tuple[str, str] = ("", ""), file: str = "mine.bpf.c"
) -> tuple[ProgramSource, ...]:
    changed = text or PROGRAM.read_text().replace(*change)
    return (ProgramSource(file, changed),)


def _expect_refusal(*sources: ProgramSource, version: str = "6.12") -> LabError:
    with pytest.raises((InputError, MissingError)) as caught:
        compile_user_programs(sources, kernel_of(version))
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize("version", ["6.1", "6.12", "7.2"])
def test_the_example_compiles_for_every_kernel(version: str) -> None:
    (program,) = compile_user_programs(_sources(), kernel_of(version))
    assert program.names(CONGESTION_CONTROL) == ("calm",)


def test_a_mistake_in_c_is_reported_with_its_line() -> None:
    error = _expect_refusal(*_sources(change=("shortest_us +", "shortest +")))
    line = next(n for n, text in enumerate(PROGRAM.read_text().splitlines(), start=1) if "shortest_us +" in text)
    expected = f"'mine.bpf.c' does not compile: mine.bpf.c, line {line}: use of undeclared identifier 'shortest'"
    assert expected in error.message
    assert error.status == Exit.BAD_INPUT


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{_HEAD}int unused;", "registers no congestion control"),
        (f"{_HEAD}SEC(\".struct_ops\") struct bpf_dummy_ops one = {{ }};", "which no scenario can use"),
        (PROGRAM.read_text().replace('".struct_ops"', '".struct_ops.link"'), "by a link"),
        (PROGRAM.read_text().replace('"calm"', '"lia"'), "one of mptcplab's own programs"),
        (PROGRAM.read_text().replace('"calm"', '""'), "with the name ''"),
    ],
)  # fmt: skip
def test_a_program_that_cannot_be_used_is_refused_before_anything_boots(text: str, message: str) -> None:
    error = _expect_refusal(*_sources(text))
    assert message in error.message
    assert error.status == Exit.BAD_INPUT


def test_two_programs_with_one_name_are_refused() -> None:
    error = _expect_refusal(*_sources(), *_sources(file="other.bpf.c"))
    assert error.message == "'mine.bpf.c' and 'other.bpf.c' both register 'calm'"


def test_two_congestion_controls_in_one_file_are_both_known() -> None:
    """Their names are at different places of one section."""
    more = '\nSEC(".struct_ops")\nstruct tcp_congestion_ops other = { .ssthresh = (void *)calm_ssthresh, .name = "b" };'
    (program,) = compile_user_programs(_sources(PROGRAM.read_text() + more), kernel_of("6.12"))
    assert sorted(program.names(CONGESTION_CONTROL)) == ["b", "calm"]


@pytest.mark.parametrize("version", ["6.1", "6.12", "7.2"])
def test_a_scheduler_is_refused_by_kernels_without_schedulers_in_ebpf(version: str) -> None:
    """Debian's kernels do not have them; the day one has, this fails, and the scheduler can be run."""
    error = _expect_refusal(*_sources(_HEAD + _SCHEDULER), version=version)
    assert "is an MPTCP scheduler, and the stock kernel" in error.message


def test_a_scheduler_compiles_if_the_kernel_can_register_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No such kernel is packaged: its types are Debian's and one more, by which a kernel shows this ability."""
    kernel = kernel_of("6.12")
    header = tmp_path / "vmlinux.h"
    header.write_text(types_of(kernel).header.read_text() + "\nstruct bpf_struct_ops_mptcp_sched_ops {\n};\n")
    monkeypatch.setattr(user_programs, "types_of", lambda _: KernelTypes(header))
    programs = compile_user_programs(_sources(_HEAD + _SCHEDULER, file="first.bpf.c"), kernel)
    assert names_of(programs, SCHEDULER) == ("first",)


def test_the_example_of_a_scheduler_compiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Debian's 7.2 refuses it; its verifier is not asked, since no packaged kernel can register a scheduler."""
    kernel = kernel_of("7.2")
    source = ProgramSource(SCHEDULER_PROGRAM.name, SCHEDULER_PROGRAM.read_text())
    assert "is an MPTCP scheduler, and the stock kernel" in _expect_refusal(source, version="7.2").message
    header = tmp_path / "vmlinux.h"
    end = "#ifndef BPF_NO_PRESERVE_ACCESS_INDEX\n#pragma clang attribute pop"
    types = types_of(kernel).header.read_text()
    assert end in types
    header.write_text(types.replace(end, _MORE_TYPES + end))
    monkeypatch.setattr(user_programs, "types_of", lambda _: KernelTypes(header))
    compile_user_programs.cache_clear()
    assert names_of(compile_user_programs((source,), kernel), SCHEDULER) == ("fewest",)


def test_a_header_beside_the_program_is_included() -> None:
    text = PROGRAM.read_text().replace("#define TARGET_US\t5000", '#include "target.h"')
    assert '#include "target.h"' in text
    contents = [
        compile_user_programs(
            (*_sources(text), ProgramSource("target.h", f"#define TARGET_US {target}\n")), kernel_of("6.12")
        )[0]
        for target in (5000, 5000, 9000)
    ]
    assert contents[0].content == contents[1].content != contents[2].content


def _runs(*overrides: str, folder: Path | None = None, change: tuple[str, str] = ("", "")) -> list[Run]:
    """The example's runs; in ``folder`` with a changed program."""
    file = EXAMPLE
    if folder is not None:
        file = folder / EXAMPLE.name
        file.write_text(EXAMPLE.read_text())
        (folder / PROGRAM.name).write_text(PROGRAM.read_text().replace(*change))
    return list(load(file, overrides=("workloads.bulk.duration=5 s", *overrides)).runs)


def _engines(runs: list[Run], name: str = "stock") -> Engines:
    """Return engines for ``runs``; without QEMU or their kernel, the test is skipped."""
    try:
        return prepare_engines(runs, name=name)
    except MissingError as error:
        pytest.skip(f"{error.message}; {error.hint}")


def _execute(runs: list[Run], engine: str, folder: Path) -> list[CompletedRun]:
    return Lab(_engines(runs, engine), folder, stop=Stop()).execute(runs, jobs=1, progress=lambda _: None)


def test_names_are_checked_before_anything_boots(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no congestion control 'calmer'"):
        _engines(_runs("transport.congestion_control=calmer"))
    with pytest.raises(InputError, match="has a congestion control 'cubic' already"):
        _engines(_runs(folder=tmp_path, change=('"calm"', '"cubic"')))


def test_the_program_is_a_part_of_the_identity(tmp_path: Path) -> None:
    names = []
    for number, change in enumerate((("", ""), ("", ""), ("5000", "6000"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        runs = _runs(folder=folder, change=change)
        names.append(prepare_job(runs[-1], _engines(runs)).identity.name)
    assert names[0] == names[1] != names[2]


@pytest.mark.parametrize("version", ["6.1", "6.12", "7.2"])
def test_the_example_keeps_queues_short(version: str, tmp_path: Path) -> None:
    """Reno fills the queue until it overflows; the program stops long before, so that nothing is lost."""
    retransmitted: dict[str, float] = {}
    for done in _execute(_runs(), f"stock:{version}", tmp_path):
        assert done.error is None, done.error
        assert done.result is not None
        (workload,) = done.result.measured
        retransmitted[done.run.point.settings["transport.congestion_control"]] = workload.metrics[
            "retransmitted_percent"
        ]
    print(f"retransmitted on {version}: {retransmitted} %")
    assert retransmitted["calm"] == 0
    # A burst of losses at the end of slow start: about a window of 400 packets in some 16,000.
    assert retransmitted["reno"] > 1


def test_what_the_verifier_refuses_is_reported(tmp_path: Path) -> None:
    runs = _runs("transport.congestion_control=calm", folder=tmp_path, change=_FORBIDDEN)
    (done,) = _execute(runs, "stock", tmp_path / "out")
    assert isinstance(done.error, InputError)
    assert (
        "does not load 'my-control.bpf.c': its verifier refuses the operation 'calm_cong_avoid'" in done.error.message
    )
    print(done.error.hint)
    # The verifier's own words, which name the register or field.
    assert "srtt_us" in (done.error.hint or "") or "write" in (done.error.hint or "")


def test_a_plan_without_programs_is_as_before() -> None:
    from mptcplab.plan.compile import compile_plan

    plan = compile_plan(_runs()[0].point.scenario, seed=1)
    assert "bpf" in plan.to_dict()
    assert "bpf" not in replace(plan, bpf=()).to_dict()
