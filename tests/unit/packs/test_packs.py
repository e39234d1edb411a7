# SPDX-License-Identifier: MIT
"""Packs: what they contain, what a stranger's scenario can reach, and what is executed only if the user trusts it."""

from __future__ import annotations

import ast
import http.server
import json
import os
import socket
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner

import mptcplab
from mptcplab.api.sources import open_source
from mptcplab.cli.main import commands
from mptcplab.errors import Exit, InputError, LabError, MissingError
from mptcplab.packs.archive import (
    FORMAT,
    NAME,
    Archive,
    Manifest,
    PackedRecording,
    digest_of,
    run_digest,
    write_archive,
)
from mptcplab.packs.compare import compare_recordings
from mptcplab.packs.make import make_pack
from mptcplab.packs.open import OpenPack, fetch, foreign_code, open_pack
from mptcplab.scenario.document import NamedFiles
from mptcplab.scenario.load import load

SCENARIO = """
title = "two paths"
[topology]
preset = "disjoint-paths"
paths = 2
[links.link1]
delay = "10 ms"
{link1}
[links.link2]
rate = "5 Mbit/s"
delay = "30 ms"
[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "1 s"
"""
RATE = 'rate = "8 Mbit/s"'
TRACE = "time_s,rate_mbit_s\n0,5\n1,8\n"


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep packs and folders away from the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def write(file: Path, text: str) -> Path:
    """Write a file, and the folder that it is in."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def pack_of(members: dict[str, str], scenario: str = "scenario/s.toml", **changes: Any) -> bytes:
    """Return a pack as a stranger can make it, with digests that are right."""
    contents = {name: text.encode() for name, text in members.items()}
    manifest = {
        "format": FORMAT,
        "mptcplab": "0.1.0",
        "architecture": "x86_64",
        "scenario": scenario,
        "title": "",
        "files": {name: digest_of(content) for name, content in contents.items()},
        **changes,
    }
    return write_archive({**contents, NAME: json.dumps(manifest).encode()})


def load_pack(file: Path, data: bytes) -> tuple[OpenPack, list[str]]:
    """Load the scenario of a pack, and return what its runs would execute."""
    file.write_bytes(data)
    with open_pack(file) as pack:
        return pack, foreign_code(load(pack.file, named=pack.named), pack.named)


def refusal(file: Path, data: bytes) -> str:
    """Return the sentence for a pack that cannot be used."""
    with pytest.raises(InputError) as caught:
        load_pack(file, data)
    assert caught.value.status == Exit.BAD_INPUT
    assert caught.value.hint
    assert caught.value.message.isprintable()
    return caught.value.message


def test_a_pack_has_all_that_the_scenario_names(tmp_path: Path) -> None:
    write(tmp_path / "home/traces/lte.csv", TRACE)
    write(tmp_path / "home/base/base.toml", SCENARIO.format(link1='trace = "../traces/lte.csv"'))
    file = write(tmp_path / "home/mine/s.toml", 'extends = "../base/base.toml"\nbpf = ["cc.bpf.c", "cc.h"]\n')
    write(tmp_path / "home/mine/cc.bpf.c", '#include "cc.h"\n')
    write(tmp_path / "home/mine/cc.h", "int one;\n")
    write(tmp_path / "home/mine/unrelated.toml", "")
    made = make_pack(file)
    assert set(made.manifest.files) == {
        "scenario/mine/s.toml",
        "scenario/mine/cc.bpf.c",
        "scenario/mine/cc.h",
        "scenario/base/base.toml",
        "scenario/traces/lte.csv",
    }
    _, code = load_pack(tmp_path / "s.mptcplab.zip", made.content)
    assert code == ["cc.bpf.c", "cc.h"]


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    packs = set()
    for place in ("one/deep/folder", "two"):
        write(tmp_path / place / "t/lte.csv", TRACE)
        file = write(tmp_path / place / "s.toml", SCENARIO.format(link1='trace = "t/lte.csv"'))
        os.utime(file, (1, len(place)))
        packs.add(make_pack(file).content)
    assert len(packs) == 1


def test_traces_of_every_value_of_a_sweep_are_packed(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / f"{name}.csv", TRACE.replace("8", "8" if name == "a" else "9"))
    text = SCENARIO.format(link1='trace = "a.csv"') + '[sweep]\n"links.link1.trace" = ["a.csv", "b.csv"]\n'
    made = make_pack(write(tmp_path / "s.toml", text))
    assert {"scenario/a.csv", "scenario/b.csv"} <= set(made.manifest.files)


@pytest.mark.parametrize("form", ["{}", "~/lte.csv"])
def test_a_place_on_this_machine_cannot_be_packed(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    trace = write(tmp_path / "lte.csv", TRACE)
    file = write(tmp_path / "s.toml", SCENARIO.format(link1=f'trace = "{form.format(trace)}"'))
    with pytest.raises(InputError, match="by its place on this machine"):
        make_pack(file)


@pytest.mark.parametrize("name", ["../outside.csv", "{secret}", "a/../../outside.csv", "link.csv"])
def test_a_strangers_scenario_reads_nothing_outside_of_its_pack(tmp_path: Path, name: str) -> None:
    secret = write(tmp_path / "outside.csv", TRACE)
    text = SCENARIO.format(link1=f'trace = "{name.format(secret=secret)}"')
    file = tmp_path / "s.mptcplab.zip"
    file.write_bytes(pack_of({"scenario/s.toml": text}))
    with open_pack(file) as pack:
        write(pack.file.parent.parent / "outside.csv", TRACE)
        (pack.file.parent / "link.csv").symlink_to(secret)
        with pytest.raises(InputError, match="names a file outside of the pack"):
            load(pack.file, named=pack.named)


def test_a_tilde_is_a_name_like_others_in_a_pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "outside.csv", TRACE)
    text = SCENARIO.format(link1='trace = "~/outside.csv"')
    assert "no such file" in refusal(tmp_path / "s.mptcplab.zip", pack_of({"scenario/s.toml": text}))


@pytest.mark.parametrize(
    "line", ['extends = "../base.toml"', 'extends = "/etc/hostname"', 'bpf = ["/usr/include/stdio.h"]']
)
def test_no_key_leads_out(tmp_path: Path, line: str) -> None:
    text = f"{line}\n{SCENARIO.format(link1=RATE)}"
    assert "outside of the pack" in refusal(tmp_path / "s.mptcplab.zip", pack_of({"scenario/s.toml": text}))


def test_the_users_own_settings_may_name_their_files(tmp_path: Path) -> None:
    trace = write(tmp_path / "own.csv", TRACE)
    file = tmp_path / "s.mptcplab.zip"
    file.write_bytes(pack_of({"scenario/s.toml": SCENARIO.format(link1="")}))
    with open_pack(file) as pack:
        load(pack.file, overrides=[f"links.link1.trace={trace}"], named=pack.named)


@pytest.mark.parametrize(
    "path", ["/proc/self/cwd/evil/linux", "~/.cache/mptcplab/packs/evil"], ids=["absolute", "home"]
)
def test_a_kernel_by_its_path_is_code(tmp_path: Path, path: str) -> None:
    text = f'kernel = "{path}"\n{SCENARIO.format(link1=RATE)}'
    _, code = load_pack(tmp_path / "s.mptcplab.zip", pack_of({"scenario/s.toml": text}))
    assert code == [path]


def test_run_executes_no_code_of_a_pack_without_trust(tmp_path: Path) -> None:
    text = f'bpf = ["cc.bpf.c"]\n{SCENARIO.format(link1=RATE)}'
    pack = tmp_path / "s.mptcplab.zip"
    pack.write_bytes(pack_of({"scenario/s.toml": text, "scenario/cc.bpf.c": "int one;\n"}))
    refused = CliRunner().invoke(commands, ["run", str(pack)])
    assert isinstance(refused.exception, InputError)
    assert refused.exception.message == "the pack would execute what it brings or chooses: 'cc.bpf.c'"
    assert "--trust" in str(refused.exception.hint)
    # The lab kernel has no eBPF programs: an error that comes after the question of trust.
    trusted = CliRunner().invoke(commands, ["run", str(pack), "--trust"])
    assert isinstance(trusted.exception, LabError)
    assert "would execute" not in trusted.exception.message
    shown = CliRunner().invoke(commands, ["show", str(pack)])
    assert shown.exit_code == 0
    assert "two paths" in shown.output


def test_only_the_scenario_room_reads_files_that_scenarios_name() -> None:
    """What reads a file must find it by `Document.locate`: otherwise packs lack it, and strangers can name it."""
    package = Path(mptcplab.__file__).parent
    readers = set()
    for room in ("scenario", "workload", "node", "gateway", "network", "plan"):
        for file in (package / room).rglob("*.py"):
            for call in ast.walk(ast.parse(file.read_text())):
                if isinstance(call, ast.Attribute) and call.attr in ("read_text", "read_bytes", "open"):
                    readers.add(str(file.relative_to(package)))
    # The last two read files of ours: the examples, and a page of the documentation.
    known = {"scenario/document.py", "scenario/read_traces.py", "scenario/sources.py"}
    assert readers == known | {"scenario/examples.py", "scenario/reference.py"}


def test_files_besides_the_manifest_and_other_bytes_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "s.mptcplab.zip"
    text = SCENARIO.format(link1=RATE)
    good = Archive(pack_of({"scenario/s.toml": text}))
    more = {"scenario/s.toml": text.encode(), NAME: good.read(NAME), "scenario/more.toml": b""}
    assert "other files" in refusal(file, write_archive(more))
    other = {"scenario/s.toml": text.encode() + b"\n", NAME: good.read(NAME)}
    assert "not the one of its manifest" in refusal(file, write_archive(other))
    assert "lacks the file 'manifest.json'" in refusal(file, write_archive({"s.toml": text.encode()}))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": FORMAT + 1}, "this version of mptcplab reads"),
        ({"format": "1"}, "is wrong at 'format'"),
        ({"format": 0}, "has no valid format"),
        ({"scenario": "scenario/none.toml"}, "names no scenario"),
        ({"scenario": "../s.toml"}, "names no scenario"),
        ({"extra\x1b": 1}, "is wrong at 'extra"),
        ({"title": "a\x1b[2J"}, "is wrong at 'title'"),
        ({"plugins": ["x" * 301]}, "is wrong at 'plugins"),
    ],
    ids=str,
)
def test_a_wrong_manifest(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    data = pack_of({"scenario/s.toml": SCENARIO.format(link1=RATE)}, **changes)
    assert words in refusal(tmp_path / "s.mptcplab.zip", data)


@pytest.mark.parametrize("content", [b"[" * 100_000, b"\xff", b"[]", b"null", b'{"format": 1e999}'], ids=repr)
def test_a_manifest_that_is_none(tmp_path: Path, content: bytes) -> None:
    assert "manifest" in refusal(tmp_path / "s.mptcplab.zip", write_archive({NAME: content[:200_000]}))


@pytest.mark.parametrize(
    ("name", "words"), [("a.mptcplab.zip", "the pack is damaged, or no pack"), ("a.tar", "is not a text file")]
)
def test_an_archive_of_another_kind(tmp_path: Path, name: str, words: str) -> None:
    """A name can promise a pack. Without such a name, a file that is not text is not a scenario."""
    with tarfile.open(tmp_path / name, "w") as archive:
        archive.add(__file__, "scenario.toml")
    with pytest.raises(InputError, match=words), open_source(tmp_path / name):
        pass


def test_a_sparse_file_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "huge.mptcplab.zip"
    with file.open("wb") as opened:
        opened.truncate(1 << 40)
    with pytest.raises(InputError, match="the pack is larger than 256 MiB"), open_source(file):
        pass


def test_a_plugin_is_named_and_not_brought(tmp_path: Path) -> None:
    file = tmp_path / "s.mptcplab.zip"
    file.write_bytes(pack_of({"scenario/s.toml": SCENARIO.format(link1=RATE)}, plugins=["myplugin"]))
    with pytest.raises(MissingError, match="needs the plugin myplugin"), open_pack(file):
        pass


def test_the_folder_of_a_pack_does_not_stay(tmp_path: Path) -> None:
    file = tmp_path / "s.mptcplab.zip"
    file.write_bytes(pack_of({"scenario/s.toml": SCENARIO.format(link1=RATE)}))
    with open_pack(file) as pack:
        folder = pack.file.parent
        assert folder.is_relative_to(tmp_path / "cache")
        assert [path.name for path in folder.iterdir()] == ["s.toml"]
    assert not folder.exists()


def test_a_mistake_is_reported_with_the_packs_name_and_without_its_folder(tmp_path: Path) -> None:
    """That folder is removed before anybody reads the message."""
    file = tmp_path / "s.mptcplab.zip"
    text = SCENARIO.format(link1='rte = "1 Mbit/s"')
    message = refusal(file, pack_of({"scenario/s.toml": text}))
    line = text[: text.index("rte =")].count("\n") + 1
    assert message.startswith(f"{file}: scenario/s.toml:{line}: links.link1.rte"), message
    shown = CliRunner().invoke(commands, ["show", str(file)])
    assert "cache/mptcplab/tmp" not in shown.output + str(shown.exception)


def test_a_pipe_is_a_scenario(tmp_path: Path) -> None:
    """A look at its beginning would take that from the reader."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=[SCENARIO.format(link1=RATE)])
    writer.start()
    shown = CliRunner().invoke(commands, ["show", str(pipe)])
    writer.join()
    assert shown.exit_code == 0, shown.exception
    assert "two paths" in shown.output


