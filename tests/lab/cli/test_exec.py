# SPDX-License-Identifier: MIT
"""``mptcplab exec``: any program, its streams and its status, in virtual time."""

from __future__ import annotations

import fcntl
import os
import pty
import random
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.lab.bench import CLI, lab_processes, ping_ms, wait_until_gone

NETWORK = """
title = "two hosts"
topology.preset = "direct"
links.link1.delay = "15 ms"
workloads.unused = { kind = "flow", from = "client", to = "server", size = "1 B" }
"""


@pytest.fixture
def network(tmp_path: Path) -> Path:
    file = tmp_path / "network.toml"
    file.write_text(NETWORK)
    return file


def execute(
    *words: str | Path, stdin: bytes = b"", cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """``mptcplab exec`` to its end."""
    environment = {**os.environ, **(env or {})}
    command = [*CLI, "exec", *map(str, words)]
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=120, cwd=cwd, env=environment)
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return done


def shell(line: str, *options: str | Path, stdin: bytes = b"") -> str:
    """What a line of shell prints; it must succeed."""
    done = execute(*options, "--", "sh", "-c", line, stdin=stdin)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


# -- status


@pytest.mark.parametrize(("line", "status"), [("exit 0", 0), ("exit 77", 77), ("kill -TERM $$", 143)])
def test_the_status_is_passed_on(line: str, status: int) -> None:
    done = execute("--", "sh", "-c", line)
    assert done.returncode == status, (done.returncode, done.stderr.decode())
    assert done.stdout == done.stderr == b"", "the lab itself says nothing"


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--", "no-such-program"], 2, "there is no program 'no-such-program'"),
        (["--", "/etc/nowhere"], 2, "there is no program '/etc/nowhere'"),
        (["--", "/etc/passwd"], 2, "hint: chmod +x /etc/passwd"),
        (["--", "two-paths.toml"], 2, "--scenario two-paths.toml --on NODE"),
        (["--on", "client", "--", "true"], 2, "without a scenario there are no nodes"),
        (["--scenario", "NETWORK", "--on", "clint", "--", "true"], 2, "has no node 'clint'"),
        (["--timeout", "5", "--", "true"], 2, "--timeout: "),
        (["--env", "NOT_SET_ANYWHERE", "--", "true"], 2, "'NOT_SET_ANYWHERE' is not set"),
        (["--kernel", "9.9", "--", "true"], 3, "9.9 is not built"),
        ([], 2, "give a command to run"),
    ],
)
def test_errors_before_anything_runs(network: Path, words: list[str], status: int, said: str) -> None:
    done = execute(*[str(network) if word == "NETWORK" else word for word in words])
    message = done.stderr.decode()
    assert (done.returncode, done.stdout) == (status, b""), message
    assert said in message, message
    assert message.startswith("mptcplab: "), message


def test_a_program_that_never_ends_is_ended() -> None:
    """Nothing but the limit has a timer then; without one the kernel would panic."""
    started = time.monotonic()
    done = execute("--timeout", "90 s", "--", "sleep", "infinity")
    took = time.monotonic() - started
    assert done.returncode == 1, done
    said = done.stderr.decode()
    assert "'sleep' did not end within 90 s of virtual time" in said, said
    assert 'hint: allow more time with --timeout "180 s"' in said, said
    assert took < 20, f"90 s of virtual time took {took:.1f} s"


def test_a_program_that_spins_is_ended() -> None:
    done = execute("--stall", "1 s", "--", "sh", "-c", "while :; do :; done")
    assert done.returncode == 1, done
    assert "virtual time has stopped" in done.stderr.decode(), done.stderr


