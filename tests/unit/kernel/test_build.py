# SPDX-License-Identifier: MIT
"""The steps of a build, with stand-ins for gcc and make: nothing is compiled here."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import mptcplab
from mptcplab.cli.commands.kernel import kernel as command
from mptcplab.errors import Exit, InputError, LabError, MissingError
from mptcplab.kernel import __main__ as alone
from mptcplab.kernel import build
from mptcplab.kernel.build import BuildOptions, build_environment, build_kernel, find_tree, first_errors
from mptcplab.kernel.cache import list_kernels
from mptcplab.kernel.data import DEFAULT_VERSION, KernelInputs, NamedFile
from mptcplab.kernel.process import CommandError, require_tools, run_logged, sigterm_as_interrupt
from mptcplab.kernel.progress import SilentProgress

PATCH = b"--- a/file\n+++ b/file\n@@ -1 +1 @@\n-old\n+new\n"
FRAGMENT = "CONFIG_NET=y\nCONFIG_ODD=y\n"

# Prints what the kernel's make prints, as far as a build reads it.
FAKE_MAKE = """\
#!/bin/sh
case "$*" in
  *tinyconfig) : > .config ;;
  *olddefconfig) printf "CONFIG_NET=y\\nCONFIG_HZ=250\\n" > .config ;;
  *kernelrelease) echo 7.2.12-mptcplab ;;
  *linux)
    cat file
    echo "  CC      init/main.o"
    echo "a.c:1: warning: odd"
    [ -e fail ] && { echo "a.c:2: error: broken" >&2; exit 2; }
    printf kernel > linux; printf map > System.map ;;
