"""What labels say of the verdicts of a judge that states no probability, from a run to the settings and back."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from ragtriage import Case, Component, ConfigError, Record, Verdict
from ragtriage.config import read_settings
from ragtriage.core.questions import supported
from ragtriage.core.statistics import wilson_interval
from ragtriage.judges.decision_thresholds import LabelChance, without_threshold
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.wrappers import Reweighed
from ragtriage.metrics import metric_named
from ragtriage.metrics.aggregate import share
from ragtriage.trust.calibration import Calibration, as_toml, calibrate
from ragtriage.trust.corrected_mean import join_labels
from ragtriage.trust.label_files import Label

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
    known = read_settings(path).label_chances["supported"]

    judge = Reweighed(FakeJudge(lambda _: Verdict("no")), {}, {"supported": replace(known, fingerprint="")})

    async def ask() -> list[object]:
        return [answer async for _, answer in judge.ask([supported("It is red.", ["It is blue."])])]

    (answer,) = asyncio.run(ask())
    assert known == LabelChance(JUDGE, 0.939, 0.119, "m-1")
    assert answer == Verdict("no", confidence=pytest.approx(0.881), chance=0.119)
    assert without_threshold(judge.fingerprint("supported")) == FakeJudge(lambda _: Verdict("no")).fingerprint(
        "supported"
    )


def test_labels_of_another_version_and_numbers_that_are_no_probabilities_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"label_chances.supported\] was fitted for openai:m as m-1"):
        Reweighed(FakeJudge(lambda _: Verdict("no")), {}, {"supported": LabelChance(JUDGE, 0.9, 0.1, "m-1")})
    path = tmp_path / "ragtriage.toml"
    path.write_text('[label_chances.supported]\njudge = "openai:m"\nyes = 1.5\nno = 0.1\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"yes is 1\.5 and no is 0\.1: give 0 ≤ no < 0\.5"):
        read_settings(path)