def test_a_program_with_too_many_memory_mappings_is_told_so() -> None:
    """Every other page of 600 MB: none has a neighbour, so each is a mapping of its own on this machine."""
    limit = int(Path("/proc/sys/vm/max_map_count").read_text())
    touch = "import mmap; m = mmap.mmap(-1, 600 << 20)\nfor at in range(0, len(m), 8192): m[at] = 1\nprint('done')"
    done = execute("--stall", "5 s", "--", sys.executable, "-c", touch)
    said = done.stderr.decode()
    if limit < 600 << 20 >> 13:
        assert (done.returncode, f"has {limit} memory mappings" in said) == (1, True), said
    else:
        assert (done.returncode, done.stdout) == (0, b"done\n"), said


# -- streams


def test_ten_megabytes_there_and_back() -> None:
    """Every byte value, in an order that no filter of line ends or of terminals would leave alone."""
    data = random.Random(3).randbytes(10_000_000)
    started = time.monotonic()
    done = execute("--", "cat", stdin=data)
    took = time.monotonic() - started
    print(f"10 MB there and back: {took:.1f} s")
    assert done.returncode == 0, done.stderr
    assert done.stdout == data, f"{len(done.stdout)} bytes came back, or others"


def test_outputs_are_apart() -> None:
    line = "for n in 1 2 3; do head -c 300000 /dev/zero | tr '\\0' $n; head -c 300000 /dev/zero | tr '\\0' e >&2; done"
    done = execute("--", "sh", "-c", line)
    assert done.stdout == b"1" * 300_000 + b"2" * 300_000 + b"3" * 300_000
    assert done.stderr == b"e" * 900_000


def test_one_output_keeps_the_order() -> None:
    """Into one pipe, as with ``2>&1``: lines of both outputs as they were written."""
    line = "for n in 1 2 3 4 5 6 7 8 9; do echo out $n; echo err $n >&2; done"
    command = [*CLI, "exec", "--no-stdin", "--", "sh", "-c", line]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    assert done.stdout.split("\n")[:-1] == [f"{name} {n}" for n in range(1, 10) for name in ("out", "err")]


def test_endless_input_that_nobody_wants() -> None:
    command = f"yes | {' '.join(CLI)} exec -- head -n 2"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "y\ny\n"), done


def test_endless_output_that_nobody_wants() -> None:
    """``head`` has enough; the lab ends, instead of filling the disk."""
    command = f"{' '.join(CLI)} exec --no-stdin -- yes | head -n 2"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.stdout == "y\ny\n", done