esac
"""
FAKE_STRIP = '#!/bin/sh\ncp "$4" "$3"\n'


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source tree, and a PATH on which make and strip are stand-ins."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in (("make", FAKE_MAKE), ("strip", FAKE_STRIP)):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setattr(build, "TOOLS", {"make": "make"})
    monkeypatch.setattr(build, "compiler_version", lambda: "gcc 12")
    place = tmp_path / "linux"
    (place / "arch" / "um").mkdir(parents=True)
    (place / "arch" / "um" / "Makefile").touch()
    (place / "Makefile").write_text("VERSION = 7\nPATCHLEVEL = 2\n")
    (place / "file").write_text("old\n")
    merge = place / "scripts" / "kconfig" / "merge_config.sh"
    merge.parent.mkdir(parents=True)
    merge.write_text("#!/bin/sh\n")
    merge.chmod(0o755)
    return place


INPUTS = KernelInputs(
    fragment=FRAGMENT,
    patches=(NamedFile("0001-x.patch", PATCH),),
    overlay=(NamedFile("net/mptcp/lia.c", b"int x;"),),
)


def test_a_build_makes_a_whole_entry(tree: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    kernel = build_kernel(source=tree, options=BuildOptions(jobs=1), cache=cache, inputs=INPUTS)
    assert (kernel.version, kernel.release, kernel.hz) == ("7.2", "7.2.12-mptcplab", 250)
    names = {path.name for path in kernel.path.iterdir()}
    assert names == {"linux", "System.map", "config", "build.log", "entry.json"}
    assert os.access(kernel.executable, os.X_OK)
    entry = json.loads((kernel.path / "entry.json").read_text())
    assert entry["lost_options"] == ["CONFIG_ODD=y"]
    assert entry["warnings"] == ["a.c:1: warning: odd"]
    assert entry["source"]["kind"] == "tree"
    # The patch was applied, to a copy.
    assert "\nnew\n" in (kernel.path / "build.log").read_text()
    assert (tree / "file").read_text() == "old\n"
    assert list((cache / "tmp").iterdir()) == []


def test_a_cached_kernel_is_not_rebuilt(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    first = build_kernel(source=tree, cache=cache, inputs=INPUTS)
    monkeypatch.setattr(build, "make_work_folder", None)
    assert build_kernel("7.2", source=tree, cache=cache, inputs=INPUTS) == first
    with pytest.raises(InputError, match=r"Linux 7\.2, not 6\.12"):
        build_kernel("6.12", source=tree, cache=cache, inputs=INPUTS)


def test_the_tree_is_kept_when_asked(tree: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = build_kernel(source=tree, cache=cache, inputs=INPUTS)
    assert find_tree(first, cache) is None
    again = build_kernel(source=tree, options=BuildOptions(keep_tree=True), cache=cache, inputs=INPUTS)
    assert again == first
    assert ((find_tree(first, cache) or tree) / "net" / "mptcp" / "lia.c").read_bytes() == b"int x;"


def test_a_failed_build_leaves_its_log_and_nothing_else(tree: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    (tree / "fail").touch()
    with pytest.raises(LabError) as caught:
        build_kernel(source=tree, cache=cache, inputs=INPUTS)
    assert caught.value.status == Exit.FAILED
    assert caught.value.message == "the kernel's build failed"
    (log,) = (cache / "logs").iterdir()
    assert str(log) in (caught.value.hint or "")
    assert "a.c:2: error: broken" in (caught.value.hint or "")
    assert "a.c:2: error: broken" in log.read_text()
    assert list_kernels(cache) == []
    assert list((cache / "tmp").iterdir()) == []
    # The next build succeeds once the cause is fixed.
    (tree / "fail").unlink()
    assert build_kernel(source=tree, cache=cache, inputs=INPUTS).executable.is_file()


def test_a_patch_that_does_not_apply_is_named(tree: Path, tmp_path: Path) -> None:
    (tree / "file").write_text("other\n")
    with pytest.raises(LabError, match=r"0001-x\.patch does not apply"):
        build_kernel(source=tree, cache=tmp_path / "cache", inputs=INPUTS)


def test_a_patch_that_the_source_has_is_not_reverted(tree: Path, tmp_path: Path) -> None:
    (tree / "file").write_text("new\n")
    with pytest.raises(LabError, match=r"0001-x\.patch does not apply"):
        build_kernel(source=tree, cache=tmp_path / "cache", inputs=INPUTS)


def test_our_files_replace_nothing(tree: Path, tmp_path: Path) -> None:
    (tree / "net" / "mptcp").mkdir(parents=True)
    (tree / "net" / "mptcp" / "lia.c").touch()
    with pytest.raises(LabError, match=r"already has net/mptcp/lia\.c"):
        build_kernel(source=tree, cache=tmp_path / "cache", inputs=INPUTS)


@pytest.mark.parametrize("version", ["7", "7.2.12", "latest"])
def test_a_bad_version_is_bad_input(version: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a kernel version"):
        build_kernel(version, cache=tmp_path, inputs=INPUTS)


def test_missing_tools_are_all_named_with_their_packages() -> None:
    with pytest.raises(MissingError) as caught:
        require_tools({"no-such-a": "pkg-b", "sh": "dash", "no-such-b": "pkg-a", "no-such-c": "pkg-a"})
    assert caught.value.message == "the kernel cannot be built without no-such-a, no-such-b, no-such-c"
    assert caught.value.hint == "sudo apt-get install pkg-a pkg-b"


def test_the_users_flags_stay_out_of_the_build() -> None:
    clean = build_environment({"PATH": "/bin", "CFLAGS": "-O0", "ARCH": "arm", "LOCALVERSION": "-x"})
    assert "CFLAGS" not in clean
    assert "ARCH" not in clean
    assert (clean["PATH"], clean["LOCALVERSION"], clean["KBUILD_BUILD_USER"]) == ("/bin", "", "mptcplab")


def test_first_errors_skips_commands_and_progress() -> None:
    log = "$ make error\n  CC      fs/error.o\nx.c:3: error: no\nmake: *** [x.o] Error 1\n"
    assert first_errors(log) == ["x.c:3: error: no", "make: *** [x.o] Error 1"]


def test_a_failing_command_is_logged_and_can_be_pasted() -> None:
    log = io.StringIO()
    with pytest.raises(CommandError) as caught:
        run_logged(["sh", "-c", "echo out; echo err >&2; exit 3"], log=log)
    assert caught.value.hint == "sh -c 'echo out; echo err >&2; exit 3'"
    assert {"out", "err"} <= set(log.getvalue().splitlines())


def test_sigterm_ends_the_whole_group(tmp_path: Path) -> None:
    """The command's children end too, so that no process holds the pipe."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read_end = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)

    def on_line(_line: str) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt), sigterm_as_interrupt():
        run_logged(
            ["sh", "-c", 'exec 3>"$0"; sleep 600 & echo ready; wait', str(fifo)],
            log=io.StringIO(),
            on_line=on_line,
        )
    os.set_blocking(read_end, True)
    assert os.read(read_end, 1) == b""
    os.close(read_end)


