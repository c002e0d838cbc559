"""Curves: what chance of yes stands behind a judge's probability, in the settings and around a judge."""

from pathlib import Path
from typing import Any

import pytest
from contract import CHECKS, Candidate, answers
from test_fake import BROKEN, sensible

from ragtriage.config import judge_config, read_settings
from ragtriage.core.errors import ConfigError
from ragtriage.core.questions import essential, supported
from ragtriage.core.verdicts import Answer, Verdict
from ragtriage.judges.build import build_judge
from ragtriage.judges.decision_thresholds import BASE_RATES, ChanceCurve, DecisionThreshold, without_threshold
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers import Cached, Changed, InMemory

SUPPORTED = supported("Cats purr.", ("Cats purr.",))
PLATT = ChanceCurve("fake", a=0.5, b=-1.0, rate=0.6)
POINTS = ChanceCurve("fake", points=((0.2, 0.1), (0.6, 0.5), (0.7, 0.9)))
DECIDER = "embedded+decide:systemone:kev@http://127.0.0.1:1"
TABLE = f'[chance_curves.supported]\njudge = "{DECIDER}"\n'


def told(answer: Answer, curve: ChanceCurve = PLATT, rate: float | None = None, *, binary: bool = False) -> Verdict:
    rates = {} if rate is None else {"supported": rate}
    judge = Changed(FakeJudge(lambda _: answer), {}, rates, {"supported": curve}, binary=binary)
    (found,) = answers(judge, [SUPPORTED])
    assert isinstance(found, Verdict)
    return found


def written(folder: Path, text: str) -> Path:
    path = folder / "ragtriage.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(check) -> None:
    check(Candidate(lambda: Changed(FakeJudge(sensible), {}, {}, {"supported": PLATT}), failing=BROKEN))


@pytest.mark.parametrize(
    ("p", "chance"),
    [
        (0.9, 0.5246),  # logit 2.1972, half of it less 1: .0986
        (0.5, 0.2689),  # σ(−1)
        (1.0, 0.8384),  # as .995: logit 5.2933, 1.6466
        (0.999, 0.8384),
        (0.0, 0.0254),  # as .005: −3.6466
    ],
)
def test_platts_curve_stretches_and_moves_the_log_odds(p: float, chance: float) -> None:
    assert PLATT.at(p) == pytest.approx(chance, abs=0.00005)


@pytest.mark.parametrize(
    ("p", "chance"), [(0, 0.1), (0.2, 0.1), (0.3, 0.2), (0.6, 0.5), (0.65, 0.7), (0.7, 0.9), (1, 0.9)]
)
def test_points_are_joined_by_lines_and_level_beyond(p: float, chance: float) -> None:
    assert POINTS.at(p) == pytest.approx(chance)


def test_the_chance_decides_the_verdict_and_the_score_stays() -> None:
    found = told(Verdict("yes", 0.8, 0.8, "because"))  # logit 1.3863: σ(−.3069)

    assert found == Verdict("no", 0.8, 1 - found.chance, "because", sure=False, chance=pytest.approx(0.4239, abs=5e-5))
    assert told(Verdict("no", 0.05, 0.95)).sure


def test_a_verdict_without_a_probability_is_one_of_1_or_0() -> None:
    two = ChanceCurve("fake", points=((0.0, 0.12), (1.0, 0.97)))

    assert [told(Verdict(value), two).chance for value in ("yes", "no")] == [0.97, 0.12]


@pytest.mark.parametrize("answer", [Verdict("unknown", 0.5), Verdict("yes", 0.9, 0.7, chance=0.7)])
def test_what_is_unknown_or_has_a_chance_stays(answer: Verdict) -> None:
    assert told(answer) == answer


def test_binary_counts_by_the_side_on_which_the_chance_lies() -> None:
    found = told(Verdict("yes", 0.8, 0.8), binary=True)

    assert (found.value, found.chance) == ("no", None)


def test_a_base_rate_moves_the_odds_from_those_of_the_labels() -> None:
    # .2689 is .3679 to 1; .6 is 1.5 to 1 and .8 is 4 to 1, so it becomes .9810 to 1
    assert told(Verdict("yes", 0.5, 0.5), rate=0.8).chance == pytest.approx(0.4952, abs=5e-5)
    assert told(Verdict("yes", 0.5, 0.5), rate=0.6).chance == pytest.approx(0.2689, abs=5e-5)
    with pytest.raises(ConfigError, match=r"\[chance_curves.supported\] lacks .* rate, .*: calibrate again"):
        told(Verdict("yes", 0.5, 0.5), POINTS, rate=0.8)


def test_a_curve_is_part_of_its_kinds_fingerprint_and_asks_nothing_again() -> None:
    inner, memory = FakeJudge(lambda _: Verdict("yes", 0.8, 0.8)), InMemory()
    one, other = (Changed(Cached(inner, memory), {}, {}, {"supported": curve}) for curve in (PLATT, POINTS))

    assert answers(one, [SUPPORTED]) != answers(other, [SUPPORTED])
    assert len(inner.asked) == 1
    assert len({judge.fingerprint("supported") for judge in (inner, one, other)}) == 3
    assert one.fingerprint("essential") == inner.fingerprint("essential")
    assert without_threshold(one.fingerprint("supported")) == inner.fingerprint("supported")
    assert answers(one, [essential("Do cats purr?", "Cats purr.")]) == [Verdict("yes", 0.8, 0.8)]


