# SPDX-License-Identifier: MIT
"""``mptcplab doctor --for``: all that experiments lack at once, and commands that get it. Nothing is installed here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.unit.command_output import Output, output_of
from tests.unit.example_studies import SCENARIO
from tests.unit.scenario_files import Write

from mptcplab.api import machine as api_machine
from mptcplab.doctor import lacks
from mptcplab.doctor.lacks import collect_lacks
from mptcplab.doctor.model import LinuxDistribution
from mptcplab.errors import LabError, MissingError
from mptcplab.proxies.catalog import RECIPES
from mptcplab.scenario.load import Run

INSTALL = "mptcplab doctor --for made/1 --install"
DEBIAN = LinuxDistribution("debian", "Debian")
ROOT = LinuxDistribution("debian", "Debian", is_root=True)
IPTABLES = MissingError("this machine has no 'iptables'", subject="iptables", packages=("iptables",))
TSHARK = MissingError("this machine has no 'tshark'", subject="tshark", packages=("tshark",))
PROXY = MissingError("this machine has no 'xray'", subject="xray", command="mptcplab gateways build xray")
KERNEL = MissingError(
    "the lab kernel 7.2-cpu is not built", subject="kernel 7.2-cpu", command="mptcplab kernel build --cpu"
)
TOOL = MissingError("the kernel cannot be built without flex", subject="flex", packages=("flex",))
OLD_GO = "xray needs Go 1.24 or later, and this machine's Go is 1.19"


class LackingMachine:
    """A machine that lacks some things: the lacks of each table or scenario by their question, and how it is asked.

    ``gets`` says which of them a command that is run provides. ``ran`` has all commands that were run.
    """

    def __init__(self) -> None:
        self.lacks: dict[str, list[MissingError]] = {}
        self.engines: list[str] = []
        self.ran: list[list[str]] = []
        self.statuses: dict[str, int] = {}

    def find_missing(self, runs: Sequence[Run], *, engine: str) -> list[MissingError]:
        """In place of :func:`mptcplab.campaign.failures.find_missing`."""
        self.engines.append(engine)
        return self.lacks.get(runs[0].point.scenario.question, [])

    def run(self, command: Sequence[str], *, quiet: bool = False) -> int:
        """In place of what runs commands: a command that succeeds ends the lacks that name it."""
        del quiet
        self.ran.append(list(command))
        status = next((status for word, status in self.statuses.items() if word in command), 0)
        if status == 0:
            for question, errors in self.lacks.items():
                self.lacks[question] = [error for error in errors if not _gets(command, error)]
        return status


def _gets(command: Sequence[str], error: MissingError) -> bool:
    return " ".join(command).endswith(error.command) if error.command else set(error.packages) <= set(command)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, debian: None, studies: Path) -> LackingMachine:
    del debian, studies
    made = LackingMachine()
    monkeypatch.setattr(api_machine, "find_missing", made.find_missing)
    monkeypatch.setattr(lacks, "_run", made.run)
    return made


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch, debian: None) -> None:
    del debian
    monkeypatch.setattr(lacks, "detect_system", lambda: ROOT)


@pytest.fixture
def doctor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Doctor:
    return Doctor(monkeypatch, capsys)


class Doctor:
    """Runs ``mptcplab doctor``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *words: object) -> Output:
        return output_of(self._monkeypatch, self._capsys, "doctor", *words)


def test_everything_is_named_at_once_with_one_command(machine: LackingMachine, doctor: Doctor, write: Write) -> None:
    machine.lacks = {"made": [KERNEL, IPTABLES], "file": [PROXY, TSHARK, IPTABLES]}
    file = write(f'question = "file"\n{SCENARIO}', "my.toml")
    output = doctor("--for", "made", "--for", file)
    assert output.status == 3
    assert output.out.splitlines()[1:] == [
        "  missing  iptables        this machine has no 'iptables', needed for made/1, made/more, " + str(file),
        "  missing  tshark          this machine has no 'tshark', needed for " + str(file),
        "  missing  kernel 7.2-cpu  the lab kernel 7.2-cpu is not built, needed for made/1, made/more",
        "  missing  xray            this machine has no 'xray', needed for " + str(file),
        "",
        f"This machine lacks 4 things for made, {file}.",
        "To get what is missing:",
        "  sudo apt-get install iptables tshark && mptcplab kernel build --cpu && mptcplab gateways build xray",
        "or:",
        f"  mptcplab doctor --for made --for {file} --install",
    ]
    assert machine.ran == []


