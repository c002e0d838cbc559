"""The first judge decides what it is sure of; the rest is passed on together."""

import asyncio
from dataclasses import replace

import pytest
from contract import Refused, answers
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.core import questions as ask
from ragtriage.core.errors import ConfigError, JudgeError
from ragtriage.core.questions import DECOMPOSITIONS, KINDS
from ragtriage.core.verdicts import Answer, Component, Failure, Verdict
from ragtriage.judges.decision_thresholds import BANDS, Band
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.protocol import Estimate
from ragtriage.judges.wrappers import Cascade

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
