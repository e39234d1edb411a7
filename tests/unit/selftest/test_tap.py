# SPDX-License-Identifier: MIT
"""Parsing the output of selftests, in the forms that the kernel's MPTCP scripts print."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mptcplab.selftest.tap import Result, results, skip_reason

SIMULT = """\
01 balanced bwidth                                             7400 max 7906       [ OK ]
02 unbalanced bwidth                   transfer slower than expected! runtime 12009 ms, expected 11921 ms[FAIL] client

TAP version 13
1..2
ok 1 - simult_flows: balanced bwidth # time=7401ms
not ok 2 - simult_flows: unbalanced bwidth # time=12060ms
"""

JOIN = """\
001 no JOIN
      join Rx                             [ OK ]
034 remove single subflow
      syn rx                              [FAIL] got 0 JOIN[s] syn rx expected 1
Server ns stats (ns2-bvjEPw)
  TcpPassiveOpens                 1
      join Rx                             [FAIL] see above
035 MP_FAIL
      [SKIP] not supported

TAP version 13
1..3
ok 1 - mptcp_join: no JOIN # time=10ms
not ok 2 - mptcp_join: remove single subflow # time=5202ms
ok 3 - mptcp_join: MP_FAIL # SKIP time=0ms
"""


def test_results_and_the_reasons_before_them() -> None:
    good, bad = results(SIMULT)
    assert good == Result("balanced bwidth", "ok")
    assert (bad.name, bad.verdict) == ("unbalanced bwidth", "not ok")
    assert "runtime 12009 ms, expected 11921 ms" in bad.reason


def test_the_first_complaint_of_a_test_is_its_reason() -> None:
    _, bad, skipped = results(JOIN)
    assert bad == Result("remove single subflow", "not ok", "syn rx got 0 JOIN[s] syn rx expected 1")
    assert skipped == Result("MP_FAIL", "skip", "not supported")


def test_a_script_that_skips_everything_says_why() -> None:
    assert skip_reason("\n[SKIP] ss tool does not support MPTCP\n") == "ss tool does not support MPTCP"
    assert skip_reason("SKIP: Could not run test without ip tool\n") == "Could not run test without ip tool"
    assert skip_reason("no test was made\n") == ""


def test_known_as_flaky() -> None:
    (result,) = results("1..1\nok 1 - simult_flows: a # IGNORE Flaky time=3ms\n")
    assert (result.name, result.verdict) == ("a", "flaky")


def test_a_script_that_died_in_the_middle() -> None:
    """The plan announces more results than are printed."""
    good, missing = results("1..2\nok 1 - diag: a # time=1ms\n")
    assert good.verdict == "ok"
    assert missing == Result("result 2", "not ok", "it was not printed")


def test_nothing_at_all() -> None:
    assert results("bash: no\n") == []


@given(st.text(alphabet="ok not1.:-#[]FAIL\n time=ms", max_size=300))
def test_any_text_is_read(text: str) -> None:
    for result in results(text):
        assert result.verdict in ("ok", "not ok", "skip", "flaky")
