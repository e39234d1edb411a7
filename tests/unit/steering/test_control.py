# SPDX-License-Identifier: MIT
"""The daemon's Unix socket: it answers users who may ask, whatever they do, and what answers may be something else."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import click.testing
import pytest

from mptcplab.cli.commands.steer import steer
from mptcplab.errors import LabError
from mptcplab.steering.control import ControlSocket, read_status

STATUS = {
    "policy": "fair",
    "access_points": {
        "ap1": {"silent": False, "report_age_s": 0.1, "stations": 3},
        "ap2": {"silent": True, "stations": 0},
    },
    "decisions": 9,
    "switches": 2,
    "refused": 1,
    "overruns": 0,
    "last": {"received": {"ap1": 1200}, "terminals": {"10.0.1.1": "ap1"}, "doubted": {}},
}


def _ask(path: Path, control: ControlSocket, status: object = STATUS) -> object:
    """Ask for the state while the daemon's side answers once."""
    thread = threading.Thread(target=lambda: (select_readable(control), control.answer(status)))  # type: ignore[func-returns-value, arg-type]
    thread.start()
    try:
        return read_status(str(path))
    finally:
        thread.join()


def select_readable(control: ControlSocket) -> None:
    import select

    assert select.select([control.fileno()], [], [], 10)[0]


def test_root_and_the_daemons_user_are_answered(tmp_path: Path) -> None:
    control = ControlSocket(str(tmp_path / "c"), [])
    assert _ask(tmp_path / "c", control) == STATUS
    control.close()
    assert not (tmp_path / "c").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
@pytest.mark.parametrize(("users", "answered"), [([], False), ([65534], True)])
def test_others_are_answered_if_the_configuration_names_them(users: list[int], answered: bool) -> None:
    # Not pytest's folder, which only its user may enter.
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = f"{folder}/c"
        control = ControlSocket(path, users)
        code = "import os,socket,sys; os.setuid(65534); s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])"
        code += "; d=b''.join(iter(lambda: s.recv(9999), b'')); print(len(d))"
        with subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True) as asker:
            select_readable(control)
            control.answer({"a": 1})
            said, _ = asker.communicate(timeout=20)
        control.close()
    assert (int(said) > 0) == answered


def test_one_who_does_not_read_stops_nobody(tmp_path: Path) -> None:
    """Nor does a client that is gone before the answer."""
    control = ControlSocket(str(tmp_path / "c"), [])
    with socket.socket(socket.AF_UNIX) as lazy:
        lazy.connect(str(tmp_path / "c"))
        control.answer({"much": "x" * 10_000_000})
    with socket.socket(socket.AF_UNIX) as gone:
        gone.connect(str(tmp_path / "c"))
    control.answer(STATUS)
    control.answer(STATUS)
    assert _ask(tmp_path / "c", control) == STATUS
    control.close()


def test_a_socket_that_a_killed_daemon_left_is_replaced_and_a_file_is_not(tmp_path: Path) -> None:
    path = tmp_path / "c"
    left = ControlSocket(str(path), [])
    control = ControlSocket(str(path), [])
    assert _ask(path, control) == STATUS
    del left
    control.close()
    path.write_text("mine")
    with pytest.raises(OSError, match="in use"):
        ControlSocket(str(path), [])
    assert path.read_text() == "mine"


def test_what_the_command_prints(tmp_path: Path) -> None:
    control = ControlSocket(str(tmp_path / "c"), [])
    for words, wanted in (
        ([], "ap1: reports, 3 stations, 1 terminals, received 1200 B"),
        (["--json"], json.dumps(STATUS)),
    ):
        thread = threading.Thread(target=lambda: (select_readable(control), control.answer(STATUS)))  # type: ignore[func-returns-value]
        thread.start()
        done = click.testing.CliRunner().invoke(steer, ["status", str(tmp_path / "c"), *words], standalone_mode=False)
        thread.join()
        assert done.exception is None
        assert wanted in done.output
    assert "ap2: silent" not in done.output
    control.close()


def test_no_daemon_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no daemon answers"):
        read_status(str(tmp_path / "none"))
    control = ControlSocket(str(tmp_path / "c"), [])
    with pytest.raises(LabError, match=r"no daemon answers|not a steering daemon|refuses"):
        _close(tmp_path / "c", control)


def _close(path: Path, control: ControlSocket) -> None:
    thread = threading.Thread(target=lambda: (select_readable(control), control.close()))  # type: ignore[func-returns-value]
    thread.start()
    try:
        read_status(str(path))
    finally:
        thread.join()
