# SPDX-License-Identifier: MIT
"""The identity of a kernel, and the check of its options."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from mptcplab.errors import InputError, LabError
from mptcplab.kernel import data
from mptcplab.kernel.config import ESSENTIAL, check_essential, lost_options, parse_config
from mptcplab.kernel.data import (
    DEFAULT_HZ,
    FIXES,
    HZ_CHOICES,
    KernelInputs,
    NamedFile,
    build_options,
    canonical_variant,
    load_inputs,
    variant_of,
    with_patches,
)

BASE = KernelInputs(
    fragment="CONFIG_NET=y\n",
    patches=(NamedFile("0001-a.patch", b"a"), NamedFile("0002-b.patch", b"b")),
    overlay=(NamedFile("net/mptcp/lia.c", b"int x;"),),
)
KEY = BASE.key(source_sha256="s", compiler="gcc 12")


@pytest.mark.parametrize(
    "changed",
    [
        replace(BASE, fragment="CONFIG_NET=y\nCONFIG_INET=y\n"),
        replace(BASE, fragment="# CONFIG_NET is not set\n"),
        replace(BASE, patches=BASE.patches[:1]),
        replace(BASE, patches=BASE.patches[::-1]),
        replace(BASE, patches=(BASE.patches[0], NamedFile("0002-b.patch", b"c"))),
        replace(BASE, patches=(BASE.patches[0], NamedFile("0003-b.patch", b"b"))),
        replace(BASE, overlay=()),
        replace(BASE, overlay=(NamedFile("net/mptcp/olia.c", b"int x;"),)),
    ],
)
def test_key_changes_with_each_of_our_inputs(changed: KernelInputs) -> None:
    assert changed.digest != BASE.digest
    assert changed.key(source_sha256="s", compiler="gcc 12") != KEY


def test_key_changes_with_source_compiler_and_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    assert BASE.key(source_sha256="t", compiler="gcc 12") != KEY
    assert BASE.key(source_sha256="s", compiler="gcc 13") != KEY
    monkeypatch.setattr(data, "RECIPE", data.RECIPE + 1)
    assert BASE.key(source_sha256="s", compiler="gcc 12") != KEY


def test_comments_and_blank_lines_do_not_change_the_key() -> None:
    commented = replace(BASE, fragment="# why\n\n  CONFIG_NET=y\n\n# links: none\n")
    assert commented.digest == BASE.digest


def test_inputs_are_read_in_name_order(tmp_path: Path) -> None:
    files = {
        "config/lab.config": "CONFIG_NET=y\n",
        "patches/0002-b.patch": "b",
        "patches/0001-a.patch": "a",
        "patches/README": "no patch",
        "net/mptcp/lia.c": "int x;",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert load_inputs("7.2", directory=tmp_path) == BASE


def test_a_version_has_patches_of_its_own(tmp_path: Path) -> None:
    """They are applied after the common ones and change no other version's key."""
    for name in ("patches/0002-b.patch", "patches/6.12/0001-old.patch", "patches/7.2/0009-new.patch"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "lab.config").write_text("CONFIG_NET=y\n")
    assert [patch.name for patch in load_inputs("6.12", directory=tmp_path).patches] == [
        "0002-b.patch",
        "6.12/0001-old.patch",
    ]
    before = load_inputs("7.2", directory=tmp_path).digest
    (tmp_path / "patches" / "6.12" / "0001-old.patch").write_text("other")
    assert load_inputs("7.2", directory=tmp_path).digest == before
    assert [patch.name for patch in load_inputs("6.18", directory=tmp_path).patches] == ["0002-b.patch"]


def test_a_version_can_replace_common_patches_and_leave_out_those_of_the_network(tmp_path: Path) -> None:
    """Linux 6.1 has no place for the hooks of schedulers. Other versions have all common patches, as they are."""
    for name in ("0001-um-a", "0002-net-b", "0003-um-c", "6.1/0003-um-c", "6.1/0004-net-d", "6.12/0003-um-c"):
        file = tmp_path / "patches" / f"{name}.patch"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "lab.config").write_text("CONFIG_NET=y\n")
    (tmp_path / "config" / "6.1.config").write_text("# CONFIG_MPTCP_SCHEDULERS is not set\n")
    hashes = {
        (version, variant): [patch.name for patch in load_inputs(version, variant=variant, directory=tmp_path).patches]
        for version, variant in (("6.1", ""), ("6.1", "plain"), ("6.12", ""), ("7.2", ""))
    }
    assert hashes == {
        ("6.1", ""): ["0001-um-a.patch", "6.1/0003-um-c.patch", "6.1/0004-net-d.patch"],
        ("6.1", "plain"): ["0001-um-a.patch", "6.1/0003-um-c.patch"],
        ("6.12", ""): ["0001-um-a.patch", "0002-net-b.patch", "6.12/0003-um-c.patch"],
        ("7.2", ""): ["0001-um-a.patch", "0002-net-b.patch", "0003-um-c.patch"],
    }
    assert "MPTCP_SCHEDULERS" in load_inputs("6.1", directory=tmp_path).fragment
    assert "MPTCP_SCHEDULERS" not in load_inputs("6.12", directory=tmp_path).fragment


