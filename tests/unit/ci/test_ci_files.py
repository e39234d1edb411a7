# SPDX-License-Identifier: MIT
"""The action for GitHub, the template for GitLab, and the scripts that both run, here with a stand-in for mptcplab."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from mptcplab import __version__

ROOT = Path(__file__).resolve().parents[3]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
TEMPLATE = yaml.safe_load((ROOT / "ci" / "gitlab.yml").read_text())
PAGE = (ROOT / "docs" / "ci.md").read_text()
#: GitLab's tag `!reference` is a list for YAML.
EXAMPLES = [yaml.safe_load(text.replace("!reference ", "")) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.S)]
#: Notes its arguments, writes a suite of one test, and ends with the status that its second argument names.
MPTCPLAB = """#!/bin/sh
echo "$*" >>"$CALLS"
case "$1 $2" in
"kernel path") exit "${NO_KERNEL:-0}" ;;
"kernel build") echo '{"executable": "/cache/kernels/7.2-own/linux"}'; exit ;;
"doctor --packages") echo iproute2; exit ;;
esac
while [ $# -gt 0 ]; do
	case "$1" in
	--junit) junit=$2 ;;
	--out) out=$2 ;;
	status*) status=${1#status} ;;
	esac
	shift
done
case "${status:-0}" in
2) ;;
0) echo '<testsuites><testsuite name="a|b"><testcase name="good"/></testsuite></testsuites>' >"$junit" ;;
*)
	case='<testcase name="bad"><failure message="too *slow*"/></testcase>'
	echo "<testsuites><testsuite name='s'>$case</testsuite></testsuites>" >"$junit"
	;;
esac
mkdir -p "$out"
echo "## Table of $(basename "$out")" >"$out/table.md"
exit "${status:-0}"
"""


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """A Python environment with the stand-in."""
    programs = tmp_path / "venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (programs / "mptcplab").write_text(MPTCPLAB)
    (programs / "pip").write_text('#!/bin/sh\necho "pip $*" >>"$CALLS"\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    return programs.parent


def run(script: Path, venv: Path, **variables: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run a script; return how it ended and the calls of the stand-in."""
    calls = venv / "calls"
    environment = {"PATH": os.environ["PATH"], "HOME": str(venv), "CALLS": str(calls), "MPTCPLAB_VENV": str(venv)}
    environment |= {"PYTHONPATH": str(ROOT / "src"), "MPTCPLAB_OUT": "out"} | variables
    done = subprocess.run([script], env=environment, cwd=venv, capture_output=True, text=True, check=False, timeout=120)
    return done, calls.read_text().splitlines() if calls.exists() else []


def test_all_tests_run_and_the_first_failure_decides(venv: Path) -> None:
    summary = venv / "step-summary.md"
    done, calls = run(
        ROOT / "ci" / "test",
        venv,
        MPTCPLAB_SELFTESTS="diag mptcp_join/add_tests",
        MPTCPLAB_SCENARIOS="\n@two-paths --repeats 3\n  status1.toml status1\nlate.toml status2\n",
        GITHUB_STEP_SUMMARY=str(summary),
    )
    assert done.returncode == 1, done.stderr
    assert calls == [
        "kernel path",
        "selftest diag mptcp_join/add_tests --junit out/junit/selftests.xml --out out/logs",
        "run @two-paths --repeats 3 --junit out/junit/1-two-paths.xml --out out/results/1-two-paths",
        "run status1.toml status1 --junit out/junit/2-status1.xml --out out/results/2-status1",
        "run late.toml status2 --junit out/junit/3-late.xml --out out/results/3-late",
    ]
    page = summary.read_text()
    assert page == (venv / "out" / "summary.md").read_text()
    assert "| a\\|b | 1 | 0 | 0 |" in page, "a bar in a name ends no cell"
    assert "- **s: bad**: too \\*slow\\*" in page
    assert [line for line in page.splitlines() if line.startswith("## Table")] == [
        f"## Table of {name}" for name in ("1-two-paths", "2-status1", "3-late")
    ]
    assert "mptcplab run late.toml status2  # failed: status 2" in page


def test_a_job_without_tests_says_so_and_passes(venv: Path) -> None:
    """Such a job has steps of its own after the action."""
    done, _ = run(ROOT / "ci" / "test", venv)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "No test ran: there are no scenarios and no selftests. Later steps can use mptcplab.\n"
    assert "No test ran." in (venv / "out" / "summary.md").read_text()
    done, _ = run(ROOT / "ci" / "test", venv, MPTCPLAB_SCENARIOS="a.toml")
    assert "No test ran" not in done.stdout


