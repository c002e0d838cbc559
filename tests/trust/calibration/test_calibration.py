"""What labels of a run say of its judge: base rates, curves and thresholds, from the run to the settings and back."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ragtriage import Case, Component, Record, Verdict
from ragtriage.config import read_settings
from ragtriage.core.errors import InputError
from ragtriage.core.questions import supported
from ragtriage.core.statistics import wilson_interval
from ragtriage.core.verdicts import with_chance
from ragtriage.judges.decision_thresholds import BASE_RATES, MARK, ChanceCurve, without_threshold
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.wrappers.combined import Changed
from ragtriage.metrics import metric_named
from ragtriage.metrics.aggregate import share
from ragtriage.trust.calibration import Calibration, calibrate
from ragtriage.trust.chance_fits import CurvePoint, reliability_curve
from ragtriage.trust.corrected_mean import RunLabels, join_labels
from ragtriage.trust.label_files import Label, verdict_of
from ragtriage.trust.label_fits import HELD_BACK, LearntRate, as_toml, learnt_rate, present_rate, write_settings

METRICS = tuple(m for name in ("groundedness", "source_query_coverage") if (m := metric_named(name)))
JUDGE = "openai:m"
Claim = tuple[Verdict, bool, float]
"""What the judge said, whether it truly is so, and its inclusion probability; 0 where nobody labelled it."""


def labelled(claims: Sequence[Claim], metric: str = "groundedness", size: int = 1) -> RunLabels:
    """The labels of a run whose cases have so many claims."""
    records, labels = [], []
    for at in range(0, len(claims), size):
        some = claims[at : at + size]
        texts = [Component(f"Claim {at + i}.") for i in range(len(some))]
        score = share(texts, [verdict for verdict, *_ in some])
        records.append(Record(Case(f"c{at}", "q"), {}, {metric: score}))
        labels += [
            Label("7", f"c{at}", metric, i, texts[i].text, true, verdict_of(score.parts[i]), None, chance=inclusion)
            for i, (_, true, inclusion) in enumerate(some)
            if inclusion
        ]
    return join_labels(("7",), METRICS, records, labels)


def calibrated(
    claims: Sequence[Claim], judge: str = "embedded", own: str = "e-1", metric: str = "groundedness", size: int = 3
) -> Calibration:
    """What they give of a judge with this fingerprint."""
    prints = {"supported": own, "answered": own}
    return calibrate(labelled(claims, metric, size), METRICS, judge, prints, {})


def chance(p: float) -> Verdict:
    return with_chance(Verdict("no"), p)


def all_labelled(yes: int, no: int) -> list[Claim]:
    return [(chance(0.9), True, 1.0)] * yes + [(chance(0.9), False, 1.0)] * no


def rate(claims: Sequence[Claim], **more: str) -> LearntRate:
    (found,) = calibrated(claims, **more).base_rates  # type: ignore[arg-type]
    return found


def test_a_share_that_surely_differs_is_held_back_and_written(tmp_path: Path) -> None:
    found = calibrated(all_labelled(190, 10))
    (one,) = found.base_rates

    assert one.share is not None
    assert (one.kind, one.metric, one.share.n) == ("supported", "groundedness", 200)
    assert one.share.value == pytest.approx(0.95)
    assert one.rate == round((190 + 0.79 * HELD_BACK) / (200 + HELD_BACK), 3) == 0.942
    assert (one.present, one.better) == (0.79, True)
    path = tmp_path / "ragtriage.toml"
    path.write_text(as_toml(found.settings), encoding="utf-8")
    assert read_settings(path).base_rates == {"supported": 0.942}
    assert found.as_json()["base_rates"][0]["better"] is True


def test_a_share_that_may_be_the_present_one_is_left_alone() -> None:
    found = calibrated(all_labelled(82, 18))

    assert not found.base_rates[0].better
    assert "base_rates" not in found.settings


def test_the_present_rate_is_the_one_that_the_run_was_judged_at() -> None:
    told = Changed(FakeJudge(lambda _: Verdict("yes"), name="e-1"), {}, {"supported": 0.95}).fingerprint("supported")

    assert present_rate("supported", told) == pytest.approx(0.95, abs=1e-3)
    assert not rate(all_labelled(190, 10), own=told).better
    assert rate(all_labelled(160, 40), own=told).better
    assert present_rate("answered", "e-1+binary") == BASE_RATES["answered"]


def test_too_few_labels_tell_no_rate() -> None:
    found = rate(all_labelled(40, 9))

    assert (found.share, found.rate, found.better) == (None, None, False)
    assert found.why == "too few labels: 49, and it takes 50"


def test_even_labels_of_yes_alone_leave_a_rate_below_1() -> None:
    found = rate(all_labelled(60, 0))

    assert found.rate == round((60 + 7.9) / 70, 3)
    assert found.better


def test_sub_questions_that_the_sources_answer_tell_the_rate_of_answered() -> None:
    found = rate(all_labelled(190, 10), metric="source_query_coverage")

    assert (found.kind, found.present) == ("answered", BASE_RATES["answered"])


def test_only_the_embedded_judge_has_base_rates() -> None:
    assert calibrated(all_labelled(190, 10), judge="openai:m").base_rates == ()


def test_a_decision_threshold_of_the_kind_goes_before() -> None:
    likely, doubted = (with_chance(Verdict("no", p), p) for p in (0.9, 0.6))
    found = calibrated([(likely, True, 1.0)] * 60 + [(doubted, False, 1.0)] * 60, size=1)
    (one,) = found.base_rates

    assert "decision_thresholds.supported" in found.settings
    assert (one.better, one.why) == (False, "the decision threshold of this kind goes before")
    assert "base_rates" not in found.settings


def test_how_labels_were_drawn_does_not_move_the_rate() -> None:
    rng = np.random.default_rng(0)
    told: dict[bool, list[float]] = {True: [], False: []}
    inside = 0
    run = labelled(all_labelled(600, 0), size=3).metrics[0]
    for _ in range(150):
        chances = rng.choice([0.05, 0.3, 0.7, 0.95], 600, p=[0.08, 0.12, 0.2, 0.6])
        true = rng.random(600) < chances
        for by_verdict in (True, False):
            wanted = np.where(chances < 0.5, 4.0, 1.0) if by_verdict else np.ones(600)
            inclusion = np.minimum(1.0, wanted * 120 / wanted.sum())
            drawn = rng.random(600) < inclusion
            found = replace(
                run, verdict=(chances >= 0.5).astype(int), chance=chances, value=chances.reshape(200, 3).mean(axis=1),
                truth=np.where(drawn, true, np.nan), inclusion=np.where(drawn, inclusion, np.nan),
            )  # fmt: skip
            share = learnt_rate("supported", found, "e-1").share
            assert share is not None
            told[by_verdict].append(share.value or 0.0)
            inside += (share.low or 0) <= 0.75 <= (share.high or 0)

    # of all that could be drawn .08 · .05 + .12 · .3 + .2 · .7 + .6 · .95 = .75 is supported
    assert np.mean(told[True]) == pytest.approx(0.75, abs=0.01)
    assert np.mean(told[False]) == pytest.approx(0.75, abs=0.01)
    assert inside >= 278


def curve(claims: Sequence[Claim]) -> tuple[CurvePoint, ...]:
    """Of a run of one case."""
    return reliability_curve(labelled(claims, size=len(claims)).metrics[0])


def test_a_point_is_the_share_of_yes_among_neighbouring_chances() -> None:
    low = [(chance(0.2), i < 3, 0.5) for i in range(10)]
    high = [(chance(0.9), i < 8, 0.5) for i in range(20)]
    points = curve([*high, *low])

    assert [(one.said, one.true, one.labels) for one in points] == [
        (pytest.approx(0.2), pytest.approx(0.3), 10),
        (pytest.approx(0.9), pytest.approx(0.4), 20),  # equal ones stay together
    ]
    assert (points[0].low, points[0].high) == pytest.approx(wilson_interval(0.3, 10))


def test_labels_that_were_unlikely_to_be_drawn_count_for_more_and_widen_the_interval() -> None:
    rare = [(chance(0.5), True, 0.1)] * 10 + [(chance(0.5), False, 1.0)] * 10
    (point,) = curve(rare)
    assert point.true == pytest.approx(100 / 110)
    assert (point.low, point.high) == pytest.approx(wilson_interval(100 / 110, 110**2 / 1010))


def test_with_few_labels_and_of_a_judge_without_probabilities_there_is_none() -> None:
    assert curve([(chance(0.5), True, 1.0)] * 19) == ()
    assert curve([(Verdict("yes"), True, 1.0)] * 40) == ()
    unknown = [(Verdict("unknown", 0.5), True, 1.0)] * 40
    assert curve(unknown + [(Verdict("yes", 0.9), True, 1.0)] * 15) == ()


def test_without_chances_the_probabilities_are_taken() -> None:
    (point,) = curve([(Verdict("yes", 0.8), i % 4 > 0, 1.0) for i in range(20)])
    assert (point.said, point.true) == (pytest.approx(0.8), pytest.approx(0.75))


def counted(yes: tuple[int, int], no: tuple[int, int], score: float | None = None) -> Calibration:
    """Of labels as (truly yes, truly no) of verdicts of yes, and of no."""
    said: list[Claim] = []
    for value, (truly, not_so) in (("yes", yes), ("no", no)):
        verdict = Verdict(value, score)  # type: ignore[arg-type]
        said += [(verdict, True, 1.0)] * truly + [(verdict, False, 1.0)] * not_so
    return calibrated(said, JUDGE, "m-1", size=len(said))


def test_the_share_of_true_yes_behind_either_verdict_is_told_with_its_interval() -> None:
    (found,) = counted(yes=(38, 2), no=(3, 17)).chances

    assert found.yes
    assert found.no
    assert (found.yes.value, found.no.value) == (round(38.5 / 41, 3), round(3.5 / 21, 3))
    assert (found.yes.low, found.yes.high) == pytest.approx(wilson_interval(38.5 / 41, 41))
    assert (found.yes.n, found.no.n) == (40, 20)


def test_too_few_labels_of_a_verdict_tell_nothing() -> None:
    (found,) = counted(yes=(38, 2), no=(2, 7)).chances

    assert found.yes is None
    assert found.why == "too few labels: 40 of its yes and 9 of its no, and it takes 10 of each"
    assert counted(yes=(38, 2), no=(2, 7)).settings == {}


def test_a_judge_with_probabilities_has_decision_thresholds_instead() -> None:
    assert counted(yes=(38, 2), no=(3, 17), score=0.5).chances == ()


def test_what_is_written_into_the_settings_moves_the_judges_verdicts(tmp_path: Path) -> None:
    path = tmp_path / "ragtriage.toml"
    path.write_text(as_toml(counted(yes=(38, 2), no=(2, 18)).settings), encoding="utf-8")
    known = read_settings(path).chance_curves["supported"]

    judge = Changed(FakeJudge(lambda _: Verdict("no")), {}, {}, {"supported": replace(known, fingerprint="")})

    async def ask() -> list[object]:
        return [answer async for _, answer in judge.ask([supported("It is red.", ["It is blue."])])]

    (answer,) = asyncio.run(ask())
    assert known == ChanceCurve(JUDGE, "m-1", points=((0.0, 0.119), (1.0, 0.939)), rate=round(40 / 60, 3))
    assert answer == Verdict("no", confidence=pytest.approx(0.881), chance=0.119)
    assert without_threshold(judge.fingerprint("supported")) == FakeJudge(lambda _: Verdict("no")).fingerprint(
        "supported"
    )


def test_a_judge_that_is_wrong_more_often_than_right_gets_no_curve() -> None:
    found = counted(yes=(10, 20), no=(15, 15))

    assert found.chances[0].why.startswith("wrong more often than right")
    assert found.settings == {}


def scored(n: int, own: str = "decide:m:1", *, known: bool = False, stretch: float = 3.0) -> Calibration:
    """Of n labels of a judge `stretch` times too sure; `known` says that its verdicts count with the right chances."""
    random = np.random.default_rng(1)
    odds = random.normal(0.5, 2.0, n)
    right = 1 / (1 + np.exp(-odds))
    truth = random.random(n) < right
    claims = [
        (Verdict("yes" if score >= 0.5 else "no", float(score), chance=float(p) if known else None), bool(true), 0.5)
        for score, p, true in zip(1 / (1 + np.exp(-stretch * odds)), right, truth, strict=True)
    ]
    return calibrated(claims, JUDGE, own, size=1)


def test_a_judge_with_probabilities_gets_a_curve_in_place_of_a_threshold(tmp_path: Path) -> None:
    found = scored(200, "decide:m:1" + MARK + "0.4-0.6")
    path = tmp_path / "ragtriage.toml"
    mine, answered = (
        f'[decision_thresholds.{kind}]\njudge = "{JUDGE}"\nyes = 0.6\nno = 0.4\n\n'
        for kind in ("supported", "answered")
    )
    others = f'{answered}[chance_curves.supported]\njudge = "old"\npoints = [[0, 0.1], [1, 0.9]]\n'
    path.write_text(mine + others, encoding="utf-8")

    with pytest.raises(InputError, match=r"has to go, .*: take it out\): put this in yourself:\n\[chance_curves"):
        write_settings(path, found.settings, found.replaced)
    assert path.read_text(encoding="utf-8") == mine + others

    path.write_text(others, encoding="utf-8")
    write_settings(path, found.settings, found.replaced)

    settings = read_settings(path)
    curve = settings.chance_curves["supported"]
    assert (curve.judge, curve.fingerprint, curve.points) == (JUDGE, "decide:m:1", ())
    assert curve.a == pytest.approx(1 / 3, abs=0.1)
    assert [*settings.decision_thresholds] == ["answered"]
    assert (found.decision_thresholds[0].threshold, found.decision_thresholds[0].why) == (
        None,
        "its curve says where yes begins",
    )
    assert [*found.settings] == ["chance_curves.supported"]


def test_the_threshold_of_another_judge_stays(tmp_path: Path) -> None:
    path = tmp_path / "ragtriage.toml"
    path.write_text('[decision_thresholds.supported]\njudge = "embedded"\nyes = 0.6\nno = 0.4\n', encoding="utf-8")
    found = scored(200)

    write_settings(path, found.settings, found.replaced)

    assert read_settings(path).decision_thresholds["supported"].judge == "embedded"


def test_a_curve_that_is_there_already_stays_where_none_does_surely_better() -> None:
    (found,) = scored(200, known=True).chances

    assert found.fitted
    assert found.fitted.now < scored(200).chances[0].fitted.now  # type: ignore[union-attr]
    assert (found.curve, found.why) == (None, "not surely better than things as they are: left alone")
    assert scored(200, known=True).replaced == {}


def test_a_judge_whose_probabilities_fall_where_the_truth_rises_gets_no_curve() -> None:
    (found,) = scored(200, stretch=-0.5).chances

    assert found.why.startswith("wrong more often than right")


def test_with_few_labels_a_judge_with_probabilities_has_a_threshold_at_most() -> None:
    found = scored(49)

    assert found.chances[0].why == "too few labels: 49, and a curve takes 50"
    assert "chance_curves.supported" not in found.settings
    assert found.decision_thresholds[0].threshold


def test_calibrated_chances_need_no_curve() -> None:
    assert scored(200, own="e-1").chances == ()
