"""Several judges vote; the first one says what about."""

import asyncio
from itertools import product

import pytest
from contract import QUESTIONS, Refused, answers, reading, sensible
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.core import questions as ask
from ragtriage.core.errors import ConfigError, JudgeError, Stopped
from ragtriage.core.questions import DECOMPOSITIONS, KINDS
from ragtriage.core.verdicts import Component, Failure, Verdict
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.wrappers import Cached, InMemory, Jury

QUESTION = ask.supported("Dogs travel free.", ["Dogs travel free if they sit on a lap."])


def saying(*said, name="abcdefgh"):
    """One judge for each answer: a value, a verdict or a failure."""
    own = [Verdict(one) if isinstance(one, str) else one for one in said]
    return [FakeJudge(lambda _, one=one: one, name=letter) for letter, one in zip(name, own, strict=False)]


def verdict(*said):
    return answers(Jury(saying(*said)), [QUESTION])[0]


TOO_LONG = Failure("too long")


@pytest.mark.parametrize(
    ("said", "value", "score", "confidence"),
    [
        (("yes", "yes", "no"), "yes", 2 / 3, 2 / 3),
        (("no", "yes", "no"), "no", 1 / 3, 2 / 3),
        (("no", "no", "no"), "no", 0.0, 1.0),
        (("yes", "no"), "unknown", 0.5, None),
        (("yes", "unknown", "unknown"), "yes", 1.0, 1 / 3),
        (("yes", "no", "unknown"), "unknown", 0.5, None),
        (("unknown", "unknown", "unknown"), "unknown", None, None),
        (("yes", TOO_LONG, TOO_LONG), "yes", 1.0, 1 / 3),
        (("no", TOO_LONG, "yes"), "unknown", 0.5, None),
        (("unknown", TOO_LONG, TOO_LONG), "unknown", None, None),
    ],
    ids=str,
)
def test_the_majority_of_the_votes_counts(said, value, score, confidence):
    found = verdict(*said)
    assert isinstance(found, Verdict)
    assert (found.value, found.score, found.confidence) == (value, score, confidence)


def test_when_all_failed_it_is_a_failure_that_names_them():
    found = verdict(Failure("too long"), Failure("refused"))
    assert found == Failure("no judge of the jury gave a verdict: a: failed, too long · b: failed, refused")


VOTE = st.sampled_from(["yes", "no", "unknown", TOO_LONG])


@given(st.lists(VOTE, min_size=1, max_size=5))
def test_the_verdict_does_not_depend_on_the_order_of_the_judges(said):
    one, two = verdict(*said), verdict(*said[::-1])
    assert type(one) is type(two)
    if isinstance(one, Verdict) and isinstance(two, Verdict):
        assert (one.value, one.score, one.confidence, one.sure) == (two.value, two.score, two.confidence, two.sure)


def test_every_judge_is_named_with_its_verdict_and_its_words():
    found = verdict(Verdict("no", explanation="the source\n says  1856"), "yes", Verdict("no", explanation="w " * 200))
    assert found.explanation.startswith("a: no, the source says 1856 · b: yes · c: no, w w w")
    assert found.explanation.endswith("w …")
    assert len(found.explanation) < 250


def test_the_flag_of_any_judge_is_kept_once():
    flag = "the quote isn't in the source"
    found = verdict(Verdict("yes", flag=flag), "no", Verdict("yes", flag=flag), Verdict("no", flag="odd"), "no")
    assert found.flag == f"{flag}; odd"
    assert found.value == "no"


SURE, SEEN = Verdict("no"), Verdict("no", contradicted=True)
DOUBTED, NOT_SO = Verdict("no", sure=False), Verdict("yes", sure=False)


@pytest.mark.parametrize(
    ("said", "sure", "contradicted"),
    [
        ((SURE, DOUBTED, "yes"), True, False),
        ((DOUBTED, DOUBTED, "yes"), False, False),
        ((SURE, SURE, NOT_SO), True, False),
        ((SEEN, "no", "yes"), True, True),
        ((SEEN, "yes", "yes"), True, False),
        ((SEEN, "yes"), None, False),
        (("no", TOO_LONG, TOO_LONG), False, False),
    ],
    ids=["one is sure", "none is", "the outvoted isn't", "one saw it", "it was outvoted", "a draw", "less than half"],
)
def test_a_verdict_is_sure_or_contradicted_if_one_of_the_winners_says_so(said, sure, contradicted):
    """What less than half of the jury says is to be checked."""
    found = verdict(*said)
    assert found.contradicted is contradicted
    assert sure is None or found.sure is sure