def test_words_of_a_scenario_are_no_patterns_and_no_commands(venv: Path) -> None:
    done, calls = run(ROOT / "ci" / "test", venv, MPTCPLAB_SCENARIOS="*.toml $(touch gone) `touch gone`;touch")
    assert done.returncode == 0, done.stderr
    assert calls[1].startswith("run *.toml $(touch gone) `touch gone`;touch --junit ")
    assert not (venv / "gone").exists()


def test_requirements_are_those_of_every_scenario(venv: Path) -> None:
    done, calls = run(
        ROOT / "ci" / "test",
        venv,
        MPTCPLAB_SCENARIOS="a.toml\nb.toml status1 --require outage_s<2",
        MPTCPLAB_REQUIRE="mptcp\n\n  goodput_mbps >= 20\n",
    )
    assert done.returncode == 1, done.stderr
    assert [call.partition(" --junit")[0] for call in calls[1:]] == [
        "run a.toml --require mptcp --require goodput_mbps >= 20",
        "run b.toml status1 --require outage_s<2 --require mptcp --require goodput_mbps >= 20",
    ]
    commands = (venv / "out" / "commands.txt").read_text().splitlines()
    assert commands[0].endswith("--require mptcp --require 'goodput_mbps >= 20'"), "a shell would write to =20"
    assert "--require 'outage_s<2'" in commands[1]


def test_a_kernel_is_built_if_it_is_not_cached(venv: Path) -> None:
    _, calls = run(ROOT / "ci" / "test", venv, NO_KERNEL="3")
    assert calls == ["kernel path", "kernel build"]


def test_everything_runs_in_the_kernel_of_the_options(venv: Path) -> None:
    done, calls = run(
        ROOT / "ci" / "test",
        venv,
        MPTCPLAB_KERNEL_OPTIONS="--patch fix.patch",
        MPTCPLAB_SELFTESTS="diag",
        MPTCPLAB_SCENARIOS="a.toml",
    )
    assert done.returncode == 0, done.stderr
    kernel = "/cache/kernels/7.2-own/linux"
    assert calls[0] == "kernel build --patch fix.patch --json"
    assert [call.partition(" --junit")[0] for call in calls[1:]] == [
        f"selftest diag --kernel {kernel}",
        f"run a.toml --set kernel={kernel}",
    ]


