"""A judge whose chances a user changes: by a decision threshold, a curve or a base rate, or to none at all."""

from pathlib import Path
from typing import Any

import pytest
from contract import answers, sensible

from ragtriage.config import judge_config, read_settings
from ragtriage.core.errors import ConfigError
from ragtriage.core.questions import KINDS, Question, essential, supported
from ragtriage.core.verdicts import Answer, Component, Failure, Verdict
from ragtriage.judges.build import build_judge
from ragtriage.judges.decision_thresholds import (
    BANDS,
    BASE_RATES,
    WITHOUT_PROBABILITY,
    ChanceCurve,
    DecisionThreshold,
    without_threshold,
)
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers.cached import Cached, InMemory
from ragtriage.judges.wrappers.combined import Changed, rethresholded

SUPPORTED = supported("Cats purr.", ("Cats purr.",))
ESSENTIAL = essential("Do cats purr?", "Cats purr.")
THRESHOLD = DecisionThreshold(0.6, 0.3, "fake")
PLATT = ChanceCurve("fake", a=0.5, b=-1.0, rate=0.6)
POINTS = ChanceCurve("fake", points=((0.2, 0.1), (0.6, 0.5), (0.7, 0.9)))
HIGH = {"supported": 0.9}
EVEN = Verdict("yes", 0.5, 0.5, "because", chance=0.5)
DECIDER = "embedded+decide:systemone:kev@http://127.0.0.1:1"
TABLE = f'[chance_curves.supported]\njudge = "{DECIDER}"\n'


def changed(inner: FakeJudge | Cached, *, binary: bool = False, **of: Any) -> Changed:
    """By a `threshold`, a `curve` and a `rate` of supported."""
    threshold, curve, rate = ({"supported": of[name]} if name in of else {} for name in ("threshold", "curve", "rate"))
    return Changed(inner, threshold, rate, curve, binary=binary)


def told(answer: Answer, **of: Any) -> Verdict:
    (found,) = answers(changed(FakeJudge(lambda _: answer), **of), [SUPPORTED])
    assert isinstance(found, Verdict)
    return found


def built(*names: str, **parts: Any) -> Any:
    """A judge of these names; no model is asked."""
    options = LLMOptions(base_url="http://localhost:1/v1") if "openai:m" in names else LLMOptions()
    return build_judge(JudgeSession.of(JudgeConfig(names or ("embedded",), options=options, **parts)))


def written(folder: Path, text: str) -> Path:
    path = folder / "ragtriage.toml"
    path.write_text(text, encoding="utf-8")
    return path


# of each change alike


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"threshold": THRESHOLD}, {"threshold": DecisionThreshold(0.7, 0.7, "fake")}),
        ({"curve": PLATT}, {"curve": POINTS}),
        ({"rate": 0.9}, {"rate": 0.5}),
    ],
    ids=["threshold", "curve", "rate"],
)
def test_a_change_is_part_of_its_kinds_fingerprint_alone_and_asks_nothing_again(one: Any, other: Any) -> None:
    inner, memory = FakeJudge(lambda _: Verdict("yes", 0.65, 0.65, chance=None if "curve" in one else 0.65)), InMemory()
    judges = [changed(Cached(inner, memory), **of) for of in (one, other)]

    assert answers(judges[0], [SUPPORTED]) != answers(judges[1], [SUPPORTED])
    assert len(inner.asked) == 1
    assert len({judge.fingerprint("supported") for judge in (inner, *judges)}) == 3
    assert judges[0].fingerprint("essential") == inner.fingerprint("essential")
    assert answers(judges[0], [ESSENTIAL]) == answers(inner, [ESSENTIAL])
    assert "rate" in one or without_threshold(judges[0].fingerprint("supported")) == inner.fingerprint("supported")


@pytest.mark.parametrize("answer", [Failure("too long"), (Component("Cats purr."),)], ids=["failure", "components"])
def test_failures_and_components_stay(answer: Answer) -> None:
    for of in ({"threshold": THRESHOLD}, {"curve": PLATT}, {"rate": 0.9, "binary": True}):
        assert answers(changed(FakeJudge(lambda _: answer), **of), [SUPPORTED]) == [answer]


