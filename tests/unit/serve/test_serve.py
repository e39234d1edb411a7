# SPDX-License-Identifier: MIT
"""The live page by HTTP: who may ask, what the form can start, what can be read. No lab runs here."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.results_folders import make_results

from mptcplab.cli.main import commands
from mptcplab.errors import Exit, InputError, MissingError

pytest.importorskip("flask", reason="the extra `serve` is not installed")

from mptcplab.serve.app import Folders, Guard, listen
from mptcplab.serve.form import MAX_REPEATS, base_names, choices_of, find_base, read_form
from mptcplab.serve.runner import _PROGRESS, Runner


@dataclass(frozen=True)
class Answer:
    """What the server answered."""

    status: int
    headers: Mapping[str, str]
    text: str


@dataclass(frozen=True)
class Client:
    """Sends requests to a server, with the headers of a browser on our own pages unless a test says otherwise."""

    port: int
    token: str
    cookie: str = ""

    @property
    def host(self) -> str:
        """The server's name in requests."""
        return f"127.0.0.1:{self.port}"

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Answer:
        """Send a request. A header that is None is left out."""
        sent: dict[str, str | None] = {"Host": self.host}
        if self.cookie:
            sent["Cookie"] = self.cookie
        if form is not None or method == "POST":
            method = "POST"
            sent |= {"Origin": f"http://{self.host}", "Content-Type": "application/x-www-form-urlencoded"}
        sent |= headers or {}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        body = urllib.parse.urlencode(form or {}).encode()
        for name, value in {**sent, "Content-Length": str(len(body))}.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return Answer(answer.status, dict(answer.getheaders()), text)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a results folder and a damaged one, and a secret beside it."""
    folder = tmp_path_factory.mktemp("serve")
    (folder / "results").mkdir()
    make_results(folder / "results/first", keep=lambda run: run.repeat == 0)
    for name in ("results/damaged", "secret"):
        shutil.copytree(folder / "results/first", folder / name)
    (folder / "results/damaged/results.json").write_text('{"rows": 3}')
    (folder / "results/link").symlink_to(folder / "secret")
    return folder / "results"


@pytest.fixture(scope="module")
def client(results: Path) -> Iterator[Client]:
    """A client of a server that runs, with the cookie that a browser has."""
    with listen(Folders.find_below([results]), 0) as live:
        thread = threading.Thread(target=live.run, daemon=True)
        thread.start()
        address = urllib.parse.urlsplit(live.url)
        token = urllib.parse.parse_qs(address.query)["token"][0]
        assert address.port is not None
        stranger = Client(address.port, token)
        answer = stranger.ask(f"/?token={token}")
        yield replace(stranger, cookie=answer.headers["Set-Cookie"].partition(";")[0])
        live.stop()
        thread.join()


def test_the_token_becomes_a_cookie_that_other_sites_do_not_send(client: Client) -> None:
    answer = replace(client, cookie="").ask(f"/?token={client.token}")
    assert answer.status == 303
    assert answer.headers["Location"] == "/", "the token does not stay in the address"
    cookie = answer.headers["Set-Cookie"]
    assert "SameSite=Strict" in cookie
    assert "HttpOnly" in cookie
    assert "Domain" not in cookie


@pytest.mark.parametrize("path", ["/", "/events", "/command", "/static/serve.js", "/report/0/first", "/none"])
@pytest.mark.parametrize("cookie", ["", "mptcplab-{port}=", "mptcplab-{port}={token}x", "mptcplab-1={token}"])
def test_nothing_without_the_token(client: Client, path: str, cookie: str) -> None:
    stranger = replace(client, cookie=cookie.format(port=client.port, token=client.token))
    answer = stranger.ask(path)
    assert answer.status == 403
    assert "open the address that `mptcplab serve` has printed" in answer.text


def test_a_wrong_token_sets_no_cookie(client: Client) -> None:
    answer = replace(client, cookie="").ask("/?token=%C3%A9")
    assert answer.status == 403
    assert "Set-Cookie" not in answer.headers


EVIL_HEADERS = [
    {"Host": "evil.example"},
    {"Host": "127.0.0.1"},
    {"Host": "127.0.0.1.evil.example:{port}"},
    {"Host": "evil.example:{port}"},
    {"Host": None},
    {"Host": ""},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "https://127.0.0.1:{port}"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "http://127.0.0.1:{port}.evil.example"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]


@pytest.mark.parametrize("headers", EVIL_HEADERS, ids=str)
@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("GET", "/?token={token}"), ("POST", "/start")])
def test_requests_of_other_sites(client: Client, headers: dict[str, str | None], method: str, path: str) -> None:
    written = {name: value and value.format(port=client.port) for name, value in headers.items()}
    answer = client.ask(path.format(token=client.token), method=method, headers=written)
    assert answer.status in (400, 403)
    assert "Set-Cookie" not in answer.headers
    assert "<form" not in answer.text


def test_a_form_must_say_where_it_comes_from(client: Client) -> None:
    assert client.ask("/start", form={"base": "two-paths"}, headers={"Origin": None}).status == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods(client: Client, method: str) -> None:
    assert client.ask("/", method=method).status == 403


def test_a_get_request_starts_nothing(client: Client) -> None:
    assert client.ask("/start?base=two-paths").status == 405
    assert client.ask("/cancel").status == 405


@pytest.mark.parametrize("path", ["/", "/report/0/first", "/static/serve.css", "/report/0/none", "/none"])
def test_every_answer_has_a_policy(client: Client, path: str) -> None:
    answer = client.ask(path)
    policy = answer.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert ("default-src 'none'" in policy) != ("sandbox allow-scripts" in policy)
    assert "allow-same-origin" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "Access-Control-Allow-Origin" not in answer.headers
    assert answer.headers["Server"] == "mptcplab"


def test_it_listens_on_this_machine_only(client: Client) -> None:
    with socket.socket(socket.AF_INET6) as other:
        assert other.connect_ex(("::1", client.port)) != 0
    names = {row[4][0] for row in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in names - {"127.0.0.1"}:
        with socket.socket() as other:
            assert other.connect_ex((str(address), client.port)) != 0


def test_results_are_listed_and_shown(client: Client) -> None:
    page = client.ask("/").text
    assert 'href="/report/0/first"' in page
    assert "secret" not in page, "links are not followed"
    assert "<h1>Two lines</h1>" in client.ask("/report/0/first").text


def test_a_results_folder_can_be_the_root_itself(results: Path, tmp_path: Path) -> None:
    """It was listed as ".", which browsers take out of an address; and results of the page below it were not found."""
    root = tmp_path / "first"
    shutil.copytree(results / "first", root)
    shutil.copytree(results / "first", root / "live" / "two-paths-1")
    folders = Folders.find_below([root])
    assert [folder.name for folder in folders.list()] == ["first", "live/two-paths-1"]
    assert [folders.find(0, name) for name in ("first", "live/two-paths-1")] == [root, root / "live" / "two-paths-1"]


@pytest.mark.parametrize(
    "path",
    [
        "/report/0/../secret",
        "/report/0/%2e%2e/secret",
        "/report/0/first/../../secret",
        "/report/0/..%2fsecret",
        "/report/0//etc",
        "/report/0/link",
        "/report/0/first%00",
        "/report/0/first/runs",
        "/report/1/first",
        "/report/-1/first",
        "/report/0/",
        "/report/99999999999999999999/first",
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2f..%2fapp.py",
    ],
)
def test_no_path_leads_out_of_the_results(client: Client, path: str) -> None:
    answer = client.ask(path)
    assert answer.status in (400, 404)
    assert "Two lines" not in answer.text


def test_an_error_is_a_page_without_a_traceback(client: Client) -> None:
    answer = client.ask("/report/0/damaged")
    assert answer.status in (400, 500)
    assert "That did not work" in answer.text
    assert "Traceback" not in answer.text


def test_the_command_is_what_the_form_says(client: Client) -> None:
    asked = {
        "base": "two-paths",
        "rate:link1": "20",
        "delay:link1": "10",
        "scheduler": "blest",
        "protocol": "mptcp",
        "repeats": "3",
    }
    text = client.ask(f"/command?{urllib.parse.urlencode(asked)}").text
    beginning = (
        "mptcplab run @two-paths --set 'links.link1.rate=20 Mbit/s' --set transport.protocol=mptcp "
        "--set transport.scheduler=blest --repeats 3 --out "
    )
    assert text.startswith(beginning)


BAD_FORMS = [
    {"base": "../../etc/passwd"},
    {"base": "nguyen2014/rtt"},
    {"base": ""},
    {"rate:link1": "nan"},
    {"rate:link1": "-1"},
    {"rate:link1": "1e9"},
    {"rate:link1": "20 Mbit/s --out /tmp"},
    {"rate:link1": "1" * 400},
    {"rate:link1": "٢"},
    {"rate:access1": "1"},
    {"delay:link1": "501"},
    {"loss:link1": "1"},
    {"links.link1.rate": "1"},
    {"kernel": "/tmp/linux"},
    {"out": "/tmp"},
    {"scheduler": "blest; reboot"},
    {"scheduler": "--trust"},
    {"congestion_control": "../x"},
    {"protocol": "udp"},
    {"repeats": "0"},
    {"repeats": str(MAX_REPEATS + 1)},
    {"repeats": "1e400"},
    {"bpf": '["x.bpf.c"]'},
]


@pytest.mark.parametrize("form", BAD_FORMS, ids=ascii)
def test_nothing_starts_that_the_form_does_not_offer(
    client: Client, form: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Runner, "start", pytest.fail)
    answer = client.ask("/start", form=form)
    assert answer.status == 400
    assert "That did not work" in answer.text
    assert client.ask(f"/command?{urllib.parse.urlencode(form)}").status == 400


def test_a_form_that_is_too_large(client: Client) -> None:
    assert client.ask("/start", form={"base": "x" * 20_000}).status == 413


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(base_names()))
def test_every_example_of_the_form_can_be_started(name: str) -> None:
    """Both ends of every slider give a scenario that loads, and untouched sliders change nothing."""
    base = find_base(name)
    values = {slider.field: repr(slider.value) for slider in base.sliders}
    assert read_form({"base": name, **values, "repeats": str(base.repeats)}).overrides == ()
    for value in (0, 1):
        fields = {slider.field: str((max(slider.bounds[0], 1), min(slider.end, 50))[value]) for slider in base.sliders}
        asked = read_form({"base": name, **fields})
        assert asked.load().points
        assert asked.words[:2] == ["run", f"@{name}"]


def test_the_form_offers_what_the_kernel_has() -> None:
    choices = choices_of()
    assert {"cubic", "lia", "olia"} <= set(choices["congestion_control"])
    assert {"default", "blest", "roundrobin"} <= set(choices["scheduler"])


def test_one_experiment_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/sleep")
    # `sleep -m mptcplab ...` ends at once with an error.
    runner = Runner()
    runner.start(["run"], tmp_path, command="c", title="t", total=1)
    deadline = time.monotonic() + 30
    while runner.state.is_running and time.monotonic() < deadline:
        runner.wait(runner.state.version, 1)
    assert runner.state.status == "failed"
    assert runner.state.lines, "the program's own message is shown"


def slow_program(tmp_path: Path) -> Path:
    """Return a program that starts another one, and that ignores SIGTERM."""
    program = tmp_path / "slow"
    lines = ("#!/bin/sh", "trap '' TERM", "sleep 600 &", 'echo $! > "$0.pid"', "echo started >&2", "wait", "sleep 600")
    program.write_text("\n".join(lines))
    program.chmod(0o755)
    return program


@pytest.mark.slow
def test_no_process_is_left_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = slow_program(tmp_path)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr("mptcplab.serve.runner._PATIENCE_S", 1.0)
    runner = Runner()
    runner.start(["run"], tmp_path, command="c", title="t", total=1)
    deadline = time.monotonic() + 30
    while "started" not in runner.state.lines and time.monotonic() < deadline:
        runner.wait(runner.state.version, 1)
    with pytest.raises(InputError, match="an experiment is running"):
        runner.start(["run"], tmp_path, command="c", title="t", total=1)
    runner.close()
    assert runner.state.status == "cancelled"
    number = int(Path(f"{program}.pid").read_text())
    states = subprocess.run(["ps", "-o", "stat=", "-p", str(number)], capture_output=True, text=True, check=False)
    # A zombie has ended, and waits for a parent that asks.
    assert states.stdout.strip()[:1] in ("", "Z"), "also the program that it has started is gone"
    with pytest.raises(InputError):
        runner.start(["run"], tmp_path, command="c", title="t", total=1)


def test_progress_lines_are_those_of_run() -> None:
    source = Path(sys.modules["mptcplab"].__file__ or "").parent / "cli/progress.py"
    assert 'f"{_line(done)} ({progress.count} of {progress.total}{ahead})"' in source.read_text()
    for line in (
        "done      protocol tcp, seed 1: 10.5 s of virtual time in 1.7 s (1 of 6, about 6 s left)",
        "recorded  protocol mptcp, seed 1 (1 of 6, about 0 s left)",
        "failed    run, seed 1: a link (link1) is down (1 of 6)",
    ):
        match = _PROGRESS.match(line)
        assert match is not None
        assert match.groups()[1:] == ("1", "6")


def test_events_have_the_state(client: Client) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=30)
    connection.request("GET", "/events", headers={"Cookie": client.cookie})
    answer = connection.getresponse()
    assert answer.getheader("Content-Type", "").startswith("text/event-stream")
    line = answer.readline().decode()
    connection.close()
    assert json.loads(line.removeprefix("data: ")) == {
        "number": 0,
        "status": "idle",
        "done": 0,
        "total": 0,
        "lines": [],
        "rows": [],
        "curves": [],
        "report": "",
    }


def test_a_port_in_use() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = CliRunner().invoke(commands, ["serve", "--port", str(port)])
    assert isinstance(done.exception, InputError)
    assert done.exception.status == Exit.BAD_INPUT
    assert done.exception.message == f"port {port} cannot be used: address already in use"
    assert "--port" in str(done.exception.hint)


def test_a_file_in_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = CliRunner().invoke(commands, ["serve", str(tmp_path / "file"), "--port", "0"])
    assert isinstance(done.exception, InputError)
    assert "is not a folder" in done.exception.message


def test_a_folder_that_is_named_and_does_not_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page would be empty. Only the default folder may come later, with the first experiment."""
    done = CliRunner().invoke(commands, ["serve", "--port", "0", str(tmp_path / "nothing")])
    assert isinstance(done.exception, InputError)
    assert (str(done.exception.message), done.exception.status) == (f"there is no folder '{tmp_path}/nothing'", 2)
    assert "results/" in str(done.exception.hint)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mptcplab.serve.app.listen", _refuse)
    for words in ([], ["results"]):
        later = CliRunner().invoke(commands, ["serve", "--port", "0", *words])
        assert str(later.exception) == "it listens"


def _refuse(*_: object) -> None:
    raise RuntimeError("it listens")


def test_without_the_framework(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    done = CliRunner().invoke(commands, ["serve"])
    assert isinstance(done.exception, MissingError)
    assert done.exception.status == Exit.MISSING
    assert done.exception.hint == f"{sys.executable} -m pip install 'flask>=3.0'"


def test_two_servers_have_two_tokens_and_cookies() -> None:
    first, second = Guard(1), Guard(2)
    assert first.token != second.token
    assert len(first.token) >= 32
    assert first.cookie != second.cookie
    assert first.token not in repr(first)


def test_an_experiment_finds_the_modules_of_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian's package has them in a folder that only its command knows."""
    program = tmp_path / "python"
    program.write_text('#!/bin/sh\necho "$PYTHONPATH" >&2\nexit 1\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(sys, "path", ["/usr/lib/mptcplab", *sys.path])
    runner = Runner()
    runner.start(["run"], tmp_path, command="c", title="t", total=1)
    deadline = time.monotonic() + 30
    while runner.state.is_running and time.monotonic() < deadline:
        runner.wait(runner.state.version, 1)
    assert runner.state.lines[0].startswith("/usr/lib/mptcplab:")
