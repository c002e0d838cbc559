"""Sources that contradict each other about what is asked are found and quoted; others aren't."""

import pytest

from examples import examples
from ragtriage import RULES, Case, FakeJudge, Source, diagnose, evaluate_sync, metrics_named, needs_of, thresholds_with
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import Answer, Component, Verdict
from ragtriage.diagnosis.findings import Finding


def findings(query: str, sources: list[str], response: str = "Here you are.") -> dict[str, Finding]:
    """What is found where a judge says yes to all, but that the response declines."""

    def answer(question: Question) -> Answer:
        if question.kind in DECOMPOSITIONS:
            return (Component(question.subject, (0, len(question.subject))),)
        return Verdict("no" if question.kind == "declines" or "weather" in "".join(question.evidence) else "yes")

    case = Case("c", query, tuple(map(Source, sources)), response)
    (record,) = evaluate_sync([case], FakeJudge(answer), metrics=metrics_named(["thelma"]), also=needs_of(RULES))
    return {finding.rule: finding for finding in diagnose(record, thresholds_with({}))}


@pytest.mark.parametrize("row", examples("disagreeing_sources", "disagree"))
def test_two_values_or_a_denial_are_found_and_both_sentences_quoted(row: dict[str, str]) -> None:
    one, other = row["one"], row["other"]
    found = findings(row["query"], [one, "The weather was fine.", f"Welcome. {other}"])["sources_disagree"]

    assert (found.kind, found.component, found.sure) == ("quality", "source text", False)
    assert [(evidence.source, evidence.text) for evidence in found.evidence] == [(0, one), (2, other)]
    first, second = found.evidence
    assert first.explanation.startswith("source 3 says otherwise: ")
    assert second.explanation.startswith("source 1 says otherwise: ")
    assert first.fault == second.fault == "contradicted by another source"
    assert second.span == (9, 9 + len(other))


@pytest.mark.parametrize("row", examples("disagreeing_sources", "agree"))
def test_different_things_years_groups_places_and_notations_do_not_disagree(row: dict[str, str]) -> None:
    for sources in ([row["one"], row["other"]], [row["other"], row["one"]]):
        assert "sources_disagree" not in findings(row["query"], sources)


def test_a_source_that_does_not_answer_and_one_text_given_twice_contradict_nothing() -> None:
    one, other = "Dogs are allowed on the Vale beach.", "Dogs are not allowed on the Vale beach."
    query = "Are dogs allowed on the Vale beach?"

    assert "sources_disagree" in findings(query, [one, other])
    for sources in ([one, f"{other} The weather was fine."], [one, one], [f"{one} {other}"], [one, f"{other} {one}"]):
        assert "sources_disagree" not in findings(query, sources)
