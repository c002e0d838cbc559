"""What labels say of verdicts without calibrated chances, from a run to the settings and back."""

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ragtriage import Case, Component, Record, Verdict
from ragtriage.config import read_settings
from ragtriage.core.questions import supported
from ragtriage.core.statistics import wilson_interval
from ragtriage.core.verdicts import Answered
from ragtriage.judges.decision_thresholds import MARK, ChanceCurve, without_threshold
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.wrappers import Changed
from ragtriage.metrics import metric_named
from ragtriage.metrics.aggregate import share
from ragtriage.trust.calibration import Calibration, calibrate
from ragtriage.trust.corrected_mean import join_labels
from ragtriage.trust.label_files import Label
from ragtriage.trust.label_fits import as_toml, write_settings

GROUNDED = metric_named("groundedness")
JUDGE = "openai:m"


def calibrated(yes: tuple[int, int], no: tuple[int, int], score: float | None = None) -> Calibration:
    """Of labels as (truly yes, truly no) of verdicts of yes, and of no."""
    assert GROUNDED
    verdicts = [("yes", True)] * yes[0] + [("yes", False)] * yes[1] + [("no", True)] * no[0] + [("no", False)] * no[1]
    claims = tuple(Component(f"Claim {i}.") for i in range(len(verdicts)))
    cells = [Verdict(value, score) for value, _ in verdicts]  # type: ignore[arg-type]
    record = Record(Case("a", "q"), {}, {"groundedness": share(claims, cells)})
    labels = [
        Label("7", "a", "groundedness", i, claims[i].text, true, value, None, chance=1.0)
        for i, (value, true) in enumerate(verdicts)
    ]
    return calibrate(join_labels(("7",), (GROUNDED,), [record], labels), (GROUNDED,), JUDGE, {"supported": "m-1"}, {})


def test_the_share_of_true_yes_behind_either_verdict_is_told_with_its_interval() -> None:
    (found,) = calibrated(yes=(38, 2), no=(3, 17)).chances

    assert found.yes
    assert found.no
    assert (found.yes.value, found.no.value) == (round(38.5 / 41, 3), round(3.5 / 21, 3))
    assert (found.yes.low, found.yes.high) == pytest.approx(wilson_interval(38.5 / 41, 41))
    assert (found.yes.n, found.no.n) == (40, 20)


def test_too_few_labels_of_a_verdict_tell_nothing() -> None:
    (found,) = calibrated(yes=(38, 2), no=(2, 7)).chances

    assert found.yes is None
    assert found.why == "too few labels: 40 of its yes and 9 of its no, and it takes 10 of each"
    assert calibrated(yes=(38, 2), no=(2, 7)).settings == {}


def test_a_judge_with_probabilities_has_decision_thresholds_instead() -> None:
    assert calibrated(yes=(38, 2), no=(3, 17), score=0.5).chances == ()


def test_what_is_written_into_the_settings_moves_the_judges_verdicts(tmp_path: Path) -> None:
    path = tmp_path / "ragtriage.toml"
    path.write_text(as_toml(calibrated(yes=(38, 2), no=(2, 18)).settings), encoding="utf-8")
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
    found = calibrated(yes=(10, 20), no=(15, 15))

    assert found.chances[0].why.startswith("wrong more often than right")
    assert found.settings == {}


def scored(n: int, own: str = "decide:m:1", *, chance: bool = False, stretch: float = 3.0) -> Calibration:
    """Of n labels of a judge `stretch` times too sure; `chance` says that its verdicts count with the right ones."""
    assert GROUNDED
    random = np.random.default_rng(1)
    odds = random.normal(0.5, 2.0, n)
    right = 1 / (1 + np.exp(-odds))
    truth = random.random(n) < right
    scores = 1 / (1 + np.exp(-stretch * odds))
    records, labels = [], []
    for i, (score, true) in enumerate(zip(scores, truth, strict=True)):
        value: Answered = "yes" if score >= 0.5 else "no"
        verdict = Verdict(value, float(score), chance=float(right[i]) if chance else None)
        records.append(Record(Case(f"c{i}", "q"), {}, {"groundedness": share((Component(f"{i}."),), [verdict])}))
        labels.append(Label("7", f"c{i}", "groundedness", 0, f"{i}.", bool(true), value, float(score), chance=0.5))
    joined = join_labels(("7",), (GROUNDED,), records, labels)
    return calibrate(joined, (GROUNDED,), JUDGE, {"supported": own}, {})


def test_a_judge_with_probabilities_gets_a_curve_in_place_of_a_threshold(tmp_path: Path) -> None:
    found = scored(200, "decide:m:1" + MARK + "0.4-0.6")
    path = tmp_path / "ragtriage.toml"
    before = "".join(
        f'[decision_thresholds.{kind}]\njudge = "{judge}"\nyes = 0.6\nno = 0.4\n\n'
        for kind, judge in (("supported", JUDGE), ("answered", JUDGE))
    )
    path.write_text(
        f'{before}[chance_curves.supported]\njudge = "old"\npoints = [[0, 0.1], [1, 0.9]]\n', encoding="utf-8"
    )

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
    (found,) = scored(200, chance=True).chances

    assert found.fitted
    assert found.fitted.now < scored(200).chances[0].fitted.now  # type: ignore[union-attr]
    assert (found.curve, found.why) == (None, "not surely better than things as they are: left alone")
    assert scored(200, chance=True).replaced == {}


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