@pytest.mark.usefixtures("as_root")
def test_the_command_is_one_for_a_shell(machine: LackingMachine, doctor: Doctor) -> None:
    machine.lacks = {"made": [KERNEL, IPTABLES, PROXY]}
    document = json.loads(doctor("--for", "made/1", "--json").out)
    assert document["command"] == (
        "apt-get install iptables && mptcplab kernel build --cpu && mptcplab gateways build xray"
    )
    assert document["command"] == " && ".join(document["commands"])
    checked = subprocess.run(["sh", "-n", "-c", document["command"]], capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert (document["for"], document["ready"]) == (["made/1"], False)
    rows = [(row["subject"], row["users"]) for row in document["findings"]]
    assert rows == [("iptables", ["made/1"]), ("kernel 7.2-cpu", ["made/1"]), ("xray", ["made/1"])]


def test_nothing_is_missing(machine: LackingMachine, doctor: Doctor) -> None:
    machine.lacks = {"other": [KERNEL]}
    output = doctor("--for", "made", "--install")
    assert (output.status, output.out.splitlines()[-1]) == (0, "This machine has everything that made needs.")
    document = json.loads(doctor("--for", "made", "--json").out)
    assert (document["ready"], document["findings"], document["command"]) == (True, [], "")
    assert machine.ran == []


@pytest.mark.usefixtures("as_root")
def test_install_runs_the_commands_and_looks_again(machine: LackingMachine, doctor: Doctor) -> None:
    machine.lacks = {"made": [KERNEL, TSHARK, IPTABLES, PROXY]}
    output = doctor("--for", "made", "--install", "--json")
    script, *builds = machine.ran
    assert Path(script[1]).name == "install-packages"
    assert script[2:] == ["--named", "iptables", "tshark"]
    python = [sys.executable, "-m", "mptcplab"]
    assert builds == [[*python, "kernel", "build", "--cpu"], [*python, "gateways", "build", "xray"]]
    assert output.status == 0, output.err
    assert json.loads(output.out)["ready"], "one document, about the machine as it is then"


@pytest.mark.usefixtures("as_root")
def test_a_build_that_fails_prevents_no_other(machine: LackingMachine, doctor: Doctor) -> None:
    machine.lacks, machine.statuses = {"made": [KERNEL, PROXY]}, {"gateways": 1}
    output = doctor("--for", "made", "--install")
    assert output.status == 3
    assert "mptcplab: `mptcplab gateways build xray` ended with status 1" in output.err
    assert "This machine lacks one thing for made." in output.out
    assert "kernel" not in output.out.partition("missing")[2], "that build succeeded"
    assert "--install" not in output.out, "the same attempt is not suggested again"


@pytest.mark.parametrize(
    ("sudo", "status", "why"),
    [(None, 0, "sudo is not installed"), ("/usr/bin/sudo", 1, "sudo asks for a password")],
)
def test_a_user_who_cannot_install_is_told_so_before_anything_runs(
    machine: LackingMachine, doctor: Doctor, monkeypatch: pytest.MonkeyPatch, sudo: str | None, status: int, why: str
) -> None:
    machine.lacks, machine.statuses = {"made": [KERNEL, IPTABLES]}, {"sudo": status}
    monkeypatch.setattr("shutil.which", lambda name, **_: sudo if name == "sudo" else f"/usr/bin/{name}")
    output = doctor("--for", "made", "--install")
    assert (output.status, output.out) == (3, "")
    assert output.err.splitlines() == [
        f"mptcplab: packages cannot be installed: this user is not root, and {why}",
        "  hint: sudo apt-get install iptables, and then this command again",
    ]
    assert machine.ran == ([["sudo", "-n", "true"]] if sudo else [])


def test_sudo_that_asks_nothing_is_used(
    machine: LackingMachine, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.lacks = {"made": [IPTABLES]}
    monkeypatch.setattr("shutil.which", lambda name, **_: f"/usr/bin/{name}")
    assert doctor("--for", "made", "--install").status == 0
    assert [command[-1] for command in machine.ran] == ["true", "iptables"]


def test_another_package_manager(machine: LackingMachine, doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lacks, "detect_system", lambda: LinuxDistribution("fedora", "Fedora", is_root=True))
    machine.lacks = {"made": [TSHARK]}
    output = doctor("--for", "made", "--install")
    assert output.status == 3
    assert "Fedora has another package manager" in output.err
    assert "hint: dnf install wireshark-cli" in output.err
    machine.lacks = {"made": [KERNEL]}
    assert doctor("--for", "made", "--install").status == 0, "builds need no package manager"


def test_what_a_build_needs_is_among_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the command works at the first attempt on a machine that has neither compilers nor their packages."""
    monkeypatch.setattr(lacks, "find_missing_tools", lambda: [TOOL])
    monkeypatch.setattr(lacks, "missing_toolchain_packages", lambda _: ["golang-go"])

    def absent(_: object) -> None:
        raise MissingError(OLD_GO, hint="put a newer go on PATH", subject="Go 1.24 or later")

    monkeypatch.setattr(lacks, "toolchain_of", absent)
    assert collect_lacks({"a": [IPTABLES]}, INSTALL, DEBIAN).packages == ["iptables"], "nothing has to be built"
    reports = collect_lacks({"a": [KERNEL, PROXY]}, INSTALL, DEBIAN)
    assert reports.command == (
        "sudo apt-get install flex golang-go && mptcplab kernel build --cpu && mptcplab gateways build xray"
    )
    users = {lack.error.subject: lack.use for lack in reports.lacks}
    assert users["flex"] == "`mptcplab kernel build`"
    assert users["Go 1.24 or later"] == "`mptcplab gateways build xray`"
    error = reports.to_error()
    assert error.message == "this machine lacks Go 1.24 or later, flex, kernel 7.2-cpu and xray"


def test_what_no_command_gets(machine: LackingMachine, doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian 12 has only an older Go."""

    def absent(recipe: object) -> None:
        assert recipe is RECIPES["xray"]
        raise MissingError(OLD_GO, hint="put a newer go on PATH", subject="Go 1.24 or later")

    monkeypatch.setattr(lacks, "toolchain_of", absent)
    monkeypatch.setattr(lacks, "missing_toolchain_packages", lambda _: [])
    machine.lacks = {"made": [PROXY]}
    output = doctor("--for", "made/1")
    assert f"No command gets this: {OLD_GO}: put a newer go on PATH" in output.out.splitlines()
    assert "  mptcplab gateways build xray" in output.out.splitlines()
    hint = collect_lacks({"made/1": [PROXY, KERNEL]}, INSTALL, DEBIAN).to_error().hint
    assert (hint or "").splitlines() == [
        "mptcplab doctor --for made/1 --install",
        "  or by hand: mptcplab kernel build --cpu && mptcplab gateways build xray",
        f"  no command gets this: {OLD_GO}: put a newer go on PATH",
    ], "what can be built comes before what cannot"


def test_a_way_to_go_on_without_it_is_named() -> None:
    stale = MissingError(
        "it is stale", subject="kernel 7.2 (stale)", command="mptcplab kernel build", alternative="wait"
    )
    error = collect_lacks({"a": [stale]}, "mptcplab doctor --for a --install", DEBIAN).to_error()
    assert (error.hint or "").splitlines() == [
        "mptcplab doctor --for a --install",
        "  or by hand: mptcplab kernel build",
        "  or wait",
    ]


@pytest.mark.parametrize(
    ("system", "separator"),
    [(DEBIAN, " && "), (LinuxDistribution("arch", "Arch"), " && "), (LinuxDistribution("", "Plan 9"), "; then ")],
)
@pytest.mark.usefixtures("debian")
def test_a_sentence_is_not_joined_like_a_command(system: LinuxDistribution, separator: str) -> None:
    lacks = collect_lacks({"a": [TSHARK, PROXY]}, INSTALL, system)
    assert lacks.command == separator.join([system.install(["tshark"]), "mptcplab gateways build xray"])


def test_many_users_are_counted() -> None:
    lacks = collect_lacks({f"s/{number}": [IPTABLES] for number in range(9)}, INSTALL, DEBIAN)
    assert lacks.lacks[0].use == "s/0, s/1, s/2 and 6 others"
    assert len(lacks.to_json()["findings"][0]["users"]) == 9


def test_the_options_of_the_experiment_decide_what_it_needs(
    machine: LackingMachine, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []

    def find(runs: Sequence[Run], *, engine: str) -> list[MissingError]:
        asked.extend(run.point.scenario.kernel for run in runs[:1])
        return machine.find_missing(runs, engine=engine)

    monkeypatch.setattr(api_machine, "find_missing", find)
    machine.lacks = {"made": [KERNEL]}
    output = doctor("--for", "made/1", "--set", "kernel=7.2-hz100")
    assert asked == ["7.2-hz100"]
    assert "  mptcplab doctor --for made/1 --set kernel=7.2-hz100 --install" in output.out.splitlines()
    output = doctor("--for", "made/1", "--engine", "local")
    assert machine.engines == ["virtual", "local"]
    assert "  mptcplab doctor --for made/1 --engine local --install" in output.out.splitlines()


def test_beds_have_kernels_of_their_own(machine: LackingMachine, doctor: Doctor, studies: Path) -> None:
    beds = '[settled]\nwhy = "w"\nset = { kernel = "7.2-cpu" }\n[[axes]]\nname = "rate"\nwhy = "w"\n'
    beds += 'range = ["40 Mbit/s", "60 Mbit/s"]\nset = { "links.link1.rate" = "{value}" }\n'
    (studies / "made" / "beds.toml").write_text(beds)
    asked: dict[str, set[str | None]] = {}

    def find(runs: Sequence[Run], *, engine: str) -> list[MissingError]:
        asked.setdefault(engine, set()).update(run.point.scenario.kernel for run in runs)
        return []

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(api_machine, "find_missing", find)
        assert doctor("--for", "made", "--beds", 2).status == 0
    assert asked == {"virtual": {"7.2-cpu"}}
    machine.lacks = {"made": [KERNEL]}
    output = doctor("--for", "made", "--beds", 2)
    assert "  mptcplab doctor --for made --beds 2 --install" in output.out.splitlines()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--for", "nosuch"), "'nosuch' is neither a scenario file nor a study"),
        (("--for", "nosuch.toml"), "nosuch.toml"),
        (("--for", "made/7"), "study made has no table '7' here"),
        (("--for", "made", "--packages", "lab"), "--for and --packages exclude each other"),
        (("--for", "other", "--beds", "2"), "study other has no test beds to draw from"),
        (("--install",), "--install needs --for"),
        (("--set", "seed=1"), "--set needs --for"),
        (("--beds", "2"), "--beds needs --for"),
        (("--engine", "local"), "--engine needs --for"),
    ],
)
def test_wrong_input(machine: LackingMachine, doctor: Doctor, words: tuple[str, ...], message: str) -> None:
    output = doctor(*words)
    assert output.status == 2
    assert message in output.err
    assert machine.ran == []


def test_beds_of_a_scenario_file(machine: LackingMachine, doctor: Doctor, write: Write) -> None:
    output = doctor("--for", write(SCENARIO, "my.toml"), "--beds", 2)
    assert (output.status, machine.engines) == (2, [])
    assert "--beds is for studies" in output.err


def test_the_script_that_installs_is_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Path(lacks._script()[1])
    assert "--named" in script.read_text()
    monkeypatch.setattr(lacks, "find_shipped_folder", lambda *_, **__: None)
    with pytest.raises(LabError, match="install-packages is missing"):
        lacks._script()


def test_commands_are_asked_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Their input is empty, and what they print does not mix with a document on standard output."""
    assert lacks._run(["sh", "-c", "read -r answer || echo unanswered; exit 5"]) == 5
    assert tuple(capfd.readouterr()) == ("", "unanswered\n")
    assert lacks._run(["sh", "-c", "echo x; echo y >&2"], quiet=True) == 0
    assert tuple(capfd.readouterr()) == ("", "")
