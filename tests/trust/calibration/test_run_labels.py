"""Labels joined with a run: which are used, which aren't and why, and what a label is about."""

from dataclasses import replace

import pytest

from ragtriage import Case, Component, Record, Score, Verdict
from ragtriage.core.verdicts import Outcome
from ragtriage.metrics import metric_named
from ragtriage.metrics.aggregate import parts, share, share_of_faults
from ragtriage.trust import corrected_mean
from ragtriage.trust.calibration import calibrate, kind_of
from ragtriage.trust.corrected_mean import LabelledMetric, join_labels
from ragtriage.trust.label_files import Label

GROUNDED, MADE_UP, REPEATS, F1 = (
    metric
    for name in ("groundedness", "hallucination", "self_distinctness", "answer_f1")
    if (metric := metric_named(name))
)
VERDICTS = (Verdict("yes", 0.9), Verdict("no", 0.2), Verdict("unknown", 0.5))
CLAIMS = tuple(Component(text) for text in ("One.", "Two.", "Three."))


def record(name: str, metric: str, outcome: Outcome, weight: float = 1.0) -> Record:
    return Record(Case(name, "q", weight=weight), {}, {metric: outcome})


def label(case: str = "a", component: int = 0, metric: str = "groundedness", **changed: object) -> Label:
    told = Label("7", case, metric, component, CLAIMS[component].text, True, VERDICTS[component].value, 0.5, chance=0.5)
    return replace(told, **changed)  # type: ignore[arg-type]


RECORDS = [record(name, "groundedness", share(CLAIMS, VERDICTS)) for name in "abc"]


def joined(*labels: Label) -> corrected_mean.RunLabels:
    return join_labels(("7", "an identity"), (GROUNDED, F1), RECORDS, labels)


def test_a_label_finds_its_component() -> None:
    found = joined(label("b", 1, label=False), label("a", 0, run="an identity")).metrics[0]

    assert (found.labels, found.cases, found.share_of) == (2, ("a", "b", "c"), "yes")
    assert found.truth[0] == 1.0
    assert found.truth[4] == 0.0
    assert found.raw == 0.5


def test_several_people_count_as_one_label() -> None:
    found = joined(label(by="ada"), label(by="bo", label=False)).metrics[0]

    assert (found.labels, found.truth[0]) == (1, 0.5)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"run": "8"}, corrected_mean.OTHER_RUN),
        ({"metric": "fact_precision"}, corrected_mean.NO_METRIC),
        ({"label": None}, corrected_mean.SKIPPED),
        ({"chance": None}, corrected_mean.PICKED),
        ({"text": "Another."}, corrected_mean.CHANGED),
        ({"verdict": "no"}, corrected_mean.CHANGED),
        ({"case": "z"}, corrected_mean.CHANGED),
    ],
)
def test_what_cannot_be_used_is_counted_with_its_reason(wrong: dict[str, object], reason: str) -> None:
    found = joined(label("b"), label(**wrong))  # type: ignore[arg-type]

    assert found.unused == {reason: 1}
    assert found.metrics[0].labels == 1


def test_the_largest_of_nested_draws_drew_all_of_their_items() -> None:
    nested = label(draw="one"), label("b", chance=0.1, draw="one")
    found = joined(*nested, label("c", chance=0.1, draw="another"), label("c", 1, chance=0.2)).metrics[0]

    assert [float(chance) for chance in found.inclusion if chance == chance] == [0.5, 0.5, 0.1, 0.2]  # noqa: PLR0124


def test_nothing_usable_leaves_no_metric() -> None:
    assert joined(label(chance=None)).metrics == ()


def only(metric: str, outcome: Outcome) -> LabelledMetric:
    own = metric_named(metric)
    assert own
    assert isinstance(outcome, Score)
    said = ["unknown" if part.good is None else "yes" if part.good else "no" for part in outcome.parts]
    records = [record(str(at), metric, outcome) for at in range(30)]
    labels = [
        label(str(at), place, metric, label=place == 0, verdict=said[place]) for at in range(30) for place in range(3)
    ]
    return join_labels(("7",), (own,), records, labels).metrics[0]


def test_what_counts_is_told_from_the_scores() -> None:
    # people say of one component in three that it speaks for the answer
    good = only("groundedness", share(CLAIMS, VERDICTS)).correction()
    faults = only("hallucination", share_of_faults(CLAIMS, VERDICTS)).correction()
    repeats = only("self_distinctness", share(CLAIMS, VERDICTS, good="no")).correction()

    assert good is not None
    assert faults is not None
    assert repeats is not None
    assert good.mean == pytest.approx(1 / 3)
    assert faults.mean == pytest.approx(2 / 3)
    assert repeats.mean == pytest.approx(1 / 3)


def test_what_was_not_asked_is_no_part_of_it() -> None:
    found = only("groundedness", share(CLAIMS, VERDICTS))
    asked = share((*CLAIMS, Component("Four.")), (*VERDICTS, None))

    assert isinstance(asked, Score)
    assert only("groundedness", asked).weight.tolist() == found.weight.tolist()


def test_where_no_speaks_for_the_answer_there_is_no_probability_to_cut() -> None:
    found = only("self_distinctness", share(CLAIMS, VERDICTS, good="no"))

    assert found.verdict.tolist()[:3] == [0, 1, 2]
    assert [value == value for value in found.score.tolist()[:2]] == [False, False]  # noqa: PLR0124  # NaN isn't itself


def test_true_scores_are_those_of_cases_that_are_labelled_throughout() -> None:
    whole = joined(*(label("b", place, label=place == 0) for place in range(3)), label("a", 1)).metrics[0]

    assert [round(float(value), 3) for value in whole.true_values()][1] == 0.333
    assert sum(value == value for value in whole.true_values()) == 1  # noqa: PLR0124  # NaN isn't itself


def test_a_score_that_is_no_share_of_its_components_is_not_corrected() -> None:
    score = Score(0.8, 2, 1, parts(CLAIMS, VERDICTS, "yes"))
    found = only("answer_f1", score)
    told = calibrate(join_labels(("7",), (F1,), [], []), (F1,), "embedded", {}, {})

    assert found.share_of == ""
    assert found.correction() is None
    assert told.means == ()


def test_which_kind_of_question_decides() -> None:
    assert kind_of(GROUNDED) == "supported"
    assert kind_of(REPEATS) is None