def test_components_and_similarities_are_the_first_judges():
    one, two = FakeJudge(sensible, name="a"), FakeJudge(sensible, name="b")
    answers(Jury([one, two]), QUESTIONS)
    assert one.asked == list(QUESTIONS)
    assert two.asked == [q for q in QUESTIONS if q.kind not in (*DECOMPOSITIONS, "similarity")]


def test_a_judge_that_cannot_do_a_kind_has_no_vote_on_it():
    no, yes, other = saying("no", "yes", "no")
    unable = FakeJudge(lambda _: Verdict("no"), name="d", cannot={"supported": "it can't read"})
    found = answers(Jury([yes, unable]), [QUESTION])[0]
    assert (found.value, found.confidence) == ("yes", 1.0)
    assert unable.asked == []
    assert Jury([yes, unable]).unsupported_reason("supported", "en") is None
    assert Jury([unable, no, other]).unsupported_reason("supported", "en") == "it can't read"


def test_all_who_vote_must_know_the_language():
    first, second = FakeJudge(sensible), FakeJudge(sensible, cannot={"de": "no German"})
    assert Jury([first, second]).unsupported_reason("supported", "de") == "no German"
    assert Jury([first, second]).unsupported_reason("claims", "de") is None
    assert Jury([first, second]).unsupported_reason("supported", "en") is None


def test_what_is_asked_is_estimated_of_each():
    one, two = saying("yes", "no")
    jury = Jury([one, two])
    voted = [q for q in QUESTIONS if q.kind not in (*DECOMPOSITIONS, "similarity")]
    assert jury.estimate(QUESTIONS) == one.estimate(QUESTIONS) + two.estimate(voted)


def test_a_jury_is_named_after_all_and_has_one_at_least():
    assert Jury(saying("yes", "no")).name() == "majority of a, b"
    with pytest.raises(ConfigError, match="at least one judge"):
        Jury([])


def test_the_fingerprint_is_of_all_who_are_asked():
    def jury(*versions, cannot=None):
        return Jury([FakeJudge(sensible, version=version, cannot=cannot) for version in versions])

    assert jury("1", "2").fingerprint("supported") != jury("1", "3").fingerprint("supported")
    assert jury("1", "2").fingerprint("supported") != jury("1").fingerprint("supported")
    for kind in (*DECOMPOSITIONS, "similarity"):
        assert jury("1", "2").fingerprint(kind) == jury("1", "3").fingerprint(kind)
    assert len({jury("1", "2").fingerprint(kind) for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize("error", [JudgeError("the key is refused"), Stopped("the budget is spent")])
@pytest.mark.parametrize("place", [0, 1])
def test_an_error_of_one_is_raised_after_the_others_kept_their_answers(error, place):
    memory = InMemory()
    judges = [Cached(FakeJudge(sensible, delay=0.001), memory, durable=True)]
    judges.insert(place, Refused(error))
    voted = [question for question in QUESTIONS if question.kind not in (*DECOMPOSITIONS, "similarity")]

    found: list[int] = []
    with pytest.raises(type(error), match=str(error)):
        asyncio.run(reading(Jury(judges), voted, found))
    assert found == []
    assert len(memory.entries) == len(voted)


def test_a_verdict_comes_with_its_last_vote():
    quick, slow = FakeJudge(sensible), FakeJudge(sensible, delay=0.005)

    async def come():
        order = []
        async for position, _ in Jury([quick, slow]).ask([QUESTIONS[4], QUESTIONS[0]]):
            order.append((position, len(slow.asked)))
        return order

    assert [position for position, _ in asyncio.run(come())] == [1, 0]


def test_components_in_place_of_a_vote_are_no_vote():
    wrong = FakeJudge(lambda _: (Component("x"),), name="b")
    found = answers(Jury([*saying("yes"), wrong]), [QUESTION])[0]
    assert (found.value, found.confidence) == ("yes", 0.5)
    assert "b: failed, it gave components" in found.explanation


def test_every_combination_of_three_votes_agrees_with_counting():
    for said in product(["yes", "no", "unknown"], repeat=3):
        yes, no = said.count("yes"), said.count("no")
        assert verdict(*said).value == ("yes" if yes > no else "no" if no > yes else "unknown")