def test_the_debug_variant_has_other_options_and_so_another_key(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "lab.config").write_text('CONFIG_NET=y\nCONFIG_LOCALVERSION="-a"\n')
    (tmp_path / "config" / "debug.config").write_text("CONFIG_KASAN=y")
    default, debug = (load_inputs("7.2", variant=variant, directory=tmp_path) for variant in ("", "debug"))
    assert default.digest != debug.digest
    assert parse_config(debug.fragment) == {
        "CONFIG_NET": "y",
        "CONFIG_KASAN": "y",
        "CONFIG_LOCALVERSION": '"-mptcplab-debug"',
    }


@pytest.mark.parametrize("hz", HZ_CHOICES)
def test_a_variant_has_another_timer_frequency_in_its_name(hz: int) -> None:
    """Exactly one frequency is enabled; the default one adds nothing to the name."""
    variant = variant_of(hz=hz)
    options = parse_config(load_inputs("7.2", variant=variant).fragment)
    assert [option for option in options if option.startswith("CONFIG_HZ_") and options[option] == "y"] == [
        f"CONFIG_HZ_{hz}"
    ]
    assert options["CONFIG_LOCALVERSION"] == ('"-mptcplab"' if hz == DEFAULT_HZ else f'"-mptcplab-hz{hz}"')
    assert build_options(variant) == ([] if hz == DEFAULT_HZ else ["--hz", str(hz)])


def test_variants_combine() -> None:
    assert variant_of(hz=100, debug=True) == "hz100-debug"
    assert build_options("hz100-debug") == ["--hz", "100", "--debug"]
    assert canonical_variant("hz1000-debug") == variant_of(debug=True) == "debug"
    options = parse_config(load_inputs("7.2", variant="hz100-debug").fragment)
    wanted = {"CONFIG_HZ_100": "y", "CONFIG_HZ_1000": "n", "CONFIG_KASAN": "y"}
    assert {name: options[name] for name in wanted} == wanted


def test_the_plain_variant_has_none_of_our_network_code(tmp_path: Path) -> None:
    """The patches that make Linux the lab's machine stay, also for this version; the options are the default ones."""
    machine = ["patches/0001-um-a.patch", "patches/7.2/0009-um-b.patch"]
    network = ["patches/0002-mptcp-a.patch", "patches/0003-mptcp-um-b.patch", "net/mptcp/lia.c"]
    for name in [*machine, *network]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "lab.config").write_text("CONFIG_NET=y\n")
    plain = load_inputs("7.2", variant="plain", directory=tmp_path)
    assert [f"patches/{patch.name}" for patch in plain.patches] == machine
    assert plain.overlay == ()
    assert parse_config(plain.fragment) == {"CONFIG_NET": "y", "CONFIG_LOCALVERSION": '"-mptcplab-plain"'}


def test_plain_touches_no_file_of_the_network_stack() -> None:
    patches = load_inputs("7.2", variant="plain").patches
    changed = [line[6:] for patch in patches for line in patch.content.decode().splitlines() if line[:6] == "+++ b/"]
    print(sorted(set(changed)))
    assert changed
    assert not [name for name in changed if name.startswith(("net/", "include/net/", "include/uapi/", "drivers/net/"))]


def test_plain_combines_with_the_other_variants() -> None:
    assert variant_of(plain=True, hz=100, debug=True) == "plain-hz100-debug"
    assert build_options("plain-hz100-debug") == ["--plain", "--hz", "100", "--debug"]
    assert canonical_variant("plain-hz1000") == variant_of(plain=True) == "plain"
    options = parse_config(load_inputs("7.2", variant="plain-hz100").fragment)
    assert (options["CONFIG_HZ_100"], options["CONFIG_LOCALVERSION"]) == ("y", '"-mptcplab-plain-hz100"')


def test_a_fix_of_mainline_is_applied_last_and_named() -> None:
    lab, fixed = (load_inputs("7.2", variant=variant) for variant in ("", "window"))
    (added,) = fixed.patches[len(lab.patches) :]
    assert fixed.patches[: len(lab.patches)] == lab.patches
    assert added.name.startswith("upstream/mptcp-window/0001-"), added.name
    assert parse_config(fixed.fragment)["CONFIG_LOCALVERSION"] == '"-mptcplab-window"'
    plain = load_inputs("7.2", variant="plain-join-window")
    assert [patch.name[:19] for patch in plain.patches[-2:]] == ["upstream/mptcp/0003", "upstream/mptcp-wind"]