def test_escapes_in_the_question_do_not_reach_the_terminal(tmp_path: Path) -> None:
    text = f'question = "a\\u001b[2Jb"\n{SCENARIO.format(link1=RATE)}'
    pack = tmp_path / "s.mptcplab.zip"
    pack.write_bytes(pack_of({"scenario/s.toml": text}))
    shown = CliRunner().invoke(commands, ["show", str(pack)])
    assert shown.exit_code == 0
    assert "\x1b" not in shown.output


class Site(http.server.BaseHTTPRequestHandler):
    """A web server with what a test puts there."""

    pages: ClassVar[dict[str, bytes]] = {}

    def do_GET(self) -> None:
        if self.path.startswith("/to-"):
            self.send_response(302)
            self.send_header("Location", {"/to-file": "file:///etc/hostname", "/to-ftp": "ftp://h/x"}[self.path])
            self.end_headers()
        elif self.path in self.pages:
            self.send_response(200)
            if self.path == "/short.toml":
                self.send_header("Content-Length", "99999")
            self.end_headers()
            self.wfile.write(self.pages[self.path])
        else:
            self.send_error(404)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("no_proxy", "*")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_scenario_or_pack_from_the_web(site: str, tmp_path: Path) -> None:
    text = SCENARIO.format(link1=RATE)
    Site.pages = {"/s.toml": text.encode(), "/p.mptcplab.zip": pack_of({"scenario/s.toml": text})}
    for address, name in (("/s.toml", "s.mptcplab.zip"), ("/p.mptcplab.zip?x=../../y", "p.mptcplab.zip")):
        Site.pages["/p.mptcplab.zip?x=../../y"] = Site.pages["/p.mptcplab.zip"]
        with open_pack(f"{site}{address}") as pack:
            assert pack.source.name == name
            assert pack.source.is_relative_to(tmp_path / "cache/mptcplab/packs")
            assert load(pack.file, named=pack.named).title == "two paths"
    shown = CliRunner().invoke(commands, ["show", f"{site}/s.toml"])
    assert shown.exit_code == 0, shown.output


