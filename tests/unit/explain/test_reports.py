# SPDX-License-Identifier: MIT
"""Public reports, chosen before the command was tried on them, and what it answers: README.md has the score."""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab.explain.answer import Answer, answer
from mptcplab.explain.reason import HINT
from mptcplab.explain.sources import read_sources

UNIT = Path(__file__).parents[1]
REPORTS = Path(__file__).parent / "reports"
#: By the number of the report: the reason, a part of its cure, and the place of its first evidence.
ANSWERS = {
    "531": ("announcement-not-accepted", "add_addr_accepted", "531/client.txt:8"),
    "577": ("server-join-refused", "use signal at the server only", "577/server.txt:15"),
    "477": ("syns-dropped", "let TCP option 30 pass the firewall", "477/client.txt:10"),
    "247": ("no-mptcp-sockets", "mptcpize run", "247/client.txt:12"),
    "585": ("first-subflow-unanswered", "route to the server follow the state of the path", "585/client.txt:11"),
}
#: The further ones, by number: the reason that comes first, and a part of its cure.
FURTHER = {
    "557": ("blackhole-remembered", "net.mptcp.blackhole_timeout = 0"),
    "554": ("join-without-route", "ip rule add from"),
    "459": ("server-join-refused", "signal alone at the server"),
    "501": ("server-join-refused", "use signal at the server only"),
    "591": ("link-local-announced", "an endpoint with a device"),
    "510": ("join-not-bound", "when duplicate address detection is over"),
    "272": ("answer-without-option", "which speaks version 1 only"),
    "203": ("join-rejected", "ip mptcp limits set subflow"),
    "593": ("first-subflow-unanswered", "route to the server follow the state of the path"),
    "437": ("bbr-over-long-paths", "compare with CUBIC"),
    "337": ("join-refused", "port PORT signal"),
    "331": ("server-join-refused", "signal alone at the server"),
    "237": ("backup-not-carried", "subflow backup"),
    "544": ("reset-after-join", "removes the options later"),
    "206": ("early-retransmission", "Linux 5.15 or later"),
    "536": ("initial-address-refused", "announce an address at the server"),
    "mptcp-380": ("busy-cpu", "a faster CPU"),
    "mptcp-452": ("answer-without-option", "try another server on the same path"),
    "mptcp-480": ("join-unanswered", "tell the operator"),
    "mptcp-472": ("join-without-route", "has to wait for them"),
    "630": ("join-refused", "go on listening"),
    "449": ("clients-without-mptcp", "nothing at the server"),
    "506": ("backup-not-carried", "Linux 6.11 or later at the server"),
    "616": ("stuck-subflow", "add it when the path is back"),
    "581": ("all-fits-into-one-subflow", "mark its endpoint as backup"),
    "575": ("socket-option-unsupported", "use a TCP socket"),
    "mptcp-166": ("kernel-without-mptcp", "let the boot loader start"),
    "mptcp-238": ("default-path-manager", "mptcp_path_manager=fullmesh"),
    "mptcp-245": ("subflows-exhausted", "fewer subflows"),
    "mptcp-418": ("checksum-without-offload", "mptcp_checksum=0"),
    "mptcp-499": ("logged-join-without-route", "ip -6 rule add from"),
    "mptcpd-264": ("traced-tcp-sockets", "GODEBUG=multipathtcp=1"),
    "mptcpd-281": ("endpoint-refused", "fewer endpoints"),
    "mptcpd-292": ("endpoints-unused", "plugin *addr_adv*"),
    "omr-1624": ("traced-option-removed", "a VPN"),
    "omr-2821": ("other-implementation", "mainline at both sides"),
    "omr-vps-90": ("address-at-several-interfaces", "a network of its own"),
}
#: Reports of which the command says nothing: what the reporters gave does not show the cause.
SILENT = {"615", "307", "395"}
#: What the command says of these is a hint, which fits other causes, too: the README says which.
HINTED = {"593", "437", "206"}
#: By the number of a case, a capture: the reason that it alone shows; none if it shows nothing unusual.
CAPTURES = {
    "late-mapping": None,
    "acks-only": None,
    "syn-dropped": "captured-syns-unanswered",
    "join-syn-only": "captured-join-unanswered",
    "late-fallback": "captured-data-without-dss",
}


def explain(*paths: Path) -> Answer:
    """Return the answer about files."""
    return answer(read_sources(paths))


@pytest.mark.parametrize("number", ANSWERS)
def test_a_report_is_answered_as_its_maintainers_did(number: str) -> None:
    key, cure, place = ANSWERS[number]
    report = explain(REPORTS / number)
    first = report.explanations[0]
    assert [explanation.finding.reason for explanation in report.explanations] == [key]
    assert cure in first.finding.cure
    assert str(first.evidence[0].places[0]) == place


@pytest.mark.parametrize("number", FURTHER)
def test_further_reports(number: str) -> None:
    key, cure = FURTHER[number]
    first = explain(REPORTS / number).explanations[0]
    assert first.finding.reason == key
    assert cure in first.finding.cure
    assert (first.finding.strength == HINT) == (number in HINTED)


@pytest.mark.parametrize("number", sorted(SILENT))
def test_no_wrong_answer_where_the_evidence_is_not_enough(number: str) -> None:
    answered = explain(REPORTS / number)
    assert answered.explanations == ()
    assert answered.lacking


def test_every_report_is_described() -> None:
    table = (REPORTS / "README.md").read_text()
    folders = {folder.name for folder in REPORTS.iterdir() if folder.is_dir()}
    known = {*ANSWERS, *FURTHER, *SILENT}
    assert folders == known == {number for number in known if f"| {number} |" in table}


@pytest.mark.slow
@pytest.mark.parametrize("name", CAPTURES)
def test_captures_alone(name: str) -> None:
    report = explain(UNIT / "captures" / f"{name}.pcap")
    reasons = [explanation.finding.reason for explanation in report.explanations]
    assert reasons == ([] if CAPTURES[name] is None else [CAPTURES[name]])


@pytest.mark.slow
def test_without_evidence_the_answer_names_the_commands_that_would_get_it() -> None:
    report = explain(UNIT / "captures" / "late-mapping.pcap")
    assert report.explanations == ()
    assert report.judged < report.total
    assert any("nstat -az" in words for words, _ in report.lacking)
