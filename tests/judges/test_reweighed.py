"""Chances at another base rate or none at all, and those that a user's decision threshold leaves."""

from collections.abc import Mapping
from typing import Any

import pytest
from contract import CHECKS, QUESTIONS, Candidate, answers
from test_fake import BROKEN, sensible

from ragtriage.core.questions import KINDS, essential, supported
from ragtriage.core.verdicts import Answer, Component, Failure, Verdict
from ragtriage.judges.build import build_judge
from ragtriage.judges.decision_thresholds import BASE_RATES, WITHOUT_PROBABILITY, DecisionThreshold
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers import Cached, Changed, InMemory
from ragtriage.judges.wrappers.combined import rethresholded

HIGH = {"supported": 0.9}
SUPPORTED = supported("Cats purr.", ("Cats purr.",))
ESSENTIAL = essential("Do cats purr?", "Cats purr.")
EVEN = Verdict("yes", 0.5, 0.5, "because", chance=0.5)


def reweighed(answer: Answer, base_rates: Mapping[str, float] = HIGH, *, binary: bool = False) -> Verdict:
    (found,) = answers(Changed(FakeJudge(lambda _: answer), {}, base_rates, binary=binary), [SUPPORTED])
    assert isinstance(found, Verdict)
    return found


def built(name: str, **parts: Any) -> str:
    """The fingerprint of a judge of this name; no model is asked."""
    options = LLMOptions(base_url="http://localhost:1/v1") if name != "embedded" else LLMOptions()
    return build_judge(JudgeSession.of(JudgeConfig((name,), options=options, **parts))).judge.fingerprint("supported")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("binary", [True, False])
def test_contract(check, binary: bool) -> None:
    check(Candidate(lambda: Changed(FakeJudge(sensible), {}, HIGH, binary=binary), failing=BROKEN))


def test_more_yes_is_expected_so_even_odds_become_better_ones() -> None:
    # the odds of .79 are .79 / .21 = 3.7619, those of .9 are 9; 9 / 3.7619 = 2.3924 to 1 is .7052
    found = reweighed(EVEN)

    assert BASE_RATES["supported"] == 0.79
    assert found.chance == pytest.approx(0.7052, abs=0.00005)
    assert (found.value, found.score, found.confidence, found.explanation) == ("yes", 0.5, found.chance, "because")


@pytest.mark.parametrize(
    ("chance", "rate", "moved", "value", "sure"),
    [
        (0.4, 0.9, 0.6146, "yes", True),  # .6667 · 2.3924 = 1.5949 to 1
        (0.6, 0.5, 0.2851, "no", False),  # 1.5 · .2658 = .3987 to 1
        (0.3, 0.5, 0.1023, "no", True),  # .4286 · .2658 = .1139 to 1
        (0.6, 0.79, 0.6, "yes", True),
    ],
)
def test_a_verdict_turns_over_where_its_chance_crosses_a_half(
    chance: float, rate: float, moved: float, value: str, sure: bool
) -> None:
    before = Verdict("yes" if chance >= 0.5 else "no", chance, 0.6, sure=True, chance=chance)
    found = reweighed(before, {"supported": rate})

    assert found.chance == pytest.approx(moved, abs=0.00005)
    assert (found.value, found.sure) == (value, sure)


@pytest.mark.parametrize(
    "answer", [Verdict("yes", 0.6, 0.6), Verdict("unknown", 0.4), Verdict("no", 0.0, 1.0, chance=0.0)]
)
def test_what_has_no_chance_or_is_certain_stays(answer: Verdict) -> None:
    assert reweighed(answer) == answer


def test_failures_components_and_other_kinds_stay() -> None:
    judge = Changed(FakeJudge(lambda _: EVEN), {}, HIGH)

    assert answers(judge, [ESSENTIAL, SUPPORTED])[0] == EVEN
    for answer in (Failure("too long"), (Component("Cats purr."),)):
        assert answers(Changed(FakeJudge(lambda _, a=answer: a), {}, HIGH, binary=True), [SUPPORTED]) == [answer]


def test_binary_drops_the_chances_after_they_were_moved() -> None:
    assert reweighed(EVEN, {}, binary=True) == Verdict("yes", 0.5, 0.5, "because")
    found = reweighed(Verdict("no", 0.4, 0.6, chance=0.4), binary=True)

    assert (found.value, found.chance) == ("yes", None)


def test_the_rate_is_part_of_its_kinds_fingerprint_alone_and_binary_of_every_verdicts() -> None:
    inner = FakeJudge(sensible)
    one, other, binary = (
        Changed(inner, {}, HIGH),
        Changed(inner, {}, {"supported": 0.5}),
        Changed(inner, {}, {}, binary=True),
    )

    assert len({judge.fingerprint("supported") for judge in (inner, one, other, binary)}) == 4
    assert one.fingerprint("essential") == inner.fingerprint("essential")
    changed = {kind for kind in KINDS if binary.fingerprint(kind) != inner.fingerprint(kind)}
    assert changed == set(KINDS) - set(WITHOUT_PROBABILITY)


def test_the_rest_is_the_inner_judges() -> None:
    inner = FakeJudge(sensible, name="inner", cannot={"de": "no German"})
    judge = Changed(inner, {}, HIGH)

    assert (judge.name(), judge.unsupported_reason("supported", "de")) == ("inner", "no German")
    assert judge.estimate(QUESTIONS) == inner.estimate(QUESTIONS)


def test_another_rate_asks_nothing_again() -> None:
    inner, memory = FakeJudge(lambda _: EVEN), InMemory()
    found = [answers(Changed(Cached(inner, memory), {}, {"supported": rate}), [SUPPORTED])[0] for rate in (0.9, 0.5)]

    assert len(inner.asked) == 1
    assert found[0] != found[1]


def test_a_base_rate_is_for_the_embedded_judge_and_binary_for_every_one() -> None:
    plain, moved, binary = (
        [built(name, **parts) for name in ("embedded", "openai:m")]
        for parts in ({}, {"base_rates": HIGH}, {"matching": "binary"})
    )

    assert [one != other for one, other in zip(plain, moved, strict=True)] == [True, False]
    assert [one != other for one, other in zip(plain, binary, strict=True)] == [True, True]


@pytest.mark.parametrize(
    ("score", "chance"),
    [(0.6, 0.5), (0.9, 0.8571), (0.2, 0.1429), (1.0, 1.0), (0.0, 0.0), (0.5, None)],
)
def test_at_a_decision_threshold_the_odds_are_even(score: float, chance: float | None) -> None:
    # .6 are 1.5 to 1, so .9, 9 to 1, becomes 6 to 1; between the two ends it is unknown
    found = rethresholded(Verdict("yes", score, 0.9, chance=score), DecisionThreshold(0.6, 0.4, "fake"))

    assert isinstance(found, Verdict)
    assert found.chance == (None if chance is None else pytest.approx(chance, abs=0.00005))


@pytest.mark.parametrize("cut", [0.0, 1.0])
def test_a_threshold_at_an_end_is_taken_at_its_word(cut: float) -> None:
    judge = Changed(FakeJudge(lambda _: EVEN), {"supported": DecisionThreshold(cut, cut, "fake")})

    assert [one.chance for one in answers(judge, [SUPPORTED]) if isinstance(one, Verdict)] == [None]
    assert rethresholded(Verdict("yes", 0.7, 0.7), DecisionThreshold(0.6, 0.4)) == Verdict("yes", 0.7, 0.7)
