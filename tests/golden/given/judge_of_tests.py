"""A fake judge for tests of answers: what mentions a fee isn't supported, and a crash can't be judged."""

from ragtriage import Component, Failure, FakeJudge, Verdict
from ragtriage.testing import use_judge

PARTS = {"claims", "facts", "questions", "sentences"}


def answer(question):
    text = question.subject
    if question.kind in PARTS:
        if question.kind == "claims" and "Thanks" in text:
            return ()
        return tuple(Component(f"{one}.") for one in text.rstrip(".").split(". "))
    if question.kind == "supported" and "crash" in text:
        return Failure("the judge is ill")
    no = "fee" in text or question.kind in {"declines", "similarity"}
    return Verdict("no" if no else "yes", 0.1 if no else 0.9, 0.9, "no source says so" if no else "")


def pytest_configure(config):
    use_judge(config, FakeJudge(answer))