def test_streams_that_are_closed_or_full() -> None:
    done = subprocess.run(["sh", "-c", f"{' '.join(CLI)} exec -- echo hi <&- >&-"], timeout=60)
    assert done.returncode == 0
    full = subprocess.run(
        ["sh", "-c", f"{' '.join(CLI)} exec --no-stdin -- echo hi > /dev/full"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert full.returncode == 1, full.stderr
    assert full.stderr.startswith("mptcplab: standard output cannot be written: no space left on device\n  hint: ")


def test_streams_flow_while_it_runs_and_time_waits_for_them() -> None:
    """An answer is here before the rest is sent, a second later; inside, no time has passed meanwhile."""
    ask = "head -c 500000 | wc -c; cut -d' ' -f1 /proc/uptime; cat | wc -c; cut -d' ' -f1 /proc/uptime"
    with subprocess.Popen(
        [*CLI, "exec", "--", "sh", "-c", ask], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as command:
        assert command.stdin is not None
        assert command.stdout is not None
        command.stdin.write(bytes(1 << 20))
        command.stdin.flush()
        assert command.stdout.readline() == b"500000\n"
        before = command.stdout.readline()
        time.sleep(1)
        command.stdin.write(b"x")
        command.stdin.close()
        command.stdout.readline()
        after = command.stdout.readline()
    print(f"clock inside before and after a second of waiting: {before!r}, {after!r}")
    assert float(after) - float(before) < 0.1, (before, after)


# -- places


def test_on_a_node(network: Path) -> None:
    """15 ms there and back make 30 ms, in no time; the first ping also waits for the neighbour's address."""
    started = time.monotonic()
    address = re.search(r"10\.[0-9.]+", shell("ip -4 addr", "--scenario", network, "--on", "server"))
    assert address is not None
    text = shell(f"ping -i 60 -c 5 {address[0]}", "--scenario", network, "--on", "client")
    print(text)
    assert ping_ms(text)[1:] == pytest.approx([30.0] * 4, abs=0.5), text
    assert time.monotonic() - started < 60, "four minutes of pinging took as long as they would elsewhere"


def test_nodes_reach_each_other_s_namespaces(network: Path) -> None:
    text = shell("ip netns; ip netns exec server ip -br link show type veth", "--scenario", network)
    assert "client" in text, text
    assert "server" in text, text
    assert "link1" in text, text


def test_a_bare_lab_has_only_loopback() -> None:
    assert ping_ms(shell("ping -c 1 127.0.0.1")), "lo does not answer"
    assert shell("ip -br -4 addr | cut -d' ' -f1").split() == ["lo"]
    assert shell("ip route") == ""


def test_files(tmp_path: Path) -> None:
    """This folder is seen, and cannot be written; only --out can."""
    (tmp_path / "here.txt").write_text("seen\n")
    out = tmp_path / "new" / "results"
    line = "cat here.txt; echo kept > /run/out/file; echo no > here.txt"
    done = execute("--out", out, "--", "sh", "-c", line, cwd=tmp_path)
    assert done.stdout == b"seen\n", done
    assert b"Read-only file system" in done.stderr, done.stderr
    assert done.returncode != 0
    assert (out / "file").read_text() == "kept\n"
    assert (tmp_path / "here.txt").read_text() == "seen\n"


def test_what_is_exposed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("there\n")
    line = f"cat {tmp_path}/file"
    assert execute("--", "sh", "-c", line).returncode != 0, "/tmp is not private"
    assert shell(line, "--expose", tmp_path) == "there\n"


def test_the_environment_is_our_own() -> None:
    done = execute("--env", "ONE=1", "--env", "TWO", "--", "env", env={"TWO": "2", "THREE": "3"})
    names = {line.partition("=")[0] for line in done.stdout.decode().splitlines()}
    assert b"ONE=1\n" in done.stdout, done.stdout
    assert b"TWO=2\n" in done.stdout, done.stdout
    assert names == {"ONE", "TWO", "PATH", "HOME", "TMPDIR", "LC_ALL", "TERM"}, names


# -- the same again


def test_the_same_bytes_again(network: Path) -> None:
    """Random numbers, process ids and clocks follow from the seed, however fast streams are read and written."""
    line = (
        "head -c 64 /dev/urandom | od -x; mktemp -u; echo $$; date +%s.%N; "
        "cat | sha256sum; date +%s.%N; ping -c 3 -i 0.2 127.0.0.1; cat /proc/uptime /proc/interrupts; date +%s.%N"
    )
    data = random.Random(4).randbytes(300_000)
    command = [*CLI, "exec", "--scenario", str(network), "--seed", "7", "--", "sh", "-c", line]
    first = subprocess.run(command, input=data, capture_output=True, timeout=60)
    slowly = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert slowly.stdin is not None
    for start in range(0, len(data), 70_000):
        slowly.stdin.write(data[start : start + 70_000])
        slowly.stdin.flush()
        # Long enough for the guest to look ten thousand times: when each look took memory, this moved the clock.
        time.sleep(1 if start == 0 else 0.05)
    second, _ = slowly.communicate(timeout=60)
    assert first.stdout == second, f"\n{first.stdout.decode()}\n{second.decode()}"
    command[command.index("7")] = "8"
    other = subprocess.run(command, input=data, capture_output=True, timeout=60)
    assert other.stdout != first.stdout, "the seed does nothing"


# -- the end


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache of the test's own, with the kernels of the real one: labs in it can be told from others."""
    real = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "mptcplab"
    cache_folder = tmp_path / "cache" / "mptcplab"
    cache_folder.mkdir(parents=True)
    for name in ("kernels", "sources"):
        (cache_folder / name).symlink_to(real / name)
    return cache_folder.parent


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left(cache: Path, number: signal.Signals) -> None:
    line = "sleep 10000000 & echo started; while :; do sleep 0.001; done"
    command = [*CLI, "exec", "--no-stdin", "--", "sh", "-c", line]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        pids = list(lab_processes(cache))
        assert pids, "the test is void: it does not see the lab"
        process.send_signal(number)
        _, said = process.communicate(timeout=20)
        took = wait_until_gone(pids, 5)
    print(f"{len(pids)} processes were gone {took:.2f} s after {number.name}")
    assert process.returncode == (-9 if number == signal.SIGKILL else 130), said
    if number != signal.SIGKILL:
        assert said.strip() == b"mptcplab: interrupted", said
        assert not list((cache / "mptcplab" / "tmp").iterdir()), "files are left"


def test_what_it_left_in_the_background_ends_with_it() -> None:
    done = execute("--no-stdin", "--", "sh", "-c", "sleep 100000 & echo done")
    assert (done.returncode, done.stdout) == (0, b"done\n"), done


# -- a shell


Reaction = bytes | Callable[[int], None]


def converse(steps: list[tuple[bytes, Reaction]], *words: str, seconds: float = 60) -> tuple[str, int]:
    """``mptcplab exec --shell`` on a terminal: what it showed, and its status. After each text comes its reaction."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(CLI[0], [*CLI, "exec", "--shell", *words])
    resize(24, 80)(terminal)
    shown, seen = b"", 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                shown += os.read(terminal, 1 << 16)
            except OSError:
                break
        while steps and steps[0][0] in shown[seen:]:
            seen = len(shown)
            reaction = steps.pop(0)[1]
            if isinstance(reaction, bytes):
                os.write(terminal, reaction)
            else:
                reaction(terminal)
    else:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert not steps, f"the terminal showed {shown.decode(errors='replace')!r}, and then nothing like {steps[0][0]!r}"
    return shown.decode(errors="replace"), os.waitstatus_to_exitcode(status)


def resize(rows: int, columns: int) -> Callable[[int], None]:
    """What a window manager does."""

    def do(terminal: int) -> None:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("=HHHH", rows, columns, 0, 0))

    return do


def test_a_shell(network: Path) -> None:
    """Job control, Ctrl-C, the window's size; time stands still at the prompt, and passes at once elsewhere."""
    started = time.monotonic()

    def wait_and_ask(terminal: int) -> None:
        time.sleep(1)
        resize(33, 111)(terminal)
        time.sleep(0.3)
        os.write(terminal, b"date +T=%s.%N; stty size\r")

    shown, status = converse(
        [
            (b"P# ", b"date +T=%s.%N\r"),
            (b"P# ", wait_and_ask),
            (b"P# ", b"sleep 10000000000\r"),
            (b"sleep 1", b"\x03"),
            (b"P# ", b"sleep 5000 & jobs; wait; date +T=%s.%N\r"),
            (b"P# ", b"ip -br link show type veth; exit 9\r"),
        ],
        "--scenario", str(network), "--on", "server", "--env", "PS1=P# ",
    )  # fmt: skip
    took = time.monotonic() - started
    print(shown)
    first, second, third = (float(text) for text in re.findall(r"T=([0-9.]+)", shown))
    assert second - first < 0.1, f"{second - first} s passed at the prompt"
    assert third - second > 5000, f"only {third - second} s passed"
    assert third - second < 1e10, "Ctrl-C did not end the sleep"
    assert "33 111" in shown, "the window's size is not told"
    assert "Running" in shown, "there is no job control"
    assert "link1" in shown, shown
    assert status == 9, status
    assert took < 40, f"it took {took:.1f} s"