@pytest.mark.parametrize(
    ("of", "answer"),
    [
        ({"threshold": THRESHOLD}, Verdict("yes")),
        ({"threshold": THRESHOLD}, Verdict("no", 0.1, 0.8)),
        ({"curve": PLATT}, Verdict("unknown", 0.5)),
        ({"curve": PLATT}, Verdict("yes", 0.9, 0.7, chance=0.7)),
        ({"rate": 0.9}, Verdict("yes", 0.6, 0.6)),
        ({"rate": 0.9}, Verdict("unknown", 0.4)),
        ({"rate": 0.9}, Verdict("no", 0.0, 1.0, chance=0.0)),
    ],
)
def test_a_verdict_without_what_is_changed_stays(of: Any, answer: Verdict) -> None:
    assert told(answer, **of) == answer


@pytest.mark.parametrize(
    "of", [{"threshold": DecisionThreshold(0.6, 0.3, "fake", "old")}, {"curve": ChanceCurve("fake", "old", 1.0, 0.0)}]
)
def test_what_was_fitted_for_another_version_of_the_judge_is_refused(of: dict[str, Any]) -> None:
    table = r"\[(?:decision_thresholds|chance_curves).supported\]"
    with pytest.raises(ConfigError, match=rf"{table} was fitted for fake as old, and it is .* now.*calibrate again"):
        changed(FakeJudge(sensible), **of)


def test_of_a_threshold_and_a_curve_of_this_version_the_threshold_goes_first() -> None:
    judge = FakeJudge(sensible, name="m-2")
    own = judge.fingerprint("supported")
    both = changed(judge, threshold=DecisionThreshold(0.6, 0.6), curve=ChanceCurve("fake", own, 1.0, 0.0))
    thresholds = {"supported": DecisionThreshold(0.7, 0.7, DECIDER)}
    alone = built(DECIDER, decision_thresholds=thresholds)
    beside = built(
        DECIDER, decision_thresholds=thresholds, chance_curves={"supported": ChanceCurve(DECIDER, a=1.0, b=0.0)}
    )

    assert without_threshold(both.fingerprint("supported")) == own
    assert beside.judge.fingerprint("supported") == alone.judge.fingerprint("supported")
    assert beside.counting == alone.counting


# decision thresholds


@pytest.mark.parametrize(
    ("score", "value"), [(0.29, "no"), (0.3, "unknown"), (0.59, "unknown"), (0.6, "yes"), (1.0, "yes")]
)
def test_verdicts_change_at_the_cuts(score: float, value: str) -> None:
    found = rethresholded(Verdict("unknown", score, 0.5, "because"), THRESHOLD)

    assert isinstance(found, Verdict)
    assert (found.value, found.score, found.explanation) == (value, score, "because")


def test_a_verdict_that_stays_is_untouched_and_a_new_no_is_to_be_checked() -> None:
    same = Verdict("no", 0.1, 0.8)

    assert rethresholded(same, THRESHOLD) is same
    assert rethresholded(Verdict("yes", 0.2, 0.8), THRESHOLD) == Verdict("no", 0.2, 0.8, sure=False)


@pytest.mark.parametrize(
    ("score", "chance"), [(0.6, 0.5), (0.9, 0.8571), (0.2, 0.1429), (1.0, 1.0), (0.0, 0.0), (0.5, None)]
)
def test_at_a_decision_threshold_the_odds_are_even(score: float, chance: float | None) -> None:
    # .6 are 1.5 to 1, so .9, 9 to 1, becomes 6 to 1; between the two ends it is unknown
    found = rethresholded(Verdict("yes", score, 0.9, chance=score), DecisionThreshold(0.6, 0.4, "fake"))

    assert isinstance(found, Verdict)
    assert found.chance == (None if chance is None else pytest.approx(chance, abs=0.00005))


@pytest.mark.parametrize("cut", [0.0, 1.0])
def test_a_threshold_at_an_end_is_taken_at_its_word(cut: float) -> None:
    assert told(EVEN, threshold=DecisionThreshold(cut, cut, "fake")).chance is None
    assert rethresholded(Verdict("yes", 0.7, 0.7), DecisionThreshold(0.6, 0.4)) == Verdict("yes", 0.7, 0.7)


def test_a_cut_holds_for_the_judge_that_it_names() -> None:
    own, other = (
        built(decision_thresholds={"supported": DecisionThreshold(0.6, 0.3, name)}).judge.fingerprint("supported")
        for name in ("embedded", "openai:m")
    )

    assert "+threshold-0.3-0.6" in own
    assert "+threshold" not in other