def test_a_curve_of_another_version_of_its_judge_is_refused() -> None:
    judge, thresholds = FakeJudge(sensible, name="m-2"), {"supported": DecisionThreshold(0.6, 0.6)}

    with pytest.raises(ConfigError, match=r"\[chance_curves.supported\] was fitted for fake as m-1, and it is .* now"):
        Changed(judge, thresholds, {}, {"supported": ChanceCurve("fake", "m-1", 1.0, 0.0)})
    own = judge.fingerprint("supported")
    told = Changed(judge, thresholds, {}, {"supported": ChanceCurve("fake", own, 1.0, 0.0)})
    assert without_threshold(told.fingerprint("supported")) == own


def built(**parts: Any) -> Any:
    return build_judge(JudgeSession.of(JudgeConfig((DECIDER,), **parts)))


def test_a_kind_with_a_curve_is_not_called_uncalibrated() -> None:
    raw, one = built(), built(chance_curves={"supported": ChanceCurve(DECIDER, a=1.0, b=0.0)})

    assert "supported" in raw.counting
    assert raw.counting.startswith("uncalibrated: ")
    assert one.counting.startswith("supported known from labels, uncalibrated: ")
    assert "supported" not in one.counting.partition("uncalibrated")[2]
    assert built(chance_curves={"supported": ChanceCurve("embedded", a=1.0, b=0.0)}).counting == raw.counting


def test_a_decision_threshold_goes_first() -> None:
    thresholds = {"supported": DecisionThreshold(0.7, 0.7, DECIDER)}
    alone = built(decision_thresholds=thresholds)
    both = built(
        decision_thresholds=thresholds,
        chance_curves={"supported": ChanceCurve(DECIDER, a=1.0, b=0.0)},
    )

    assert both.judge.fingerprint("supported") == alone.judge.fingerprint("supported")
    assert both.counting == alone.counting


def test_a_base_rate_needs_a_curve_where_scores_are_not_calibrated() -> None:
    curves = {"supported": ChanceCurve(DECIDER, a=1.0, b=0.0, rate=0.6)}

    with pytest.raises(ConfigError, match=r"base rate of supported .* those of embedded\+decide:.* fit a curve"):
        built(base_rates={"supported": 0.9})
    moved, plain = (built(chance_curves=curves, base_rates=rates) for rates in ({"supported": 0.9}, {}))
    assert moved.judge.fingerprint("supported") != plain.judge.fingerprint("supported")


def test_a_base_rate_that_is_typed_needs_something_to_move(tmp_path: Path) -> None:
    given = {"judge": (DECIDER,), "base_rates": {"supported": 0.9}}
    settings = read_settings(written(tmp_path, TABLE + "a = 1\nb = 0\nrate = 0.6\n"))

    assert judge_config(settings, given).base_rates == {"supported": 0.9}
    with pytest.raises(ConfigError, match="--base-rate answered: there is no chance to move"):
        judge_config(settings, {**given, "base_rates": {"answered": 0.9}})
    assert BASE_RATES.keys() == {"supported", "answered"}


def test_curves_are_read_from_the_settings(tmp_path: Path) -> None:
    one = read_settings(written(tmp_path, TABLE + 'fingerprint = "m-1"\na = 0.5\nb = -1\nrate = 0.6\n'))
    other = read_settings(written(tmp_path, TABLE + "points = [[0, 0.1], [1, 0.9]]\n"))

    assert one.chance_curves == {"supported": ChanceCurve(DECIDER, "m-1", 0.5, -1.0, rate=0.6)}
    assert other.chance_curves == {"supported": ChanceCurve(DECIDER, points=((0.0, 0.1), (1.0, 0.9)))}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", "give a and b, or points"),
        ("a = 1\n", "give a and b, or points"),
        ("a = 1\nb = 0\npoints = [[0, 0.1], [1, 0.9]]\n", "give a and b, or points"),
        ("a = -1\nb = 0\n", "a is -1 and b is 0: give a above 0"),
        ("a = 1\nb = nan\n", "a is 1 and b is nan"),
        ("points = [[0.5, 0.5]]\n", "points is .*: give two or more"),
        ("points = [[0, 0.9], [1, 0.1]]\n", "points is .*: give two or more"),
        ("points = [[0.5, 0.1], [0.5, 0.2]]\n", "points is .*: give two or more"),
        ("points = [[0, 0.1], [1, 1.9]]\n", "points is .*: give two or more"),
        ("a = 1\nb = 0\nrate = 1\n", "rate is 1: give a share between 0 and 1"),
        ("a = 1\nb = 0\nc = 2\n", "no setting is called 'c'"),
        ('a = "1"\nb = 0\n', "chance_curves.supported.a must be a number"),
    ],
)
def test_what_is_no_rising_curve_is_refused(tmp_path: Path, lines: str, said: str) -> None:
    path = written(tmp_path, TABLE + lines)

    with pytest.raises(ConfigError, match=said) as caught:
        read_settings(path)

    assert str(caught.value).startswith(f"{path}: ")


def test_kinds_without_a_probability_have_no_curve_and_refusals_may_have_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'claims' has no probability to decide by"):
        read_settings(written(tmp_path, (TABLE + "a = 1\nb = 0\n").replace("supported", "claims")))
    settings = read_settings(written(tmp_path, (TABLE + "a = 1\nb = 0\n").replace("supported", "declines")))
    assert [*settings.chance_curves] == ["declines"]


def test_what_label_chances_were_is_said_with_what_to_do(tmp_path: Path) -> None:
    path = written(tmp_path, '[label_chances.supported]\njudge = "openai:m"\nyes = 0.97\nno = 0.12\n')

    with pytest.raises(
        ConfigError, match=r"\[label_chances\] has become \[chance_curves\]: take it out, and calibrate"
    ):
        read_settings(path)