def test_a_scenario_from_the_web_names_nothing_of_this_machine(site: str) -> None:
    Site.pages = {"/s.toml": f'extends = "/etc/hostname"\n{SCENARIO.format(link1=RATE)}'.encode()}
    shown = CliRunner().invoke(commands, ["show", f"{site}/s.toml"])
    assert isinstance(shown.exception, InputError)
    assert "outside of the pack" in shown.exception.message


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/none.toml", "answers with status 404"),
        ("/to-file", "answers with status 302"),
        ("/to-ftp", "less secure"),
        ("/large.toml", "is larger than"),
        ("/short.toml", "ended before"),
        ("/a b\n.toml", "cannot be read as a web address"),
    ],
)
def test_what_cannot_be_had_from_the_web(site: str, path: str, words: str) -> None:
    Site.pages = {"/large.toml": bytes(2 << 20), "/short.toml": b"title"}
    with pytest.raises(InputError, match=words) as caught:
        fetch(f"{site}{path}", max_bytes=1 << 20)
    assert caught.value.message.isprintable()


@pytest.mark.parametrize(
    "address", ["ftp://example.org/s.toml", "file:///etc/hostname", "git+ssh://h/\x1b[2J"], ids=ascii
)
def test_an_address_of_another_kind(address: str) -> None:
    done = CliRunner().invoke(commands, ["run", address])
    assert isinstance(done.exception, InputError)
    assert done.exception.message.endswith(" is neither an HTTP nor an HTTPS address")
    assert done.exception.message.isprintable()


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nti", b"no HTTP\r\n\r\n"])
def test_a_connection_that_ends_too_soon(said: bytes) -> None:
    """Of a server that is reset it was said that its address cannot be read."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(said)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(InputError, match=r"ended (unexpectedly|before)"):
            fetch(f"http://127.0.0.1:{server.getsockname()[1]}/s.toml")
        thread.join()


def test_nobody_answers() -> None:
    with pytest.raises(InputError, match="cannot be reached"):
        fetch("http://127.0.0.1:1/s.toml")


def write_recording(folder: Path, *, seed: int, output: str, kernel: str) -> Path:
    """Write what a comparison reads of a recording."""
    manifest = {
        "format": 3,
        "scenario": {"a": 1},
        "seed": seed,
        "settings": [],
        "facts": {"kernel": {"release": kernel}},
    }
    write(folder / "manifest.json", json.dumps(manifest))
    write(folder / "out/bulk.out", output)
    return folder


def test_a_comparison_says_what_differs(tmp_path: Path) -> None:
    packed = {
        f"id{seed}": PackedRecording(
            run=run_digest({"a": 1}, seed),
            seed=seed,
            facts={"kernel": {"release": "7.2.1"}},
            files={"out/bulk.out": digest_of(b"numbers")},
        )
        for seed in (1, 2, 3)
    }
    files = {"scenario/s.toml": digest_of(b"")}
    manifest = Manifest(
        format=1,
        mptcplab="",
        architecture="x86_64",
        title="",
        scenario="scenario/s.toml",
        files=files,
        recordings=packed,
    )
    same = write_recording(tmp_path / "1", seed=1, output="numbers", kernel="7.2.1")
    other = write_recording(tmp_path / "2", seed=2, output="others", kernel="7.2.2")
    alike = compare_recordings(manifest, [same], "x86_64").sentences()
    assert alike == [
        "The numbers of 1 run are the same bytes as those in the pack.",
        "The pack has recordings of 2 runs more.",
    ]
    assert compare_recordings(manifest, [same, other], "riscv64").sentences() == [
        "The numbers of 1 of 2 runs differ from those in the pack:",
        "  seed 2: out/bulk.out",
        "What differs between the two machines: kernel (7.2.1 in the pack, 7.2.2 here); "
        "machine (x86_64 in the pack, riscv64 here).",
        "The pack has recordings of 1 run more.",
    ]


def test_a_scenario_without_recordings_is_an_error(tmp_path: Path) -> None:
    file = write(tmp_path / "s.toml", SCENARIO.format(link1=RATE))
    with pytest.raises(InputError, match="has no recording of this scenario"):
        make_pack(file, tmp_path / "results")


def test_a_scenario_is_not_overwritten_by_its_pack(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(SCENARIO.format(link1=RATE))
    done = CliRunner().invoke(commands, ["pack", str(file), "--out", str(file)])
    assert isinstance(done.exception, InputError)
    assert done.exception.message.endswith("exists, and is not a pack")
    assert file.read_text() == SCENARIO.format(link1=RATE)


def test_a_pack_is_not_packed_again(tmp_path: Path) -> None:
    file = tmp_path / "s.mptcplab.zip"
    file.write_bytes(pack_of({"scenario/s.toml": SCENARIO.format(link1=RATE)}))
    done = CliRunner().invoke(commands, ["pack", str(file)])
    assert isinstance(done.exception, InputError)
    assert "is a pack already" in done.exception.message


def test_files_of_a_users_own_scenario_are_noted_with_what_happens_to_them(tmp_path: Path) -> None:
    write(tmp_path / "cc.bpf.c", "int one;\n")
    write(tmp_path / "lte.csv", TRACE)
    text = 'bpf = ["cc.bpf.c"]\n' + SCENARIO.format(link1='trace = "lte.csv"')
    named = NamedFiles()
    load(write(tmp_path / "s.toml", text), named=named)
    assert {file.name: file.executes for file in named.files.values()} == {"cc.bpf.c": True, "lte.csv": False}