def test_fixes_may_be_named_in_any_order() -> None:
    assert variant_of(plain=True, hz=250, fixes=("window", "join"), debug=True) == "plain-hz250-join-window-debug"
    assert canonical_variant("window-join") == "join-window"
    assert build_options("join-window") == ["--fix", "join", "--fix", "window"]


def test_radios_push_back_and_aggregate_only_in_the_variant_for_wifi() -> None:
    lab, wifi = (load_inputs("7.2", variant=variant) for variant in ("", "wifi"))
    assert [added.name for added in wifi.patches[len(lab.patches) :]] == [
        "options/wifi/0001-mac80211_hwsim-back-pressure.patch",
        "options/wifi/0002-mac80211_hwsim-aggregates.patch",
    ]
    assert wifi.overlay == lab.overlay
    options = parse_config(wifi.fragment)
    assert (options["CONFIG_MAC80211_DEBUGFS"], options["CONFIG_LOCALVERSION"]) == ("y", '"-mptcplab-wifi"')
    assert variant_of(cpu=True, wifi=True, debug=True) == canonical_variant("wifi-cpu-debug") == "cpu-wifi-debug"
    assert build_options("cpu-wifi") == ["--cpu", "--wifi"]


@pytest.mark.parametrize("fix", FIXES)
def test_every_fix_is_a_patch_of_net(fix: str) -> None:
    """It is neither the selftest that follows it nor a patch that the lab kernel already has."""
    content = load_inputs("7.2", variant=fix).patches[-1].content
    assert b"+++ b/net/" in content
    assert not re.search(rb"^\+\+\+ b/(?!net/)", content, re.MULTILINE)


def test_patches_of_a_user_come_after_ours_in_their_order(tmp_path: Path) -> None:
    files = [tmp_path / "b" / "0001-x.patch", tmp_path / "a" / "0001-x.patch"]
    for file in files:
        file.parent.mkdir()
        file.write_text(file.parent.name)
    inputs = with_patches(BASE, files)
    assert inputs.patches[:2] == BASE.patches
    assert [patch.content for patch in inputs.patches[2:]] == [b"b", b"a"]
    assert len({patch.name for patch in inputs.patches}) == 4, "each is written to a file of its own"
    assert with_patches(BASE, files[::-1]).digest != inputs.digest != BASE.digest
    with pytest.raises(InputError, match="cannot be read: No such file") as caught:
        with_patches(BASE, [tmp_path / "absent.patch"])
    assert caught.value.hint


def test_a_lost_timer_frequency_ends_the_build() -> None:
    with pytest.raises(LabError, match=r"CONFIG_HZ_250\n"):
        check_essential(["CONFIG_HZ_250=y"])


def test_files_of_editors_are_no_sources(tmp_path: Path) -> None:
    for name in ("config/lab.config", "net/mptcp/lia.c", "net/mptcp/.lia.c.swp", "net/mptcp/lia.c~", "net/mptcp/lia.o"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [file.name for file in load_inputs("7.2", directory=tmp_path).overlay] == ["net/mptcp/lia.c"]


def test_the_project_has_its_inputs() -> None:
    inputs = load_inputs("7.2")
    wanted = parse_config(inputs.fragment)
    assert {wanted.get(name) for name in ESSENTIAL} == {"y"}
    assert inputs.patches


def test_parse_config_reads_values_strings_and_unset() -> None:
    text = '# CONFIG_A is not set\nCONFIG_B=y\nCONFIG_C="-x=1"\n# CONFIG_ of no meaning\nCONFIG_A=y\n'
    assert parse_config(text) == {"CONFIG_A": "y", "CONFIG_B": "y", "CONFIG_C": '"-x=1"'}


def test_lost_options_are_those_that_differ_from_the_request() -> None:
    wanted = parse_config('CONFIG_A=y\nCONFIG_B=y\nCONFIG_C="x"\nCONFIG_D=n\n# CONFIG_E is not set')
    final = parse_config('CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C="y"\nCONFIG_E=y\n')
    assert lost_options(wanted, final) == ("CONFIG_B=y", 'CONFIG_C="x"', "CONFIG_E=n")


def test_essential_options_may_not_be_lost() -> None:
    check_essential(["CONFIG_IP_NF_IPTABLES_LEGACY=y"])
    with pytest.raises(LabError, match=r"CONFIG_MPTCP, CONFIG_NET_SCH_NETEM\n"):
        check_essential(["CONFIG_NET_SCH_NETEM=y", "CONFIG_X=y", "CONFIG_MPTCP=y"])
