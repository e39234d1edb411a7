# SPDX-License-Identifier: MIT
"""The parts of the engine for stock kernels that need neither QEMU nor an image."""

from __future__ import annotations

import dataclasses
import gzip
import os
import shutil
import struct
import subprocess
from pathlib import Path, PurePosixPath

import pytest

from mptcplab.engine.protocol import engine_kind
from mptcplab.engine.report import package_folder
from mptcplab.engine.stock import machine, start
from mptcplab.engine.stock.engine import StockEngine, StockEngineKind
from mptcplab.engine.stock.machine import Execution, Hardware, parse_image
from mptcplab.engine.stock.modules import ModuleTree, depends, modules_of
from mptcplab.engine.stock.root import archive, base_archive, program_files
from mptcplab.engine.stock.start import HEAD
from mptcplab.errors import InputError, LabError, MissingError
from mptcplab.kernel.debian import place_of, releases
from mptcplab.kernel.stock import StockKernel, find_stock, kernel_at, read_release
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.scenario.load import load

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
RELEASE = "6.12.95+deb12-amd64"
MODULES = {
    "drivers/net/veth": (),
    "drivers/net/ifb": (),
    "net/sched/sch_netem": (),
    "net/sched/sch_tbf": (),
    "net/sched/sch_ingress": (),
    "net/sched/cls_matchall": (),
    "net/sched/act_mirred": (),
    "net/ipv4/tcp_bbr": (),
    "net/ipv4/inet_diag": (),
    "net/mptcp/mptcp_diag": ("inet_diag",),
}


def _module(needed: tuple[str, ...]) -> bytes:
    return b"ELF\0license=GPL\0depends=" + ",".join(needed).encode() + b"\0name=some\0"


def _kernel(folder: Path, *, without: str = "") -> StockKernel:
    for name, needed in MODULES.items():
        if name.rpartition("/")[2] != without:
            file = folder / "kernel" / f"{name}.ko.gz"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(gzip.compress(_module(needed)))
    (folder / "modules.builtin").write_text("kernel/net/ipv4/tcp_cubic.ko\n")
    return StockKernel(RELEASE, folder / "vmlinux", "00", folder)


def _plan(name: str = "two-paths", *overrides: str) -> Plan:
    return compile_plan(load(EXAMPLES / f"{name}.toml", overrides=overrides).points[-1].scenario, seed=1)


def _check(plan: Plan, kernel: StockKernel) -> None:
    StockEngine(kernel, {}).check(plan)


def test_modules_follow_those_that_they_depend_on(tmp_path: Path) -> None:
    tree = ModuleTree(_kernel(tmp_path))
    assert [name for name, _ in tree.sort_by_dependency(["mptcp_diag", "inet_diag", "veth", "tcp_cubic"])] == [
        "inet_diag",
        "mptcp_diag",
        "veth",
    ]
    assert depends(_module(("nf-nat", "x"))) == ["nf_nat", "x"]
    assert depends(b"\0softdep=pre: crc32c\0depends=\0") == ["crc32c"]


def test_modules_lose_their_signatures_unless_the_kernel_wants_them(tmp_path: Path) -> None:
    """The end of a signed module as scripts/sign-file.c writes it: signature, struct module_signature, marker."""
    plain = _module(())
    signed = plain + b"pkcs7" + struct.pack(">6B2xI", 0, 0, 2, 0, 0, 0, 5) + b"~Module signature appended~\n"
    kernel = _kernel(tmp_path)
    (tmp_path / "kernel/drivers/net/veth.ko.gz").write_bytes(gzip.compress(signed))
    config = tmp_path / "config"
    for text, wanted in (("# CONFIG_MODULE_SIG_FORCE is not set\n", plain), ("CONFIG_MODULE_SIG_FORCE=y\n", signed)):
        config.write_text(text)
        ((_, content),) = ModuleTree(dataclasses.replace(kernel, config=config)).sort_by_dependency(["veth"])
        assert content == wanted


