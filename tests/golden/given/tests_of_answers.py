"""Tests of every sort: they pass, fail, are skipped, and read the whole run."""

from ragtriage.testing import assert_grounded, assert_score, cases


@cases("answers.jsonl")
def test_grounded(case):
    assert_grounded(case)


@cases("answers.jsonl", tags={"topic": "tickets"})
def test_score(case):
    assert_score(case, response_query_coverage=0.5)
    assert case.scores["groundedness"] >= 0.2


@cases([{"query": "May I?", "sources": ["You may."], "response": "You may. The fee is high."}])
def test_value(case):
    assert case.scores["groundedness"] == 0.5


def test_run(ragtriage_run):
    run = ragtriage_run("answers.jsonl")
    assert run.share("unsupported_claims") <= 0.5
    assert run.mean("groundedness") >= 0.9


def test_compared(ragtriage_run):
    gate = ragtriage_run("answers.jsonl").compare("ragtriage-baseline.json").gate("groundedness", margin=0.03)
    assert gate == "no worse"
