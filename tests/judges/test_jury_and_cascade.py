"""Several judges: a jury votes on what the first one splits, a cascade passes on what the first one is not sure of."""

import asyncio
from dataclasses import replace
from itertools import product

import pytest
from contract import QUESTIONS, Refused, answers, reading, sensible
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.core import questions as ask
from ragtriage.core.errors import ConfigError, JudgeError, Stopped
from ragtriage.core.questions import DECOMPOSITIONS, KINDS
from ragtriage.core.verdicts import Answer, Component, Failure, Verdict
from ragtriage.judges.decision_thresholds import BANDS, Band
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.protocol import Estimate
from ragtriage.judges.wrappers.cached import Cached, InMemory
from ragtriage.judges.wrappers.combined import Cascade, Jury

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


BAND = Band(0.2, 0.8)
EVERY = dict.fromkeys(KINDS, BAND)
PASSED = Verdict("unknown", 0.5, 0.5, "passed on")


def scored(score: float | None, value: str | None = None) -> Answer:
    return Verdict(value or ("yes" if (score or 0.0) >= 0.5 else "no"), score)


def claim(text: str):
    return ask.supported(text, ["Day tickets cost six euros."])


def cascade(first, then=None, bands=EVERY):
    judge = FakeJudge(first) if callable(first) else first
    return Cascade(judge, then or FakeJudge(lambda question: PASSED, name="dear"), bands)


@pytest.mark.parametrize(
    ("answer", "stands"),
    [
        (scored(0.2), True),
        (scored(0.21), False),
        (scored(0.79), False),
        (scored(0.8), True),
        (scored(0.1, "unknown"), False),
        (scored(0.9, "unknown"), False),
        (scored(None, "yes"), False),
        (scored(None, "no"), False),
        (scored(float("nan"), "no"), False),
        (scored(0.1, "yes"), False),
        (scored(0.9, "no"), False),
        (Failure("too long"), False),
        ((Component("x"),), False),
    ],
    ids=str,
)
def test_between_the_bands_ends_and_whatever_is_not_sure_is_passed_on(answer, stands):
    judge = cascade(lambda _: answer)
    assert answers(judge, [claim("a")]) == [answer if stands else PASSED]
    assert (judge.decided, judge.passed_on) == ((1, 0) if stands else (0, 1))


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_a_closed_side_decides_nothing(score):
    judge = cascade(lambda _: scored(score), bands={"supported": Band(-1.0, 2.0)})
    assert answers(judge, [claim("a")]) == [PASSED]


def mixed(question):
    if question.kind in DECOMPOSITIONS:
        return (Component(question.subject),)
    return scored(0.5 if "unsure" in question.subject else 0.9)


def test_what_is_passed_on_of_one_ask_is_asked_together_in_the_order_of_the_questions():
    first = FakeJudge(mixed, shuffled=3, cannot={"declines": "it can't"})
    then = FakeJudge(lambda question: PASSED)
    asked = [claim("unsure 1"), ask.declines("Why?", "No."), claim("sure"), ask.claims("unsure"), claim("unsure 2")]
    found = answers(cascade(first, then), asked)
    assert then.batches == [(asked[0], asked[1], asked[4])]
    assert found == [PASSED, PASSED, scored(0.9), (Component("unsure"),), PASSED]
    assert asked[1] not in first.asked


def test_nothing_is_asked_of_the_dear_judge_where_nothing_is_passed_on():
    then = FakeJudge(lambda question: PASSED)
    answers(cascade(mixed, then), [claim("sure"), ask.claims("unsure")])
    assert then.batches == []


def test_what_is_decided_does_not_wait_for_the_dear_judge():
    async def first_of():
        stream = cascade(mixed, Refused(JudgeError("the key is refused"))).ask([claim("unsure"), claim("sure")])
        found = [await anext(stream)]
        with pytest.raises(JudgeError, match="refused"):
            await anext(stream)
        return found

    assert asyncio.run(first_of()) == [(1, scored(0.9))]


def test_kinds_without_a_band_are_the_first_judges():
    judge = cascade(mixed, bands={"supported": BAND, "claims": Band(-1.0, 2.0), "similarity": Band(-1.0, 2.0)})
    unsure = [ask.declines("Why?", "unsure"), ask.claims("unsure"), ask.similarity("unsure", ("a", "b"))]
    assert answers(judge, unsure) == [mixed(question) for question in unsure]
    assert (judge.decided, judge.passed_on) == (0, 0)