def test_the_key_of_the_cache_changes_with_the_kernel(venv: Path, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    for folder in ("ci", "scripts"):
        (checkout / folder).mkdir(parents=True)
    script = checkout / "ci" / "install"
    script.write_text((ROOT / "ci" / "install").read_text())
    packages = checkout / "scripts" / "install-packages"
    packages.write_text('#!/bin/sh\necho "packages $*" >>"$CALLS"\n')
    for file in (script, packages):
        file.chmod(0o755)
    output, path = venv / "github-output", venv / "github-path"
    done, calls = run(script, venv, GITHUB_OUTPUT=str(output), GITHUB_PATH=str(path), XDG_CACHE_HOME="/cache")
    assert done.returncode == 0, done.stderr
    assert calls == [
        "packages ",
        f"pip install --quiet --disable-pip-version-check {checkout}",
        "doctor --packages lab",
        "packages --named iproute2",
    ]
    values = dict(line.split("=") for line in output.read_text().splitlines())
    assert values["kernels"] == "/cache/mptcplab/kernels"
    assert set(re.findall(r"steps\.install\.outputs\.([\w-]+)", (ROOT / "action.yml").read_text())) <= values.keys()
    (commands,) = path.read_text().splitlines()
    assert os.listdir(commands) == ["mptcplab"], "python and pip of later steps stay theirs"
    assert (Path(commands) / "mptcplab").samefile(venv / "bin" / "mptcplab")
    assert f"$HOME/.local/share/mptcplab/{Path(commands).relative_to(venv.parent)}" in str(TEMPLATE)
    # A cache is written once: what makes other files has another key.
    patch = tmp_path / "fix.patch"
    keys = [values["cache-key"]]
    for change in ("HZ", "first", "second", "selftests"):
        patch.write_text(change)
        options = {"HZ": "--hz 250", "selftests": ""}.get(change, f"--patch {patch}")
        selftests = "diag" if change == "selftests" else "none"
        other, _ = run(script, venv, MPTCPLAB_KERNEL_OPTIONS=options, MPTCPLAB_SELFTESTS=selftests)
        keys += re.findall("^cache-key=(mptcplab-[0-9a-f]{16})$", other.stdout, re.M)
    assert len(set(keys)) == len(keys) == 5


def test_the_action_passes_each_input_to_the_scripts() -> None:
    text = (ROOT / "action.yml").read_text()
    assert [name for name in ACTION["inputs"] if f"${{{{ inputs.{name} }}}}" not in text] == []
    scripts = {step["run"].strip('"'): step["env"] for step in ACTION["runs"]["steps"] if "run" in step}
    assert list(scripts) == ["$GITHUB_ACTION_PATH/ci/install", "$GITHUB_ACTION_PATH/ci/test"]
    for path, variables in scripts.items():
        head = (ROOT / path.partition("/")[2]).read_text()
        assert [name for name in variables if f"#   {name} " not in head] == [], f"{path} documents its variables"


def test_actions_of_github_run_on_its_runners() -> None:
    """Runners have had no Node 20 since September 2026. These are the first versions that use Node 24."""
    first = {"cache": 5, "checkout": 5, "upload-artifact": 6}
    used = re.findall(r"uses: actions/([\w-]+)@v(\d+)", (ROOT / "action.yml").read_text() + PAGE)
    assert {name for name, _ in used} == set(first)
    assert [(name, version) for name, version in used if int(version) < first[name]] == []


def test_the_example_for_github_has_inputs_of_the_action() -> None:
    (workflow,) = [example for example in EXAMPLES if "jobs" in example]
    steps: list[dict[str, Any]] = workflow["jobs"]["lab"]["steps"]
    (step,) = [step for step in steps if "mptcplab@" in step["uses"]]
    assert step["with"].keys() <= ACTION["inputs"].keys()
    assert step["with"]["package"] == f"mptcplab=={__version__}"
    assert step["uses"].endswith(f"@v{__version__}")
    (upload,) = [step for step in steps if "upload" in step["uses"]]
    assert upload["with"]["path"] == ACTION["inputs"]["out"]["default"]
    table = PAGE[PAGE.index("## Inputs and variables") :]
    rows = re.findall(r"^\| `([\w-]+)` \| `(\w+)` \|", table, re.M)
    assert [name for name, _ in rows] == list(ACTION["inputs"])
    passed = {name: value for step in ACTION["runs"]["steps"] for name, value in step.get("env", {}).items()}
    assert {name: f"${{{{ inputs.{given} }}}}" for given, name in rows} == passed


def test_the_steps_after_the_action_name_what_it_leaves() -> None:
    steps = [step for example in EXAMPLES if isinstance(example, list) for step in example]
    assert len(steps) == 2
    (line,) = [step["run"] for step in steps if "compare" in step["run"]]
    assert f" {ACTION['inputs']['out']['default']}/results/1-our-network " in line
    assert "--fail-if-different" in line


def test_the_example_for_gitlab_extends_the_template() -> None:
    whole, more = [example for example in EXAMPLES if "multipath-tcp" in example]
    assert whole["include"][0]["remote"].endswith(f"/v{__version__}/ci/gitlab.yml")
    job = whole["multipath-tcp"]
    assert job["extends"] == more["multipath-tcp"]["extends"]
    assert more["multipath-tcp"]["script"][0] == [job["extends"], "script"]
    assert job["extends"] in TEMPLATE
    template = TEMPLATE[job["extends"]]
    assert job["variables"].keys() <= template["variables"].keys()
    assert template["artifacts"]["reports"]["junit"] == "$MPTCPLAB_OUT/junit/*.xml"


def test_the_summary_of_nothing_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "ci" / "summary.py", tmp_path], capture_output=True, text=True, check=True
    )
    text = "No test ran. Tests are what `selftests` and `scenarios` name."
    assert done.stdout == f"# Multipath TCP in the lab\n\n{text}\n"


def test_the_summary_reads_the_files_that_mptcplab_writes(tmp_path: Path) -> None:
    from mptcplab.report.junit import Case, Suite, to_junit

    (tmp_path / "junit").mkdir()
    text = to_junit("mptcplab", [Suite("diag", (Case("a"), Case("b", "skipped"), Case("c", "error", "no lab")))])
    assert ElementTree.fromstring(text).tag == "testsuites"
    (tmp_path / "junit" / "t.xml").write_text(text)
    done = subprocess.run(
        [sys.executable, ROOT / "ci" / "summary.py", tmp_path], capture_output=True, text=True, check=True
    )
    assert "| diag | 1 | 1 | 1 |" in done.stdout
    assert "- **diag: c**: no lab" in done.stdout
