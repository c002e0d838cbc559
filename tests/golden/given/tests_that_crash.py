"""A test of a case that the judge can't judge: an error, and no failure."""

from ragtriage.testing import assert_grounded, cases


@cases([{"query": "May I?", "sources": ["You may."], "response": "You may. It will crash."}])
def test_crash(case):
    assert_grounded(case)