def test_settings_hold_cuts_and_bands(tmp_path: Path) -> None:
    settings = read_settings(
        written(
            tmp_path,
            '[decision_thresholds.supported]\njudge = "embedded"\nyes = 0.6\nno = 0.3\n[bands]\nsupported = "0.1:"\n',
        )
    )
    choice = JudgeConfig(("openai:m",), cascade="shipped", own_bands=settings.bands)

    assert settings.decision_thresholds == {"supported": DecisionThreshold(0.6, 0.3, "embedded")}
    assert (choice.bands()["supported"].low, choice.bands()["supported"].high) == (0.1, 2.0)
    assert choice.bands()["relevant"] == BANDS["relevant"]


def test_a_band_of_ones_own_decides_and_a_wrong_one_is_said_before_anything_is_asked() -> None:
    def decided(question: Question, **own: str) -> bool:
        choice = JudgeConfig(("openai:m",), cascade="shipped", own_bands=own)
        return choice.bands()[question.kind].decides(question, Verdict("no", 0.12))

    assert decided(SUPPORTED)
    assert not decided(SUPPORTED, supported="0.1:")
    with pytest.raises(ConfigError, match="LOW:HIGH"):
        decided(SUPPORTED, supported="0.9:0.1")
    with pytest.raises(ConfigError, match="no band for 'holds'"):
        decided(SUPPORTED, holds="0.1:0.9")


# curves


@pytest.mark.parametrize(
    ("curve", "p", "chance"),
    [
        (PLATT, 0.9, 0.5246),  # logit 2.1972, half of it less 1: .0986
        (PLATT, 0.5, 0.2689),  # σ(−1)
        (PLATT, 1.0, 0.8384),  # as .995: logit 5.2933, 1.6466
        (PLATT, 0.999, 0.8384),
        (PLATT, 0.0, 0.0254),  # as .005: −3.6466
        *(
            (POINTS, p, at)
            for p, at in ((0, 0.1), (0.2, 0.1), (0.3, 0.2), (0.6, 0.5), (0.65, 0.7), (0.7, 0.9), (1, 0.9))
        ),
    ],
)
def test_platts_curve_stretches_and_moves_the_log_odds_and_points_are_joined_by_lines_and_level_beyond(
    curve: ChanceCurve, p: float, chance: float
) -> None:
    assert curve.at(p) == pytest.approx(chance, abs=0.00005)


def test_the_chance_decides_the_verdict_and_the_score_stays() -> None:
    found = told(Verdict("yes", 0.8, 0.8, "because"), curve=PLATT)  # logit 1.3863: σ(−.3069)
    binary = told(Verdict("yes", 0.8, 0.8), curve=PLATT, binary=True)

    assert found == Verdict("no", 0.8, 1 - found.chance, "because", sure=False, chance=pytest.approx(0.4239, abs=5e-5))
    assert told(Verdict("no", 0.05, 0.95), curve=PLATT).sure
    assert (binary.value, binary.chance) == ("no", None)


def test_a_verdict_without_a_probability_is_one_of_1_or_0() -> None:
    two = ChanceCurve("fake", points=((0.0, 0.12), (1.0, 0.97)))

    assert [told(Verdict(value), curve=two).chance for value in ("yes", "no")] == [0.97, 0.12]


def test_a_base_rate_moves_the_odds_from_those_of_the_labels() -> None:
    # .2689 is .3679 to 1; .6 is 1.5 to 1 and .8 is 4 to 1, so it becomes .9810 to 1
    half = Verdict("yes", 0.5, 0.5)

    assert told(half, curve=PLATT, rate=0.8).chance == pytest.approx(0.4952, abs=5e-5)
    assert told(half, curve=PLATT, rate=0.6).chance == pytest.approx(0.2689, abs=5e-5)
    with pytest.raises(ConfigError, match=r"\[chance_curves.supported\] lacks .* rate, .*: calibrate again"):
        told(half, curve=POINTS, rate=0.8)


