"""Which version of a pair scores higher, how sure that is, and the self-test put together of it."""

from dataclasses import replace

import numpy as np
import pytest

from ragtriage.core.case import Case, Source
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Component, Failure, Undefined, Verdict
from ragtriage.judges.fake import FakeJudge
from ragtriage.trust.pair_files import LabelledPair
from ragtriage.trust.pair_scoring import (
    ScoredPair,
    agreement_by_length,
    agreement_by_overlap,
    cost_of_pairs,
    interval,
    pair_agreement,
    pair_length,
    pair_overlap,
    score_pairs,
    scoring_tasks,
)
from ragtriage.trust.self_test import self_test_of

BETTER = Case("b", "When did it open?", (Source("It opened in 1901."),), "It opened in 1901.")
WORSE = replace(BETTER, id="w", response="It opened in 1911.")
PAIR = LabelledPair("p", "g", "groundedness", BETTER, WORSE)


def truthful(question: Question) -> Answer:
    if question.kind in {"claims", "sentences", "questions"}:
        return (Component(question.subject),)
    return Verdict("yes" if "1901" in question.subject else "no", 0.9)


def scored(better: float | Undefined, worse: float | Undefined, group: str = "g") -> ScoredPair:
    return ScoredPair(replace(PAIR, group=group), "groundedness", better, worse)


def test_a_judge_that_sees_the_difference_agrees() -> None:
    (one,) = score_pairs([PAIR], FakeJudge(truthful))

    assert (one.better, one.worse, one.margin, one.agrees, one.ties) == (1.0, 0.0, 1.0, True, False)


def test_a_version_that_pairs_share_is_evaluated_once() -> None:
    other = replace(PAIR, id="q", worse=replace(BETTER, id="x", response="It opened in 1921."))
    judge = FakeJudge(truthful)

    score_pairs([PAIR, other], judge)

    assert [q.subject for q in judge.asked if q.kind == "supported"].count("It opened in 1901.") == 1
    assert [len(task.cases) for task in scoring_tasks([PAIR, other], {})] == [3]


def test_further_metrics_are_scored_beside() -> None:
    both = score_pairs([PAIR], FakeJudge(truthful), further={"groundedness": ("ragas_faithfulness",)})

    assert [(one.metric, one.agrees) for one in both] == [("groundedness", True), ("ragas_faithfulness", True)]
    assert [(one.metric, one.agreement.pairs) for one in self_test_of(both, {}).metrics] == [("groundedness", 1)]


def test_ties_and_undefined_scores_are_no_agreement_and_failures_dont_count() -> None:
    pairs = [
        scored(1.0, 0.5), scored(0.5, 0.5), scored(0.4, 0.5), scored(0.4, Undefined("no claim")),
        scored(Undefined("HTTP 500", failed=True), 0.1),
    ]  # fmt: skip

    found = pair_agreement(pairs)

    assert (found.pairs, found.agreed, found.ties, found.undefined, found.failed) == (4, 1, 1, 1, 1)
    assert found.agreement == 0.25
    assert found.reason == "no claim"


def test_a_judges_failure_is_told_from_a_score_that_is_undefined() -> None:
    (one,) = score_pairs([PAIR], FakeJudge(lambda q: Failure("HTTP 500") if "1911" in q.subject else truthful(q)))

    assert one.failed
    assert pair_agreement([one]).pairs == 0
    assert pair_agreement([one]).agreement is None


def test_without_any_score_there_is_no_share_but_a_reason() -> None:
    found = pair_agreement([scored(Undefined("can't write"), Undefined("can't write"))])

    assert (found.agreement, found.low, found.reason) == (None, None, "can't write")


def test_the_interval_is_over_groups_not_pairs() -> None:
    generator = np.random.default_rng(5)
    hits = [bool(hit) for hit in generator.random(40) < 0.6]
    alone = interval([(str(i), hit) for i, hit in enumerate(hits)])
    fivefold = interval([(str(i), hit) for i, hit in enumerate(hits) for _ in range(5)])

    assert fivefold == pytest.approx(alone)
    error = (0.6 * 0.4 / 40) ** 0.5
    assert alone[1] - alone[0] == pytest.approx(2 * 1.96 * error, rel=0.15)


def test_where_all_agree_the_interval_still_has_a_width() -> None:
    low, high = interval([(str(i), True) for i in range(20)])

    assert high == pytest.approx(1.0)
    assert low == pytest.approx(20 / (20 + 1.96**2), abs=1e-3)  # Wilson's lower end at a share of 1


def test_length_points_the_way_each_metric_likes() -> None:
    longer = replace(BETTER, response="It opened in 1901. It opened in 1901.")

    assert pair_length(replace(PAIR, metric="self_distinctness", worse=longer)) > 0
    assert pair_length(replace(PAIR, metric="response_query_coverage", worse=longer)) < 0
    assert pair_length(PAIR) == 0
    assert agreement_by_length([PAIR]) == 0.0


def test_word_overlap_sees_an_altered_number() -> None:
    assert pair_overlap(PAIR) == pytest.approx(0.5)
    assert agreement_by_overlap([PAIR]) == 1.0
    assert agreement_by_overlap([replace(PAIR, metric="answer_f1")]) is None


def test_what_it_takes_is_counted_without_asking() -> None:
    judge = FakeJudge(truthful)

    assert cost_of_pairs([PAIR], judge).questions == 4
    assert judge.asked == []
