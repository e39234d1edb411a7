# SPDX-License-Identifier: MIT
"""Debian's servers need no privileges of the machine's, nor users of their own."""

from __future__ import annotations

import json

import pytest
from tests.lab.engine.test_ordinary_user import User, user

__all__ = ["user"]

SCENARIO = """
title = "as an ordinary user"
topology = {{ preset = "disjoint-paths", paths = 2 }}
links.link1.rate = "10 Mbit/s"
links.link2.rate = "10 Mbit/s"
workloads.file = {{ kind = "{kind}", from = "client", to = "server", size = "1 MB" }}
record.interval = "100 ms"
"""


@pytest.mark.parametrize("user", ["/tmp"], indirect=True)
@pytest.mark.parametrize("kind", ["http", "ftp"])
def test_downloads_as_an_ordinary_user(user: User, kind: str) -> None:
    file = user.home / "file.toml"
    file.write_text(SCENARIO.format(kind=kind))
    done = user.run("run", file, "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    print(row["goodput_mbps"]["mean"], row["mptcp"])
    assert row["mptcp"] == "2 subflows"
    assert 5 < row["goodput_mbps"]["mean"] < 20