def test_a_kind_with_a_curve_is_not_called_uncalibrated() -> None:
    raw, one = built(DECIDER), built(DECIDER, chance_curves={"supported": ChanceCurve(DECIDER, a=1.0, b=0.0)})
    other = built(DECIDER, chance_curves={"supported": ChanceCurve("embedded", a=1.0, b=0.0)})

    assert "supported" in raw.counting
    assert raw.counting.startswith("uncalibrated: ")
    assert one.counting.startswith("supported known from labels, uncalibrated: ")
    assert "supported" not in one.counting.partition("uncalibrated")[2]
    assert other.counting == raw.counting


def test_a_base_rate_needs_a_curve_where_scores_are_not_calibrated() -> None:
    curves = {"supported": ChanceCurve(DECIDER, a=1.0, b=0.0, rate=0.6)}

    with pytest.raises(ConfigError, match=r"base rate of supported .* those of embedded\+decide:.* fit a curve"):
        built(DECIDER, base_rates=HIGH)
    moved, plain = (built(DECIDER, chance_curves=curves, base_rates=rates) for rates in (HIGH, {}))
    assert moved.judge.fingerprint("supported") != plain.judge.fingerprint("supported")


def test_a_base_rate_that_is_typed_needs_something_to_move(tmp_path: Path) -> None:
    given = {"judge": (DECIDER,), "base_rates": HIGH}
    settings = read_settings(written(tmp_path, TABLE + "a = 1\nb = 0\nrate = 0.6\n"))

    assert judge_config(settings, given).base_rates == HIGH
    with pytest.raises(ConfigError, match="--base-rate answered: there is no chance to move"):
        judge_config(settings, {**given, "base_rates": {"answered": 0.9}})
    assert BASE_RATES.keys() == {"supported", "answered"}


@pytest.mark.parametrize(
    ("table", "curve"),
    [
        (
            TABLE + 'fingerprint = "m-1"\na = 0.5\nb = -1\nrate = 0.6\n',
            {"supported": ChanceCurve(DECIDER, "m-1", 0.5, -1.0, rate=0.6)},
        ),
        (
            TABLE + "points = [[0, 0.1], [1, 0.9]]\n",
            {"supported": ChanceCurve(DECIDER, points=((0.0, 0.1), (1.0, 0.9)))},
        ),
        (TABLE.replace("supported", "declines") + "a = 1\nb = 0\n", {"declines": ChanceCurve(DECIDER, a=1.0, b=0.0)}),
    ],
    ids=["Platt's", "points", "of refusals"],
)
def test_curves_are_read_from_the_settings(tmp_path: Path, table: str, curve: dict[str, ChanceCurve]) -> None:
    assert read_settings(written(tmp_path, table)).chance_curves == curve


# base rates, and no chances at all


def test_more_yes_is_expected_so_even_odds_become_better_ones() -> None:
    # the odds of .79 are .79 / .21 = 3.7619, those of .9 are 9; 9 / 3.7619 = 2.3924 to 1 is .7052
    found = told(EVEN, rate=0.9)

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
    found = told(Verdict("yes" if chance >= 0.5 else "no", chance, 0.6, sure=True, chance=chance), rate=rate)

    assert found.chance == pytest.approx(moved, abs=0.00005)
    assert (found.value, found.sure) == (value, sure)


def test_binary_drops_the_chances_after_they_were_moved_and_is_part_of_every_verdicts_fingerprint() -> None:
    inner = FakeJudge(sensible)
    binary = changed(inner, binary=True)
    moved = told(Verdict("no", 0.4, 0.6, chance=0.4), rate=0.9, binary=True)

    assert told(EVEN, binary=True) == Verdict("yes", 0.5, 0.5, "because")
    assert (moved.value, moved.chance) == ("yes", None)
    other = {kind for kind in KINDS if binary.fingerprint(kind) != inner.fingerprint(kind)}
    assert other == set(KINDS) - set(WITHOUT_PROBABILITY)
    assert binary.fingerprint("supported") != changed(inner, rate=0.9).fingerprint("supported")


def test_a_base_rate_is_for_the_embedded_judge_and_binary_for_every_one() -> None:
    plain, moved, binary = (
        [built(name, **parts).judge.fingerprint("supported") for name in ("embedded", "openai:m")]
        for parts in ({}, {"base_rates": HIGH}, {"matching": "binary"})
    )

    assert [one != other for one, other in zip(plain, moved, strict=True)] == [True, False]
    assert [one != other for one, other in zip(plain, binary, strict=True)] == [True, True]
