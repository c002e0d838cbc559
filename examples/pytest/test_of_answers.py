"""The answers in answers.jsonl, held against their sources."""

from ragtriage.testing import assert_grounded, assert_score, cases


@cases("answers.jsonl", tags={"topic": ["tickets", "luggage"]})
def test_answer_is_grounded(case):
    assert_grounded(case)


@cases("answers.jsonl", tags={"topic": "luggage"})
def test_luggage_is_answered(case):
    assert_score(case, response_query_coverage=0.8)
    assert case.scores["groundedness"] >= 0.8
    assert "€" not in case.query


def test_file_as_a_whole(ragtriage_run):
    run = ragtriage_run("answers.jsonl")
    assert run.mean("groundedness") >= 0.8
    assert run.share("unsupported_claims") <= 0.15