def test_a_band_may_be_for_sources_only():
    of_response = ask.answered("Why?", ["Because."], query="Why?")
    of_source = ask.answered("Why?", ["Because."])
    for responses, expected in ((True, [scored(0.9)] * 2), (False, [PASSED, scored(0.9)])):
        judge = cascade(mixed, bands={"answered": Band(0.2, 0.8, responses=responses)})
        assert answers(judge, [of_response, of_source]) == expected


class Shared(FakeJudge):
    """Three questions in a request."""

    def estimate(self, questions):
        """See `Judge`."""
        return Estimate(-(-len(questions) // 3), 100 * len(questions), 10 * len(questions), 0.5 * len(questions))


def test_what_was_saved_is_counted_by_ask():
    judge = cascade(mixed, Shared(lambda question: PASSED))
    decomposed = [ask.claims("x"), ask.similarity("x", ("y",))]
    answers(judge, [*decomposed, claim("unsure"), claim("sure 1"), claim("sure 2"), claim("sure 3")])
    assert judge.saved == Estimate(1, 300, 30, 1.5)
    answers(judge, [claim("unsure"), claim("sure")])
    answers(judge, [claim("unsure")])
    assert judge.saved == Estimate(1, 400, 40, 2.0)
    assert (judge.decided, judge.passed_on) == (4, 3)


def test_an_unknown_price_stays_unknown():
    class Unpriced(FakeJudge):
        def estimate(self, questions):
            return replace(super().estimate(questions), price=None)

    judge = cascade(mixed, Unpriced(mixed))
    answers(judge, [claim("sure")])
    assert judge.saved.price is None
    assert judge.saved.requests == 1


def test_the_estimate_is_the_most_that_it_takes():
    first, then = FakeJudge(mixed, cannot={"declines": "it can't"}), FakeJudge(mixed)
    asked = [claim("a"), ask.declines("Why?", "No."), ask.claims("b")]
    expected = first.estimate([asked[0], asked[2]]) + then.estimate(asked[:2])
    assert cascade(first, then, {"supported": BAND}).estimate(asked) == expected


def test_who_is_asked_says_what_can_be_done():
    first = FakeJudge(mixed, cannot={"declines": "it can't", "de": "no German"})
    then = FakeJudge(mixed, cannot={"fr": "no French", "facts": "no facts"})
    judge = cascade(first, then, {"supported": BAND})
    assert judge.unsupported_reason("supported", "en") is None
    assert judge.unsupported_reason("supported", "de") == "no German"
    assert judge.unsupported_reason("supported", "fr") == "no French"
    assert judge.unsupported_reason("essential", "fr") is None
    assert judge.unsupported_reason("facts", "en") is None
    assert judge.unsupported_reason("declines", "de") is None
    assert judge.unsupported_reason("declines", "fr") == "no French"


def test_the_fingerprint_is_of_whom_an_answer_depends_on():
    def made(one="1", two="1", band=BAND):
        return cascade(
            FakeJudge(mixed, version=one, cannot={"declines": "it can't"}),
            FakeJudge(mixed, version=two),
            {"supported": band},
        )

    others = [made(one="2"), made(two="2"), made(band=Band(0.2, 0.7)), made(band=Band(0.2, 0.8, responses=False))]
    for kind, same in {
        "supported": [False, False, False, False],
        "claims": [False, True, True, True],
        "declines": [True, False, True, True],
    }.items():
        assert [judge.fingerprint(kind) == made().fingerprint(kind) for judge in others] == same
    assert made().name() == "fake, then fake"


@pytest.mark.parametrize(
    ("text", "band"),
    [
        ("0.2:0.8", Band(0.2, 0.8)),
        (" .2 : 1 ", Band(0.2, 1.0)),
        ("0.5:0.5", Band(0.5, 0.5)),
        (":0.8", Band(-1.0, 0.8)),
        ("0.2:", Band(0.2, 2.0)),
    ],
)
def test_a_band_is_read_as_a_user_gives_it(text, band):
    assert Band.parse(text) == band


@pytest.mark.parametrize("text", ["", ":", "0.2", "0.8:0.2", "0:0.5:1", "a:b", "-0.1:0.5", "0.2:1.1", "nan:1", "0:nan"])
def test_another_text_is_refused(text):
    with pytest.raises(ConfigError, match=r"isn't LOW:HIGH with 0 ≤ LOW ≤ HIGH ≤ 1, for example 0\.2:0\.8"):
        Band.parse(text)


@given(st.text(max_size=12))
def test_any_text_is_a_band_or_refused(text):
    try:
        band = Band.parse(text)
    except ConfigError:
        return
    assert band.low <= band.high


def test_the_shipped_bands_decide_only_where_a_verdict_says_the_same():
    for kind, band in BANDS.items():
        assert kind not in (*DECOMPOSITIONS, "similarity")
        assert band.low < 0.5 <= band.high
