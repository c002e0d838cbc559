"""GRAMMAR's blame beside THELMA's."""

import pytest
from answered_rows import answers, decided

from ragtriage.diagnosis.rules import RULES
from ragtriage.testset.failure_analysis import FailureSide, blame_agreement, side_of, tag_rows


def test_every_component_of_the_rules_has_a_side() -> None:
    sides = {rule.component: side_of(rule.component) for rule in RULES}

    assert sides == {
        "retriever or source text": "retrieval",
        "retriever": "retrieval",
        "source text": "retrieval",
        "prompt or generator": "LM",
        "prompt": "LM",
        "generator": "LM",
        "prompt or source chunking": "other",
        "the judge": "other",
    }
    assert (side_of("none"), side_of("undetermined")) == ("none", "undetermined")


def test_answers_are_counted_by_both_and_agreement_is_about_those_that_both_blame() -> None:
    rows = answers("g long + a", "g long - a", "g short - b", "g short - c", "gap long - a", "fine long + a")
    tagged = tag_rows(*decided(rows))
    found = {"0": "none", "1": "generator", "2": "retriever", "3": "prompt", "4": "retriever or source text"}
    sides = {name: side_of(one) for name, one in found.items()}

    both = blame_agreement(tagged, sides, "7")

    assert both.counts == {
        ("right", "none"): 1,
        ("LM", "LM"): 1,
        ("retrieval", "retrieval"): 1,
        ("retrieval", "LM"): 1,
        ("gap", "retrieval"): 1,
    }
    assert (both.both, both.agreeing, both.missing) == (3, 2, 1)
    told = both.as_json()
    assert told["table"]["retrieval"] == {"retrieval": 1, "LM": 1, "other": 0, "none": 0, "undetermined": 0}
    assert (told["run"], told["both_blame"], told["agree"], told["not_in_the_run"]) == ("7", 3, 2, 1)


@pytest.mark.parametrize(("line", "verdict"), [("g a ? x", "undecided"), ("g a - x", "gap")])
def test_what_nobody_blames_is_counted_as_what_it_is(line: str, verdict: str) -> None:
    tagged = tag_rows(*decided(answers(line)))
    sides: dict[str, FailureSide] = {"0": "none"}

    assert blame_agreement(tagged, sides, "1").counts == {(verdict, "none"): 1}
