"""The plugin in whole test sessions: what is judged, how tests end, what is said and spent."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from inner_sessions import CASES, Session, asked, write

from fake_decisions import Decider
from in_process import said_by
from ragtriage import NotStoredError, open_store
from ragtriage.core.amount import Amount
from ragtriage.judges.budget import Ledger
from ragtriage.runs.manifest import RunIdentity
from ragtriage.store import Store
from ragtriage.testing.judging import SessionBudget, spending_marks
from servers import Server

pytest_plugins = "pytester"

GROUNDED = """
@cases("answers.jsonl")
def test_it(case):
    assert_grounded(case)
"""


def test_every_case_is_a_test_and_a_failing_one_quotes_what_is_unsupported(
    session: Session, pytester: pytest.Pytester
) -> None:
    ended = session(GROUNDED, "-v")

    ended.assert_outcomes(passed=1, failed=1, skipped=1)
    ended.stdout.fnmatch_lines_random(["*test_it?q1? PASSED*", "*test_it?q2? FAILED*", "*test_it?q3? SKIPPED*"])
    ended.stdout.fnmatch_lines(
        [
            "E * groundedness 0.50 is below 0.8*",
            "E *✗ “The fee is 5 euros.” not supported by the sources",
            "E *no source says so",
            "E *case q2: What does it cost?",
        ]
    )
    ended.stdout.no_fnmatch_line("*assertions.py:*")
    kinds = {line.split()[0] for line in asked(pytester.path)}
    assert kinds <= {"claims", "supported", "declines", "questions"}  # only the metric that tests name is computed


def test_what_only_a_helper_names_is_judged_when_it_is_asked_for(session: Session) -> None:
    lines = """
    def helper(case, name):
        return case.scores["response_query_" + name]

    @cases("answers.jsonl", tags={"topic": "fees"})
    def test_it(case):
        assert_score(case, groundedness=0.5)
        assert helper(case, "coverage") == 1
        assert len(case.scores) == 2
    """
    session(lines).assert_outcomes(passed=1)


def test_a_test_of_findings_needs_all_metrics_and_user_properties_hold_them(
    session: Session, pytester: pytest.Pytester
) -> None:
    lines = """
    @cases("answers.jsonl", tags={"topic": "fees"})
    def test_it(case):
        assert case.findings
        assert len(case.record.outcomes) == 7
    """
    session(lines, "--junit-xml=out.xml").assert_outcomes(passed=1)

    written = (pytester.path / "out.xml").read_text(encoding="utf-8")
    assert '<property name="ragtriage.groundedness" value="0.5"' in written
    assert re.search('<property name="ragtriage.findings" value="[^"]*unsupported_claims', written)


def test_all_selected_cases_are_judged_in_one_batch_and_no_other(session: Session, pytester: pytest.Pytester) -> None:
    session(GROUNDED, "-k", "q1").assert_outcomes(passed=1, deselected=2)
    only_one = asked(pytester.path)
    assert [line for line in only_one if "fee" in line] == []
    with open_store(pytester.path / ".ragtriage") as store:
        assert (store.run(1).info.done, store.run(1).info.state) == (1, "interrupted")

    session(GROUNDED)
    both = asked(pytester.path)
    assert both[: len(only_one)] == only_one
    assert "claims A ticket can be changed." not in both[len(only_one) :]  # nothing is asked twice
    assert "supported The fee is 5 euros." in both

    session(GROUNDED).stdout.fnmatch_lines(["answers.jsonl: 3 cases * judged before"])
    assert asked(pytester.path) == both


def test_collecting_judges_nothing_and_opens_no_store(session: Session, pytester: pytest.Pytester) -> None:
    session(GROUNDED, "--collect-only").assert_outcomes()
    session("def test_other():\n    pass\n" + GROUNDED, "-k", "other").assert_outcomes(passed=1, deselected=3)

    assert asked(pytester.path) == []
    assert not (pytester.path / ".ragtriage").exists()


@pytest.mark.parametrize(("policy", "outcomes"), [("skip", "skipped"), ("fail", "failed"), ("pass", "passed")])
def test_what_becomes_of_an_undefined_score(session: Session, policy: str, outcomes: str) -> None:
    ended = session(GROUNDED, "-k", "q3", "--ragtriage-undefined", policy, "-rs")

    ended.assert_outcomes(deselected=2, **{outcomes: 1})
    if policy != "pass":
        ended.stdout.fnmatch_lines(["*groundedness is undefined: *"])


def test_a_file_on_which_a_score_is_always_undefined_fails(session: Session, pytester: pytest.Pytester) -> None:
    write(pytester.path / "empty.jsonl", [CASES[2], CASES[2] | {"id": "q4"}])
    ended = session(GROUNDED.replace("answers", "empty"))

    ended.assert_outcomes(failed=2)
    ended.stdout.fnmatch_lines(["E *groundedness is undefined on all cases of empty.jsonl: *"])


def test_a_judge_that_fails_is_an_error_also_in_junit(session: Session, pytester: pytest.Pytester) -> None:
    write(pytester.path / "answers.jsonl", [CASES[0], CASES[1] | {"response": "It may crash."}])
    ended = session(GROUNDED, "--junit-xml=out.xml")

    ended.assert_outcomes(passed=1, errors=1)
    ended.stdout.fnmatch_lines(
        ["*groundedness of case 'q2': *the judge is ill*", "  Grounded *1.00 *0 *0  and 1 failed"]
    )
    written = (pytester.path / "out.xml").read_text(encoding="utf-8")
    assert 'errors="1" failures="0"' in written
    assert '<property name="ragtriage.groundedness" value="1.0"' in written


def test_a_failed_case_is_judged_again_by_the_next_session_and_not_by_this_one(
    session: Session, pytester: pytest.Pytester
) -> None:
    write(pytester.path / "answers.jsonl", [CASES[0], CASES[1] | {"response": "It may crash."}])
    lines = """
    @cases("answers.jsonl", tags={"topic": "fees"})
    def test_it(case):
        assert case.findings is not None

    def of_all(run):
        assert run("answers.jsonl").number

    def test_run(ragtriage_run):
        of_all(ragtriage_run)
    """
    for times in (1, 2):
        session(lines)
        assert asked(pytester.path).count("supported It may crash.") == times


@pytest.mark.parametrize(
    ("response", "score"),
    [("A fee, by rumour.", "0.* is below 0.8*"), ("It is probably so.", "0.70 is below 0.80")],
)
def test_what_is_unsure_is_quoted_and_excused_where_only_what_is_sure_counts(
    session: Session, pytester: pytest.Pytester, response: str, score: str
) -> None:
    write(pytester.path / "answers.jsonl", [CASES[0] | {"response": response}])
    session(GROUNDED).stdout.fnmatch_lines([f"E *groundedness {score} (not sure)", f"*“{response}” perhaps *"])

    ended = session(GROUNDED.replace("(case)\n", "(case, sure_only=True)\n"), "-W", "default")
    ended.assert_outcomes(passed=1, warnings=1)


def test_cases_as_values_and_of_deepeval(session: Session) -> None:
    lines = """
    class LLMTestCase:
        input, actual_output = "May I?", "A fee is due."
        retrieval_context, expected_output = ["You may."], None

    @cases([{"id": "a", "question": "May I?", "contexts": ["You may."], "answer": "You may."},
            {"question": "May I now?", "contexts": ["You may."], "answer": "You may."}])
    def test_values(case):
        assert_score(case, groundedness=1)
        assert case.sources[0].text == "You may."

    def test_deepeval():
        assert judge(LLMTestCase()).scores["faithfulness"] == 0
        assert_score(LLMTestCase(), groundedness=0.7)
    """
    ended = session(lines, "-v")

    ended.assert_outcomes(passed=2, failed=1)
    ended.stdout.fnmatch_lines(
        ["*test_values?a? PASSED*", "*test_values?row-2? PASSED*", "E *groundedness 0.00 is below 0.70"]
    )


def test_the_run_of_a_whole_file_whatever_is_deselected(session: Session, pytester: pytest.Pytester) -> None:
    lines = """
    @cases("answers.jsonl", tags={"topic": "fees"})
    def test_it(case):
        assert_score(case, groundedness=0.5)

    def test_run(ragtriage_run):
        run = ragtriage_run("answers.jsonl")
        assert run.mean("groundedness") == 0.75
        assert run.share("unsupported_claims") == 1 / 3
        assert run.number == 1
    """
    ended = session(lines, "-m", "ragtriage")

    ended.assert_outcomes(passed=2)
    ended.stdout.fnmatch_lines(
        ["answers.jsonl: 3 cases * run 1 * 3 judged now *", "*mean  low  undefined", "  Grounded *0.75 *1 *1"]
    )
    with open_store(pytester.path / ".ragtriage") as store:
        (info,) = store.runs()
        assert info.by_tests
        assert info.complete
        with pytest.raises(NotStoredError, match="no run yet"):
            store.run("last")


def test_names_that_nobody_knows(session: Session) -> None:
    lines = """
    @cases("answers.jsonl", tags={"topic": "fees"})
    def test_metric(case):
        assert_score(case, context_recal=0.5)

    def test_rule(ragtriage_run):
        ragtriage_run("answers.jsonl").share("unsuported_claims")

    def test_limit():
        assert_score({"query": "a", "sources": [], "response": "b"}, groundedness=80)
    """
    ended = session(lines)

    ended.assert_outcomes(failed=3)
    ended.stdout.fnmatch_lines_random(
        [
            "E *no metric is called 'context_recal'*context_recall*",
            "E *did you mean unsupported_claims*",
            "E *between 0 and 1*",
        ]
    )


@pytest.mark.parametrize(
    ("rows", "tags", "says"),
    [
        (None, None, "*answers.jsonl: there is no such file*"),
        ([CASES[0], CASES[0]], None, "*can't be used, the first: answers.jsonl, row 2*'q1' is the id of row 1 too*"),
        ([CASES[0], {"id": "q9"}], None, "*1 row can't be used*row 2*"),
        (CASES, {"topic": "fee"}, '*no case has topic "fee": there are "tickets", "fees"*'),
        (CASES, {"topics": "fees"}, "*no case has the tag 'topics': did you mean topic?*"),
    ],
    ids=["no file", "same id twice", "no query", "no such value", "no such tag"],
)
def test_what_can_t_be_read_is_an_error_of_collection(
    session: Session, pytester: pytest.Pytester, rows: Any, tags: Any, says: str
) -> None:
    path = pytester.path / "answers.jsonl"
    path.unlink() if rows is None else write(path, rows)
    ended = session(f"@cases('answers.jsonl', tags={tags})\ndef test_it(case):\n    pass\n")

    ended.assert_outcomes(errors=1)
    ended.stdout.fnmatch_lines([says])


def test_a_language_model_is_only_remembered_without_the_network(session: Session, pytester: pytest.Pytester) -> None:
    pytester.makeconftest("")
    ended = session(GROUNDED, "-k", "q1", "--ragtriage-judge", "openai:gpt-5-mini")

    ended.assert_outcomes(errors=1, deselected=2)
    ended.stdout.fnmatch_lines(["*no answer to this question is remembered*--ragtriage-network*"])


def test_an_application_answers_once_and_one_at_a_url_needs_leave(session: Session, pytester: pytest.Pytester) -> None:
    write(pytester.path / "questions.jsonl", [{"id": c["id"], "query": c["query"]} for c in CASES])
    pytester.makepyfile(
        my_app="def answer(query):\n    if 'cost' in query:\n        raise ValueError('no price')\n"
        "    return {'response': 'You may.', 'sources': ['You may.']}\n"
    )
    lines = """
    @cases("questions.jsonl", app="my_app.py:answer")
    def test_it(case):
        assert case.response == "You may."
        assert_grounded(case)

    @cases("questions.jsonl", app="http://127.0.0.1:9/answer")
    def test_url(case):
        assert_grounded(case)
    """
    ended = session(lines)

    ended.assert_outcomes(passed=2, errors=4)
    ended.stdout.fnmatch_lines_random(
        ["E *the application gave no answer to case 'q2': ValueError: no price*", "E *is a URL*--ragtriage-network*"]
    )
    assert [*(pytester.path / ".ragtriage").glob("*.jsonl")] == []


def test_where_nothing_can_be_written_it_is_judged_all_the_same(session: Session, pytester: pytest.Pytester) -> None:
    (pytester.path / ".ragtriage").write_text("a file, so no folder can be made here")
    ended = session(GROUNDED, "-k", "q1")

    ended.assert_outcomes(passed=1, deselected=2)
    ended.stdout.fnmatch_lines(["nothing is kept in *--ragtriage-store*"])
    named = session(GROUNDED, "-k", "q1", "--ragtriage-store", ".ragtriage/store")
    named.assert_outcomes(errors=1, deselected=2)


def test_an_undefined_score_never_compares_and_a_fixture_and_an_async_test_may_need_a_verdict(session: Session) -> None:
    lines = """
    import asyncio, pytest

    @pytest.fixture
    def grounded(case):
        return case.scores["groundedness"]

    @cases("answers.jsonl")
    def test_fixture(case, grounded):
        assert grounded >= 0.5

    @cases("answers.jsonl", tags={"topic": ["tickets"]})
    def test_undefined(case):
        assert case.scores["groundedness"] >= 0.0 or True
        assert case.id == "q1"

    @cases("answers.jsonl", tags={"topic": "fees"})
    def test_async(case):
        async def body():
            assert case.scores["self_distinctness"] == 1
        asyncio.run(body())
    """
    session(lines).assert_outcomes(passed=4, skipped=2)


def test_workers_share_one_judging_and_a_crashed_one_is_named(session: Session, pytester: pytest.Pytester) -> None:
    write(pytester.path / "answers.jsonl", [CASES[0] | {"id": f"q{i}", "query": f"May I, {i}?"} for i in range(8)])
    lines = """
    import os, pathlib, signal

    @cases("answers.jsonl")
    def test_it(case):
        assert_grounded(case)
        flag = pathlib.Path(__file__).with_name("killed")
        if case.id == "q0" and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    """
    ended = session(lines, "-n", "2")

    ended.assert_outcomes(passed=7, failed=1)
    ended.stdout.fnmatch_lines(["answers.jsonl: 7 cases *", "worker gw? crashed: *"])
    supported = [line for line in asked(pytester.path) if line.startswith("supported")]
    assert len(supported) == 8  # each once, though two processes needed them


def test_a_session_without_tests_of_ours_loads_nothing_and_says_nothing(
    session: Session, pytester: pytest.Pytester
) -> None:
    pytester.makeconftest(
        """
        import sys
        opened = set()

        def audit(event, arguments):
            if event == "open" and "ragtriage" in str(arguments[0]):
                opened.add(str(arguments[0]).rpartition(".")[2])

        sys.addaudithook(audit)

        def pytest_unconfigure():
            heavy = {"numpy", "sqlalchemy", "pydantic", "onnxruntime", "ragtriage.config", "ragtriage.testing.suite"}
            print("loaded:", sorted(heavy & set(sys.modules)), sorted(opened - {"py", "pyc", "txt"}))
        """
    )
    pytester.makepyfile("def test_plain():\n    pass\n")
    ended = session("", "-q", apart=True)

    ended.assert_outcomes(passed=1)
    ended.stdout.fnmatch_lines(["loaded: [[]] [[]]"])
    assert "ragtriage" not in ended.stdout.str().replace(str(Path.cwd()), "")
    assert not (pytester.path / ".ragtriage").exists()


def test_the_example_is_as_its_page_says(session: Session, pytester: pytest.Pytester) -> None:
    example = Path(__file__).parents[2] / "examples" / "pytest"
    for name in ("answers.jsonl", "test_of_answers.py", "pyproject.toml"):
        shutil.copy(example / name, pytester.path)
    (pytester.path / "conftest.py").unlink()
    ended = session("")

    ended.assert_outcomes(passed=8, skipped=1)
    ended.stdout.fnmatch_lines(
        ["answers.jsonl: 8 cases * run 1 * 8 judged now *", "  Grounded *1 *1", "*unsupported_claims 1"]
    )


def test_a_run_is_compared_with_a_baseline_file(session: Session, pytester: pytest.Pytester) -> None:
    rows = [CASES[0] | {"id": f"q{i}", "query": f"May I, {i}?"} for i in range(20)]
    write(pytester.path / "answers.jsonl", rows)
    lines = """
    def test_run(ragtriage_run):
        compared = ragtriage_run("answers.jsonl").compare("base.json")
        assert compared.gate("groundedness", margin=0.03) != "worse"

    def test_unknown(ragtriage_run):
        ragtriage_run("answers.jsonl").compare("nothing.json")
    """
    session("def test_run(ragtriage_run):\n    assert ragtriage_run('answers.jsonl').number\n").assert_outcomes(
        passed=1
    )
    said_by(["baseline", "1", "-o", pytester.path / "base.json", "--store", pytester.path / ".ragtriage"])
    session(lines).assert_outcomes(passed=1, errors=1)

    write(pytester.path / "answers.jsonl", [row | {"response": "The fee is 5 euros."} for row in rows])
    ended = session(lines, "-k", "run")
    ended.stdout.fnmatch_lines(["E *assert 'worse' != 'worse'"])


def test_a_decision_model_judges_what_tests_ask_for(session: Session, pytester: pytest.Pytester) -> None:
    needed = """
    @cases("answers.jsonl")
    def test_needed(case):
        assert case.scores["source_precision"] >= 0
    """
    pytester.makeconftest("")
    with Server(Decider(model="m-latest")) as server:
        flags = ("--ragtriage-judge", f"systemone:m-latest@{server.root}")
        refused = session(needed, *flags)
        first = session(needed, *flags, "--ragtriage-network")
        asked = len(server.heard)
        again = session(needed, *flags)

    refused.stdout.fnmatch_lines(["*add --ragtriage-network to ask it*"])
    first.assert_outcomes(passed=2, skipped=1)
    again.assert_outcomes(passed=2, skipped=1)
    assert 0 < asked == len(server.heard)
    with open_store(pytester.path / ".ragtriage") as store:
        (run,) = store.runs()
        assert "+decide:systemone:m-latest" in run.judge
        assert "names another model" in run.configuration["warnings"][0]


def spend(store: Store, rows: str, session: str, cost: float, requests: int) -> None:
    """A process of a session spends something on the run of some rows."""
    number = store.newest(RunIdentity(rows, ()))
    marks = spending_marks(None if number is None else store.run(number).info, session)
    if number is None:
        run = store.begin(RunIdentity(rows, ()), input=rows, rows=0, judge="m", configuration=marks)
    else:
        run = store.resume(number, configuration=marks)
    with run:
        run.count_spending(Amount(cost, requests))


def test_what_others_spent_is_left_out_and_earlier_sessions_are_not(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        spend(store, "a", "yesterday", 5.0, 50)
        spend(store, "a", "today", 0.5, 5)
        spend(store, "a", "today", 0.25, 1)
        spend(store, "b", "today", 0.25, 4)
        budget, ledger = SessionBudget(), Ledger(budget=2.0, max_requests=20)

        budget.leave_room(ledger, store, "today")
        assert (ledger.spent_before, ledger.max_requests) == (1.0, 10)

        ledger.cost, ledger.requests = 0.5, 3  # of which a case that a test made cost nothing
        spend(store, "b", "today", 0.5, 3)
        budget.count_own(0.5, 3)
        budget.leave_room(ledger, store, "today")
        assert (ledger.spent_before, ledger.max_requests) == (1.0, 10)
        assert not ledger.admits(0.6)