def test_commands(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(build, "load_inputs", lambda *_, **__: INPUTS)
    monkeypatch.setattr("mptcplab.kernel.cache.load_inputs", lambda *_, **__: INPUTS)
    runner = CliRunner()
    assert isinstance(runner.invoke(command, ["path"]).exception, MissingError)
    built = runner.invoke(command, ["build", "--source", str(tree), "--json"], catch_exceptions=False)
    document = json.loads(built.stdout)
    assert document["release"] == "7.2.12-mptcplab"
    path = runner.invoke(command, ["path"], catch_exceptions=False).stdout
    assert path == document["executable"] + "\n"
    listing = runner.invoke(command, ["list"], catch_exceptions=False).stdout
    assert listing.splitlines()[1].split()[:4] == ["*", "7.2", "7.2.12-mptcplab", "250"]
    (item,) = json.loads(runner.invoke(command, ["list", "--json"], catch_exceptions=False).stdout)
    assert (item["default"], item["hz"]) == (True, 250)
    refused = runner.invoke(command, ["build", "--source", str(tree), "--hz", "300"])
    assert refused.exit_code == 2
    assert "'300' is not one of '100', '250', '1000'" in refused.stderr


def test_a_build_with_another_frequency(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its options are part of the key and of its name."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(build, "load_inputs", _with_variant)
    runner = CliRunner()
    documents = {}
    for options in ([], ["--hz", "1000"], ["--hz", "100"], ["--hz", "100", "--debug"]):
        done = runner.invoke(command, ["build", "--source", str(tree), "--json", *options], catch_exceptions=False)
        documents[" ".join(options)] = json.loads(done.stdout)
    variants = {options: document["variant"] for options, document in documents.items()}
    assert variants == {"": "", "--hz 1000": "", "--hz 100": "hz100", "--hz 100 --debug": "hz100-debug"}
    assert len({document["key"] for document in documents.values()}) == 3


def test_a_plain_build_with_a_patch(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The patch is part of the key and the tree; the name `plain` does not select such a kernel."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(build, "load_inputs", _with_variant)
    monkeypatch.setattr("mptcplab.kernel.cache.load_inputs", _with_variant)
    patch = tmp_path / "0001-mine.patch"
    patch.write_text("--- a/file\n+++ b/file\n@@ -1 +1 @@\n-new\n+newer\n")
    runner = CliRunner()
    common = ["build", "--source", str(tree), "--plain", "--json"]
    patched = json.loads(runner.invoke(command, [*common, "--patch", str(patch)], catch_exceptions=False).stdout)
    assert patched["variant"] == "plain"
    assert "\nnewer\n" in (Path(patched["executable"]).parent / "build.log").read_text()
    refused = runner.invoke(command, ["path", "7.2-plain"])
    assert isinstance(refused.exception, MissingError)
    assert refused.exception.hint == "mptcplab kernel build --plain"
    plain = json.loads(runner.invoke(command, common, catch_exceptions=False).stdout)
    assert plain["key"] != patched["key"]
    assert (plain["given_patches"], patched["given_patches"]) == ([], ["given/01-0001-mine.patch"])
    rows = runner.invoke(command, ["list"], catch_exceptions=False).stdout.splitlines()[1:]
    assert sorted(row.split("7.2.12")[0].split() for row in rows) == [["7.2-plain"], ["7.2-plain", "+", "1"]]
    assert runner.invoke(command, ["path", "7.2-plain"], catch_exceptions=False).stdout == plain["executable"] + "\n"


def test_a_given_patch_that_does_not_apply_is_named(tree: Path, tmp_path: Path) -> None:
    patch = tmp_path / "0001-mine.patch"
    patch.write_bytes(PATCH)
    with pytest.raises(LabError, match=r"the patch given/01-0001-mine\.patch does not apply"):
        build_kernel(source=tree, options=BuildOptions(patches=[patch]), cache=tmp_path / "cache", inputs=INPUTS)


def _with_variant(_version: str, *, variant: str) -> KernelInputs:
    return replace(INPUTS, fragment=f"{INPUTS.fragment}CONFIG_LOCALVERSION={variant}\n")


def test_silent_progress_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    silent = SilentProgress()
    silent.stage("a")
    silent.count(1, 2)
    silent.warn("b")
    assert capfd.readouterr() == ("", "")


def test_other_installed_tools_have_no_effect(tree: Path, tmp_path: Path) -> None:
    """Kconfig would record the versions of Rust and pahole if they are installed."""
    kernel = build_kernel(source=tree, cache=tmp_path / "cache", inputs=INPUTS)
    log = (kernel.path / "build.log").read_text()
    made = [line for line in log.splitlines() if line.startswith("$ make")]
    assert made
    assert all("RUSTC=absent PAHOLE=absent" in line for line in made)


@pytest.mark.parametrize("options", [BuildOptions(cpu=True), BuildOptions(wifi=True), BuildOptions(fixes=("join",))])
def test_linux_61_has_no_variants_with_patches_for_later_versions(options: BuildOptions, tmp_path: Path) -> None:
    """Refused before anything is downloaded."""
    with pytest.raises(InputError, match=rf"Linux 6\.1 has no variant '{options.variant}'") as refused:
        build.build_kernel("6.1", options=options, cache=tmp_path)
    assert refused.value.hint == "leave --cpu, --wifi and --fix out, or build a later version"
    assert not list(tmp_path.iterdir())


def test_a_kernel_is_built_with_python_alone(tmp_path: Path) -> None:
    """`make demo` does this while pip is still installing the libraries."""
    source = Path(mptcplab.__file__).resolve().parents[1]
    # -S leaves out all libraries. Without programs on the PATH, the build ends at once.
    command = [sys.executable, "-S", "-m", "mptcplab.kernel", "--hz", "250", "--fix", "window"]
    environment = {"PYTHONPATH": str(source), "PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == Exit.MISSING, done.stderr
    assert done.stderr.startswith("mptcplab: the kernel cannot be built without gcc, ")
    assert "\n  hint: " in done.stderr


@pytest.mark.parametrize("is_there", [True, False])
def test_a_kernel_is_built_unless_it_is_there(monkeypatch: pytest.MonkeyPatch, is_there: bool) -> None:
    asked: list[str] = []
    built: list[BuildOptions] = []

    def find(name: str) -> None:
        asked.append(name)
        if not is_there:
            raise MissingError("none", hint="none")

    monkeypatch.setattr(alone, "find_kernel", find)
    monkeypatch.setattr(alone, "build_kernel", lambda **given: built.append(given["options"]))
    assert alone.main(["--hz", "250", "--fix", "window"]) == Exit.DONE
    assert asked == [f"{DEFAULT_VERSION}-hz250-window"]
    assert [options.variant for options in built] == ([] if is_there else ["hz250-window"])
