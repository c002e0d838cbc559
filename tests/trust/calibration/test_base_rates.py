"""Base rates learnt from labels: from a run to the settings and back."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ragtriage import Case, Component, Record, Verdict
from ragtriage.config import read_settings
from ragtriage.core.verdicts import with_chance
from ragtriage.judges.decision_thresholds import BASE_RATES
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.wrappers import Changed
from ragtriage.metrics import metric_named
from ragtriage.metrics.aggregate import share
from ragtriage.trust.calibration import Calibration, calibrate
from ragtriage.trust.corrected_mean import join_labels
from ragtriage.trust.label_files import Label
from ragtriage.trust.label_fits import HELD_BACK, LearntRate, as_toml, present_rate

METRICS = tuple(m for name in ("groundedness", "source_query_coverage") if (m := metric_named(name)))
GROUNDED = METRICS[0]
Claim = tuple[float, bool, float]
"""Its chance, whether it truly is supported, and its inclusion probability; 0 where nobody labelled it."""


def calibrated(
    claims: Sequence[Claim], *, judge: str = "embedded", fingerprint: str = "e-1", metric: str = "groundedness"
) -> Calibration:
    """Of a run with three claims a case."""
    records, labels = [], []
    for at in range(0, len(claims), 3):
        some = claims[at : at + 3]
        texts = [Component(f"Claim {at + i}.") for i in range(len(some))]
        verdicts = [with_chance(Verdict("no"), chance) for chance, *_ in some]
        records.append(Record(Case(f"c{at}", "q"), {}, {metric: share(texts, verdicts)}))
        labels += [
            Label("7", f"c{at}", metric, i, texts[i].text, true, verdicts[i].value, None, chance=inclusion)
            for i, (_, true, inclusion) in enumerate(some)
            if inclusion
        ]
    prints = {"supported": fingerprint, "answered": fingerprint}
    return calibrate(join_labels(("7",), METRICS, records, labels), METRICS, judge, prints, {})


def rate(claims: Sequence[Claim], **more: str) -> LearntRate:
    (found,) = calibrated(claims, **more).base_rates  # type: ignore[arg-type]
    return found


def all_labelled(yes: int, no: int) -> list[Claim]:
    return [(0.9, True, 1.0)] * yes + [(0.9, False, 1.0)] * no


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
    assert not rate(all_labelled(190, 10), fingerprint=told).better
    assert rate(all_labelled(160, 40), fingerprint=told).better
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
    mixed = [(0.9, True, 1.0)] * 60 + [(0.6, False, 1.0)] * 60
    records = [
        Record(
            Case(f"c{i}", "q"),
            {},
            {"groundedness": share([Component(f"{i}.")], [with_chance(Verdict("no", score=chance), chance)])},
        )
        for i, (chance, *_) in enumerate(mixed)
    ]
    labels = [
        Label("7", f"c{i}", "groundedness", 0, f"{i}.", true, "yes", chance, chance=1.0)
        for i, (chance, true, _) in enumerate(mixed)
    ]
    found = calibrate(join_labels(("7",), METRICS, records, labels), (GROUNDED,), "embedded", {"supported": "e-1"}, {})

    assert "decision_thresholds.supported" in found.settings
    assert (found.base_rates[0].better, found.base_rates[0].why) == (
        False,
        "the decision threshold of this kind goes before",
    )
    assert "base_rates" not in found.settings


def test_how_labels_were_drawn_does_not_move_the_rate() -> None:
    rng = np.random.default_rng(0)
    told: dict[bool, list[float]] = {True: [], False: []}
    inside = 0
    for _ in range(150):
        chances = rng.choice([0.05, 0.3, 0.7, 0.95], 600, p=[0.08, 0.12, 0.2, 0.6])
        true = rng.random(600) < chances
        for by_verdict in (True, False):
            wanted = np.where(chances < 0.5, 4.0, 1.0) if by_verdict else np.ones(600)
            inclusion = np.minimum(1.0, wanted * 120 / wanted.sum())
            drawn = rng.random(600) < inclusion
            rows = [(c, bool(t), i if d else 0.0) for c, t, i, d in zip(chances, true, inclusion, drawn, strict=True)]
            share = rate(rows).share
            assert share is not None
            told[by_verdict].append(share.value or 0.0)
            inside += (share.low or 0) <= 0.75 <= (share.high or 0)

    # of all that could be drawn .08 · .05 + .12 · .3 + .2 · .7 + .6 · .95 = .75 is supported
    assert np.mean(told[True]) == pytest.approx(0.75, abs=0.01)
    assert np.mean(told[False]) == pytest.approx(0.75, abs=0.01)
    assert inside >= 278
