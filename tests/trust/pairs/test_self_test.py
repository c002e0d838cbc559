"""The self-test put together: what says less than the rest stands apart."""

from io import StringIO

from rich.console import Console

from ragtriage.core.case import Case, Source
from ragtriage.report.terminal import print_document
from ragtriage.report.trust_document import selftest_document
from ragtriage.trust.pair_files import Change, LabelledPair
from ragtriage.trust.pair_scoring import ScoredPair
from ragtriage.trust.self_test import SelfTest, self_test_of

CASE = Case("pier", "How long is it?", (Source("It is long."),), "It is long.")


def scored(metric: str, better: float, worse: float, after: str = "", name: str = "pier") -> ScoredPair:
    change = Change("something", "response", "It is long.", after)
    return ScoredPair(LabelledPair(name, name, metric, CASE, CASE, change), metric, better, worse)


def printed(found: SelfTest) -> str:
    console = Console(file=StringIO(), width=200)
    print_document(console, selftest_document(found, "embedded", "rows.jsonl", 0))
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_copies_are_counted_apart_from_repeats_in_other_words() -> None:
    found = self_test_of(
        [
            scored("self_distinctness", 1.0, 0.5, "In other words: It is long."),
            scored("self_distinctness", 1.0, 1.0, "It isn't short.", "mill"),
        ],
        {},
    )

    (one,) = found.metrics
    assert (one.copies, one.copies_agreed) == (1, 1)
    assert found.as_json()["metrics"]["self_distinctness"]["copies"] == 1
    said = printed(found)
    assert (
        "1 of 2 repeats in the same words, as the rules have no others; 1 of these agree, and 0 of 1 reworded" in said
    )


def test_a_judge_that_finds_no_source_of_use_is_told_from_one_that_ties_otherwise() -> None:
    pairs = [scored("source_precision", 0.0, 0.0), scored("source_precision", 1.0, 1.0, name="mill")]
    other = [scored("response_precision", 0.0, 0.0)]

    found = self_test_of([*pairs, *other], {})

    assert [one.zeros for one in found.metrics] == [1, 0]
    assert "1 tie at 0 against 0: by this judge none of these sources answers the question" in printed(found)