def test_a_plan_needs_the_modules_that_its_commands_name(tmp_path: Path) -> None:
    needed = modules_of(_plan(), ModuleTree(_kernel(tmp_path)))
    assert {"veth", "ifb", "sch_netem", "sch_tbf", "sch_ingress", "cls_matchall", "act_mirred"} <= set(needed)
    assert "tcp_bbr" not in needed
    assert "tcp_bbr" in modules_of(
        _plan("two-paths", "transport.congestion_control=bbr"), ModuleTree(_kernel(tmp_path))
    )


@pytest.mark.parametrize("missing", ["sch_netem", "ifb"])
def test_a_kernel_without_a_module_is_refused(tmp_path: Path, missing: str) -> None:
    with pytest.raises(MissingError, match=f"has no module for .*'{missing.removeprefix('sch_')}'"):
        _check(_plan(), _kernel(tmp_path, without=missing))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("transport.congestion_control=lia_v09", "has no congestion control 'lia_v09'"),
        ("transport.scheduler=roundrobin", "cannot be given the MPTCP scheduler 'roundrobin'"),
        ("workloads.bulk.scheduler=default", "has no choice of the scheduler for single sockets"),
        ('transport.sysctl={ "net.mptcp.coupled_olia_best" = 1 }', "has no setting net.mptcp.coupled_olia_best"),
    ],
)
def test_our_own_algorithms_are_refused(tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        _check(_plan("two-paths", override), _kernel(tmp_path))
    assert "--engine virtual" in (caught.value.hint or "")


def test_the_name_of_the_engine_can_have_an_image() -> None:
    assert isinstance(engine_kind("stock:6.1")[1], StockEngineKind)
    assert engine_kind("stock")[0] == "stock"
    for text, message in (("virtual:6.12", "has no kernel image '6.12'"), ("stock:", "''"), ("real", "no engine")):
        with pytest.raises(InputError, match=message):
            engine_kind(text)


@pytest.mark.parametrize(
    ("text", "image", "wanted"),
    [
        ("6.12", "6.12", Hardware()),
        ("6.12,cpus=2", "6.12", Hardware(cpus=2)),
        (",kvm", "", Hardware(1, Execution.KVM)),
        ("./bzImage,parallel,cpus=4", "./bzImage", Hardware(4, Execution.PARALLEL)),
    ],
)
def test_the_machine_is_described_after_the_image(text: str, image: str, wanted: Hardware) -> None:
    assert parse_image(text) == (image, wanted)
    _, kind = engine_kind(f"stock:{text}")
    assert kind.capabilities.virtual_time is not wanted.is_real


@pytest.mark.parametrize("word", ["cpus=0", "cpus=17", "cpus=two", "cpus", "fast", ""])
def test_other_words_about_the_machine_are_refused(word: str) -> None:
    with pytest.raises(InputError, match=f"'{word}' does not describe a stock machine"):
        engine_kind(f"stock:6.12,{word}")


def test_machines_have_identities_of_their_own() -> None:
    kinds = (Hardware(), Hardware(cpus=2), Hardware(2, Execution.PARALLEL), Hardware(2, Execution.KVM))
    assert len({(*kind.command, *kind.options) for kind in kinds}) == len(kinds)
    assert [kind.time for kind in kinds] == ["instructions"] * 2 + ["machine"] * 2
    assert ["-icount" in kind.command for kind in kinds] == [True, True, False, False]


def test_kvm_is_refused_where_it_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    device, cpus = tmp_path / "kvm", tmp_path / "cpuinfo"
    monkeypatch.setattr(machine, "KVM", device)
    monkeypatch.setattr(machine, "CPUS", cpus)
    with pytest.raises(MissingError, match=r"this machine has no KVM: '.*': no such file") as caught:
        Hardware(1, Execution.KVM).check()
    assert "leave out `kvm`" in (caught.value.hint or "")
    device.touch()
    cpus.write_text("flags\t\t: fpu hypervisor\n")
    with pytest.raises(MissingError, match="neither vmx nor svm"):
        Hardware(1, Execution.KVM).check()
    cpus.write_text("flags\t\t: fpu svm sse\n")
    Hardware(1, Execution.KVM).check()
    Hardware().check()


def test_cpus_that_run_at_the_same_time_have_all_of_this_machines() -> None:
    kernel = StockKernel(RELEASE, Path("/vmlinux"), "00", None)

    def boot(wanted: Hardware) -> machine.StockBoot:
        return machine.StockBoot(kernel, 1, 0, Path("/"), (), wanted)

    assert machine.host_cpus(boot(Hardware(1, Execution.KVM))) == {0}
    assert machine.host_cpus(boot(Hardware(2, Execution.PARALLEL))) == os.sched_getaffinity(0)
    assert machine.host_cpus(boot(Hardware(cpus=2))) == {0}


def test_a_missing_kernel_names_the_command_that_obtains_it(tmp_path: Path) -> None:
    with pytest.raises(MissingError) as caught:
        find_stock("6.12", tmp_path)
    assert caught.value.hint == "mptcplab kernel stock 6.12"
    with pytest.raises(InputError, match="neither the version nor the path"):
        find_stock("latest", tmp_path)


def test_without_qemu_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(MissingError) as caught:
        machine.qemu()
    assert caught.value.hint == "sudo apt-get install qemu-system-x86"


def _bz_image(path: Path, release: str) -> Path:
    head = bytearray(0x400)
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", head, 0x20E, 0x100)
    text = f"{release} (someone@somewhere) #1\0".encode()
    head[0x300 : 0x300 + len(text)] = text
    path.write_bytes(head)
    return path


def test_an_image_tells_its_release_and_finds_its_modules(tmp_path: Path) -> None:
    image = _bz_image(tmp_path / "bzImage", RELEASE)
    assert read_release(image) == RELEASE
    assert kernel_at(image).modules is None
    (tmp_path / "lib/modules" / RELEASE).mkdir(parents=True)
    (tmp_path / "config").write_text("CONFIG_HZ=250\n")
    kernel = kernel_at(image)
    assert (kernel.modules, kernel.hz) == (tmp_path / "lib/modules" / RELEASE, 250)


def test_other_files_are_not_images(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no kernel")
    with pytest.raises(InputError, match="is not an x86 kernel image"):
        kernel_at(tmp_path / "text")
    with pytest.raises(InputError, match="cannot be read: no such file"):
        kernel_at(tmp_path / "nothing")


def test_the_newest_release_comes_first_and_flavours_are_left_out() -> None:
    names = [f"linux-image-{release}-amd64" for release in ("6.12.9+deb12", "6.12.95+deb12", "6.12.95+deb12-cloud")]
    names += ["linux-image-6.1.0-50-amd64", "linux-image-6.12.95+deb12-rt-amd64", "linux-image-amd64"]
    assert releases(names, "6.12") == [RELEASE, "6.12.9+deb12-amd64"]
    assert releases(names, "6.1") == ["6.1.0-50-amd64"]


@pytest.mark.parametrize(
    ("name", "place"),
    [
        (f"./boot/vmlinuz-{RELEASE}", "vmlinuz"),
        (f"./usr/lib/modules/{RELEASE}/config", "config"),
        (f"./lib/modules/{RELEASE}/kernel/net/sched/sch_netem.ko.xz", "modules/kernel/net/sched/sch_netem.ko.xz"),
        (f"./lib/modules/{RELEASE}/kernel/drivers/net/veth.ko", "modules/kernel/drivers/net/veth.ko"),
        (f"./lib/modules/{RELEASE}/kernel/drivers/net/wireless/ath/ath9k.ko", None),
        (f"./lib/modules/{RELEASE}/kernel/fs/9p/9p.ko.xz", "modules/kernel/fs/9p/9p.ko.xz"),
        (f"./lib/modules/{RELEASE}/kernel/drivers/gpu/drm/drm.ko", None),
        ("./usr/share/doc/linux-image/copyright", None),
    ],
)
def test_only_what_networks_and_emulated_machines_need_is_kept(name: str, place: str | None) -> None:
    assert place_of(name, RELEASE) == (PurePosixPath(place) if place else None)


def test_the_archive_is_what_cpio_calls_newc() -> None:
    data = archive({"/bin/true": (b"\x7fELF", True), "/etc/hosts": (b"", False)}, ("/proc",))
    assert (data[:6], len(data) % 4, data.count(b"070701")) == (b"070701", 0, 6)
    assert b"TRAILER!!!" in data
    assert data == archive({"/etc/hosts": (b"", False), "/bin/true": (b"\x7fELF", True)}, ("/proc",))


def test_results_are_unpacked_below_their_folder(tmp_path: Path) -> None:
    sent = HEAD.pack(7, 3) + b"out/one" + b"abc" + HEAD.pack(3, 0) + b"two" + HEAD.pack(0, 0)
    (tmp_path / "results").write_bytes(sent)
    folder = tmp_path / "folder"
    folder.mkdir()
    assert machine.unpack_results(tmp_path, folder)
    assert ((folder / "out/one").read_bytes(), (folder / "two").read_bytes()) == (b"abc", b"")
    (tmp_path / "results").write_bytes(sent[:12])
    assert not machine.unpack_results(tmp_path, folder)
    (tmp_path / "results").write_bytes(HEAD.pack(6, 0) + b"../out")
    with pytest.raises(LabError, match="outside of its folder"):
        machine.unpack_results(tmp_path, folder)


def test_the_library_of_turns_has_both_functions() -> None:
    names = subprocess.run(["nm", "-D", machine.turns_library()], capture_output=True, text=True, check=True).stdout
    assert {" T pthread_mutex_lock", " T pthread_cond_wait"} <= {line[16:] for line in names.splitlines()}


def test_an_algorithm_with_an_ebpf_program_needs_a_kernel_that_can_load_it(tmp_path: Path) -> None:
    old = dataclasses.replace(_kernel(tmp_path), release="5.10.0-9-amd64")
    with pytest.raises(InputError, match=r"5\.10.* is too old for 'lia' as an eBPF program"):
        _check(_plan("two-paths", "transport.congestion_control=lia"), old)


def test_the_tables_of_netem_are_in_the_guest() -> None:
    """``tc`` looks for a distribution in a folder of its own, which also leads to tables of the lab's."""
    program = shutil.which("tc", path=os.defpath + ":/usr/sbin:/sbin")
    assert program is not None, "a package of `make packages` has it"
    names = {file.name for file in program_files({"tc": Path(program).resolve()})}
    assert "normal.dist" in names, sorted(names)


def test_the_extensions_of_iptables_are_in_the_guest() -> None:
    """Without them it takes a rule's target for the name of a chain."""
    program = shutil.which("iptables", path=os.defpath + ":/usr/sbin:/sbin")
    assert program is not None, "a package of `make test-packages` has it"
    names = {file.name for file in program_files({"iptables": Path(program).resolve()})}
    assert "libxt_standard.so" in names, sorted(names)


@pytest.mark.slow
def test_two_checkouts_make_the_same_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every byte of a path takes the emulated CPU time: with another one, a run has other instants."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    machines = []
    for name in ("one", "another-checkout"):
        shutil.copytree(package_folder() / "mptcplab", tmp_path / name / "mptcplab")
        machines.append(base_archive(tmp_path / name, whole_library=False).read_bytes())
    assert machines[0] == machines[1]
    assert f"{start.PACKAGE}/mptcplab/guest/init.pyc".lstrip("/").encode() in machines[0]
    assert str(tmp_path).encode() not in machines[0]
