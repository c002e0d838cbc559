"""The plugin with a decision model as the judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fake_decisions import Decider
from ragtriage import open_store
from servers import Server

if TYPE_CHECKING:
    import pytest
    from inner_sessions import Session

pytest_plugins = ["pytester"]

NEEDED = """
@cases("answers.jsonl")
def test_needed(case):
    assert case.scores["source_precision"] >= 0
"""


def test_a_decision_model_judges_what_tests_ask_for(session: Session, pytester: pytest.Pytester) -> None:
    pytester.makeconftest("")
    with Server(Decider(model="m-latest")) as server:
        flags = ("--ragtriage-judge", f"systemone:m-latest@{server.root}")
        refused = session(NEEDED, *flags)
        first = session(NEEDED, *flags, "--ragtriage-network")
        asked = len(server.heard)
        again = session(NEEDED, *flags)

    refused.stdout.fnmatch_lines(["*add --ragtriage-network to ask it*"])
    first.assert_outcomes(passed=2, skipped=1)
    again.assert_outcomes(passed=2, skipped=1)
    assert 0 < asked == len(server.heard)
    with open_store(pytester.path / ".ragtriage") as store:
        (run,) = store.runs()
        assert "+decide:systemone:m-latest" in run.judge
        assert "names another model" in run.configuration["warnings"][0]
