"""The rules on worked patterns of scores, and what holds for every pattern."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragtriage import RULES, Component, FakeJudge, Score, Tally, Undefined, Verdict, Verdicts, evaluate_sync
from ragtriage.config import Settings, read_settings
from ragtriage.core.case import Case, Record, Source
from ragtriage.core.errors import ConfigError
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import CHECK, Answer, Known, Outcome, Part, with_chance
from ragtriage.diagnosis.disagreeing_sources import DISAGREES
from ragtriage.diagnosis.findings import declined, diagnose
from ragtriage.diagnosis.headline import component_of, headline
from ragtriage.diagnosis.rules import KINDS, Rule, thresholds_with
from ragtriage.metrics import THELMA, metrics_named
from ragtriage.metrics.aggregate import CONTRADICTED, SEGMENTS
from ragtriage.metrics.citations import FALSE
from ragtriage.metrics.thelma import DECLINES

WORKED = Path(__file__).parent.parent / "worked" / "diagnosis.jsonl"
ROWS = [json.loads(line) for line in WORKED.read_text(encoding="utf-8").splitlines()]
THRESHOLDS = thresholds_with({})
COMPONENTS = {
    "retriever or source text",
    "prompt or generator",
    "prompt",
    "prompt or source chunking",
    "retriever",
    "generator",
    "the judge",
    "source text",
}
"""The component texts of the specification; other programs read them."""

Scores = Mapping[str, float | None]
SCORES = st.fixed_dictionaries({m.name: st.none() | st.sampled_from([0.0, 0.4, 0.78, 1.0]) for m in THELMA})


def record_of(
    scores: Scores,
    *,
    declines: bool = False,
    name: str = "c",
    faults: Sequence[str] = (),
    claims: Sequence[str] = (),
    chances: Sequence[float] = (),
) -> Record:
    """A record with these scores.

    `faults` are the kinds of bad segments behind `citation_groundedness`, `claims` those of bad claims behind
    `groundedness`, `chances` those that the sources answer each sub-question.
    """
    steps: dict[str, Known] = {}
    if declines:
        steps[str(DECLINES)] = Verdicts((Component("I can't say."),), ((Verdict("yes"),),))
    outcomes: dict[str, Outcome] = {
        metric: Undefined("it wasn't given") if value is None else Score(value, 4) for metric, value in scores.items()
    }
    for metric, kinds in (("groundedness", claims), ("citation_groundedness", faults)):
        if kinds and isinstance(score := outcomes.get(metric), Score):
            bad = tuple(Part(Component(f"{kind}."), Verdict("no"), good=False, kind=kind) for kind in kinds)
            outcomes[metric] = replace(score, parts=bad)
    if chances:
        good = [Part(Component("?"), with_chance(Verdict("no"), one), good=one >= CHECK) for one in chances]
        outcomes["source_query_coverage"] = Score(sum(chances) / len(good), len(good), parts=tuple(good))
    return Record(Case(name, "What does it cost?"), steps, outcomes)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["what"])
def test_a_pattern_of_scores_gives_these_findings_and_no_other(row: dict[str, Any]) -> None:
    more = {name: row[name] for name in ("declines", "faults", "claims", "chances") if name in row}
    record = record_of(row["scores"], **more)

    findings = diagnose(record, THRESHOLDS)

    shown = [{"rule": f.rule, "kind": f.kind, "component": f.component, "sure": f.sure} for f in findings]
    assert shown == row["findings"]
    assert headline(record, findings, THRESHOLDS).component == row["headline"]


def test_every_rule_has_a_worked_pattern_and_a_component_that_other_programs_read() -> None:
    fired = {finding["rule"] for row in ROWS for finding in row["findings"]}

    # what is read off the texts has no pattern of scores: tests/diagnosis/test_disagreeing_sources.py
    assert fired == {rule.name for rule in RULES if DISAGREES not in rule.faults}
    assert {rule.component for rule in RULES} == COMPONENTS


@given(scores=SCORES, declines=st.booleans())
def test_a_response_is_judged_by_the_rules_for_refusals_or_by_the_others_never_by_both(
    scores: Scores, declines: bool
) -> None:
    of_refusals = {rule.name for rule in RULES if rule.declines}

    fired = {finding.rule for finding in diagnose(record_of(scores, declines=declines), THRESHOLDS)}

    covered = scores["response_query_coverage"]
    refused = declines and (covered is None or covered < THRESHOLDS["response_query_coverage"])
    assert fired <= of_refusals if refused else not fired & of_refusals


@given(scores=SCORES, declines=st.booleans())
def test_findings_come_with_the_most_pressing_first_and_say_why_they_are_unsure(scores: Scores, declines: bool) -> None:
    findings = diagnose(record_of(scores, declines=declines), THRESHOLDS)

    assert [f.kind for f in findings] == sorted((f.kind for f in findings), key=KINDS.index)
    assert all(bool(f.doubt) != f.sure for f in findings)
    assert all(set(f.scores) <= {name for name, value in scores.items() if value is not None} for f in findings)


def test_a_refusal_is_right_or_needless_and_nothing_between() -> None:
    for value in (0.0, 0.5, 0.74, 0.75, 0.76, 1.0):
        (finding,) = diagnose(record_of({"source_query_coverage": value}, declines=True), THRESHOLDS)

        assert finding.rule == ("needless_refusal" if value >= 0.75 else "right_refusal")


def test_scores_that_are_high_throughout_blame_nobody() -> None:
    levels = [(THRESHOLDS[m.name], 1.0) for m in THELMA]
    for values in product(*levels):
        scores = dict(zip((m.name for m in THELMA), values, strict=True))

        assert diagnose(record_of(scores), THRESHOLDS) == ()


@settings(max_examples=25)  # an interval is resampled a thousand times
@given(patterns=st.lists(st.tuples(SCORES, st.booleans()), max_size=12))
def test_every_case_is_counted_under_exactly_one_component(patterns: list[tuple[Scores, bool]]) -> None:
    tally = Tally(THELMA, THRESHOLDS)
    for i, (scores, declines) in enumerate(patterns):
        tally.add(record_of(scores, declines=declines, name=f"c{i}"))

    summary = tally.summary()

    assert sum(summary.diagnosis.values()) == summary.cases == len(patterns)
    assert set(summary.diagnosis) <= COMPONENTS - {"the judge", "retriever"} | {"none", "undetermined"}
    assert all(group.sure <= group.cases and len(group.worst) == min(5, group.cases) for group in summary.groups)


def test_four_fifths_are_not_below_four_fifths_by_rounding_and_a_threshold_of_ones_own_decides() -> None:
    rounded = 1.0 - 0.1 - 0.1
    assert rounded < 0.8 + 1e-12
    for value in (rounded, 0.85):
        record = record_of({"groundedness": value, "source_query_coverage": 1.0, "response_query_coverage": 1.0})
        assert diagnose(record, THRESHOLDS) == ()
    assert [f.rule for f in diagnose(record, thresholds_with({"groundedness": 0.99}))] == ["unsupported_claims"]


@pytest.mark.parametrize("sure", [True, False])
def test_bad_components_are_quoted_with_the_judges_words_and_are_as_sure_as_it(sure: bool) -> None:
    bad = Part(Component("It is free.", (0, 11)), Verdict("no", 0.1, 0.6, "the source names a price", sure), good=False)
    good = Part(Component("It floats.", (12, 22)), Verdict("yes", 0.9), good=True)
    outcomes = {"groundedness": Score(0.5, 2, parts=(bad, good)), "source_query_coverage": Score(1.0, 1)}
    (finding,) = diagnose(Record(Case("c", "What does it cost?"), {}, outcomes), THRESHOLDS)

    (evidence,) = finding.evidence
    assert (evidence.metric, evidence.text, evidence.span) == ("groundedness", "It is free.", (0, 11))
    assert (evidence.fault, evidence.explanation) == ("not supported by the sources", "the source names a price")
    assert finding.sure is sure
    assert finding.doubt == ("" if sure else "the judge isn't sure of any verdict that it rests on")
    assert finding.severity == pytest.approx(0.3)


def test_waste_is_shown_in_tokens_and_is_no_fault() -> None:
    unneeded = Part(Component("x" * 400), Verdict("no"), good=False)
    scores = {"source_query_coverage": Score(1.0, 1), "response_query_coverage": Score(1.0, 1)}
    outcomes = {"source_precision": Score(0.0, 2, parts=(unneeded, unneeded)), **scores}
    record = Record(Case("c", "What?"), {}, outcomes)
    (finding,) = diagnose(record, THRESHOLDS)

    assert (finding.rule, finding.tokens) == ("loose_sources", 200)
    assert headline(record, [finding], THRESHOLDS).component == "none"


def own_settings(folder: Path, when: str, component: str, more: str = "") -> Settings:
    """Settings with a rule of one's own, which is the last one."""
    rule = f'[[rules]]\nname = "own"\nkind = "failure"\nwhen = {when}\ncomponent = "{component}"\nreading = "so"\n'
    path = folder / "ragtriage.toml"
    thresholds = '[thresholds]\nfaithfulness = 0.9\n"retrieval_recall(k=5)" = 0.5\n'
    path.write_text(f"[fail_above]\nhallucination = 0.2\n{thresholds}{rule}{more}", encoding="utf-8")
    return read_settings(path)


def test_a_rule_of_ones_own_works_as_the_built_in_ones_do(tmp_path: Path) -> None:
    rules = own_settings(tmp_path, '{ source_precision = "low", groundedness = "low" }', "reranker").rules
    record = record_of({"source_precision": 0.1, "groundedness": 0.1})

    (finding,) = diagnose(record, THRESHOLDS, rules)
    tally = Tally(THELMA, THRESHOLDS, rules)
    tally.add(record)

    assert (finding.rule, finding.kind, finding.component) == ("own", "failure", "reranker")
    assert finding.severity == pytest.approx(0.4 + 0.7)
    assert tally.summary().diagnosis == {"reranker": 1}
    assert diagnose(record, THRESHOLDS) == ()


def test_a_rule_of_ones_own_quotes_what_is_bad_in_either_direction(tmp_path: Path) -> None:
    when = '{ hallucination = "high", faithfulness = "low", answer_recall = "high" }'
    settings = own_settings(tmp_path, when, "generator")
    bad, good = (Part(Component(text), Verdict("no"), text == "fine") for text in ("wrong", "fine"))
    names = {"hallucination": 0.9, "groundedness": 0.1, "answer_recall": 0.9}
    record = Record(Case("c", "What?"), {}, {name: Score(value, 2, 0, (bad, good)) for name, value in names.items()})
    (finding,) = diagnose(record, settings.thresholds, settings.rules[-1:])

    assert settings.fail_above == {"hallucination": 0.2}
    assert (settings.thresholds["groundedness"], settings.thresholds["retrieval_recall(k=5)"]) == (0.9, 0.5)
    assert [(e.metric, e.text) for e in finding.evidence] == [("hallucination", "wrong"), ("groundedness", "wrong")]


def test_a_rule_of_ones_own_may_ask_for_a_fault(tmp_path: Path) -> None:
    low, scores = '{ citation_groundedness = "low" }', {"citation_groundedness": 0.4}
    rules = own_settings(tmp_path, low, "generator", 'faults = ["dangling"]\n').rules[-1:]

    assert [f.rule for f in diagnose(record_of(scores, faults=["dangling"]), THRESHOLDS, rules)] == ["own"]
    assert diagnose(record_of(scores, faults=["uncited"]), THRESHOLDS, rules) == ()
    with pytest.raises(ConfigError, match="no bad component is called 'dangled': there are contradicted, dangling, "):
        own_settings(tmp_path, low, "generator", 'faults = ["dangled"]\n')


def test_a_partly_declining_response_is_blamed_for_its_false_citations_alone() -> None:
    segments = (Component("I found nothing on parking.", remark=True), Component("The bus stops at the station."))

    def partly(value: float, *faults: str, claims: bool = True) -> Record:
        record = record_of({"citation_groundedness": value}, declines=True, faults=faults)
        return replace(record, steps={**record.steps, str(SEGMENTS): segments if claims else segments[:1]})

    def read(record: Record) -> tuple[list[tuple[str, list[str]]], str]:
        found = diagnose(record, THRESHOLDS)
        return [(f.rule, [e.fault for e in f.evidence]) for f in found], component_of(record, found)

    assert declined(partly(0.0)) is None
    assert declined(partly(0.0, claims=False)) is True
    assert read(partly(0.0, "dangling", "uncited")) == (
        [("unsupported_citations", [FALSE["dangling"]])],
        "prompt or generator",
    )
    assert read(partly(0.0, "misattributed")) == ([("misattributed_citations", [FALSE["misattributed"]])], "prompt")
    assert read(partly(0.0, "uncited")) == ([], "undetermined")
    assert read(partly(1.0)) == ([], "none")


@pytest.mark.parametrize("sure", [True, False])
def test_a_finding_about_citations_quotes_what_it_is_about_alone_and_is_as_sure_as_that(sure: bool) -> None:
    record = record_of({"citation_groundedness": 0.4}, faults=["dangling", "uncited", "misattributed"])
    score = record.outcomes["citation_groundedness"]
    assert isinstance(score, Score)
    parts = (*score.parts[:2], replace(score.parts[2], cell=Verdict("no", sure=sure)))
    outcomes = {"citation_groundedness": replace(score, parts=parts)}

    first, second = diagnose(replace(record, outcomes=outcomes), THRESHOLDS)

    assert [e.fault for e in first.evidence] == [FALSE["dangling"], FALSE["uncited"]]
    assert [e.fault for e in second.evidence] == [FALSE["misattributed"]]
    assert (first.component, second.component) == ("prompt or generator", "prompt")
    assert (first.sure, second.sure) == (True, sure)


def test_what_misled_is_quoted_from_the_verdicts() -> None:
    case = Case(
        "c", "Who built it?", (Source("Ada Morrow built it."), Source("Ben Reed paints.")), "Ben Reed.", "Ada Morrow."
    )

    def answer(question: Question) -> Answer:
        if question.kind in DECOMPOSITIONS:
            return (Component(question.subject),)
        return Verdict("yes" if question.kind == "supported" and question.subject[:3] in question.evidence[0] else "no")

    chosen = metrics_named(["generator", "reference", "-query_similarity"])
    (record,) = evaluate_sync([case], FakeJudge(answer), metrics=chosen)
    (finding,) = [f for f in diagnose(record, THRESHOLDS) if f.rule.startswith("misled")]

    assert (finding.component, finding.sure) == ("retriever", True)
    assert [(e.text, e.fault) for e in finding.evidence] == [
        ("Ben Reed.", "wrong, and taken from an irrelevant source")
    ]
    assert "source 2 supports it" in finding.evidence[0].explanation


def contradicted(*sure: bool, supported: int = 9) -> Record:
    """A record whose response has so many supported claims, and a contradicted one for each of `sure`."""
    good = [Part(Component(f"Claim {n}."), Verdict("yes"), good=True) for n in range(supported)]
    bad = [
        Part(Component(f"Wrong {n}."), Verdict("no", sure=one, contradicted=True), good=False, kind=CONTRADICTED)
        for n, one in enumerate(sure)
    ]
    parts = (*good, *bad)
    outcomes: dict[str, Outcome] = dict.fromkeys(("source_query_coverage", "response_query_coverage"), Score(1.0, 1))
    outcomes["groundedness"] = Score(supported / len(parts), len(parts), parts=parts)
    return Record(Case("c", "What does it cost?"), {}, outcomes)


def test_one_contradicted_claim_among_many_is_a_finding_that_quotes_it_alone() -> None:
    (finding,) = diagnose(contradicted(True), THRESHOLDS)

    assert (finding.rule, finding.kind, finding.sure) == ("contradicted_claims", "failure", True)
    assert [(e.text, e.fault) for e in finding.evidence] == [("Wrong 0.", "contradicted by the sources")]
    assert finding.scores == {"groundedness": 0.9}
    assert diagnose(contradicted(), THRESHOLDS) == ()


def test_a_contradiction_is_as_sure_as_one_of_its_verdicts_wherever_the_score_lies_and_more_are_more_severe() -> None:
    near = contradicted(True, True, supported=8)
    assert near.outcomes["groundedness"] == replace(near.outcomes["groundedness"], value=THRESHOLDS["groundedness"])

    for record, sure in ((near, True), (contradicted(False, True), True), (contradicted(False, False), False)):
        assert [f.sure for f in diagnose(record, THRESHOLDS)] == [sure]
    (one,), (two,) = (diagnose(contradicted(*([True] * n), supported=20), THRESHOLDS) for n in (1, 2))
    assert 0 < one.severity < two.severity


def test_any_level_holds_for_every_score_that_is_defined() -> None:
    rule = Rule("seen", "failure", {"self_distinctness": "any"}, "it is there", "generator", "")

    for value in (0.0, 0.5, 1.0):
        assert [f.rule for f in diagnose(record_of({"self_distinctness": value}), THRESHOLDS, [rule])] == ["seen"]
        assert diagnose(record_of({"groundedness": value}), THRESHOLDS, [rule]) == ()
    assert diagnose(record_of({"self_distinctness": None}), THRESHOLDS, [rule]) == ()


def test_a_rule_that_reads_no_level_does_not_tell_that_nothing_is_wrong() -> None:
    rule = Rule("seen", "failure", {"groundedness": "any"}, "it is there", "generator", "", faults=(CONTRADICTED,))

    assert component_of(record_of({"groundedness": 1.0}), (), [rule]) == "undetermined"


MADE_UP = Rule("made_up", "failure", {"hallucination": "high"}, "made up", "generator", "", ("hallucination",))
SOUND = Rule("sound", "right", {"hallucination": "low"}, "nothing is made up", "generator", "Keep it.")


def made_up(value: float, *, unsure: int = 0) -> Record:
    """A record whose response is made up to this part; so many of its bad claims aren't sure."""
    bad = [Part(Component(f"Claim {i}."), Verdict("no", sure=i >= unsure), False) for i in range(round(value * 10))]
    return Record(Case("c", "What?"), {}, {"hallucination": Score(value, 10, 0, tuple(bad))})


@pytest.mark.parametrize(("value", "rule"), [(0.0, SOUND), (0.2, SOUND), (0.3, MADE_UP), (1.0, MADE_UP)])
def test_where_lower_is_better_high_is_above_the_threshold_and_low_at_or_below_it(value: float, rule: Rule) -> None:
    (finding,) = diagnose(made_up(value), THRESHOLDS, (MADE_UP, SOUND))

    assert finding.rule == rule.name


def test_where_lower_is_better_what_lies_farther_above_is_more_severe_and_the_bad_is_quoted() -> None:
    (slight,), (severe,) = (diagnose(made_up(value), THRESHOLDS, (MADE_UP,)) for value in (0.4, 0.9))

    assert (slight.severity, severe.severity) == (pytest.approx(0.2), pytest.approx(0.7))
    assert [(e.text, e.fault) for e in slight.evidence[:2]] == [
        ("Claim 0.", "not supported by the sources"), ("Claim 1.", "not supported by the sources")
    ]  # fmt: skip
    assert diagnose(made_up(0.5, unsure=4), THRESHOLDS, (MADE_UP,))[0].sure
    assert "isn't sure of" in diagnose(made_up(0.5, unsure=5), THRESHOLDS, (MADE_UP,))[0].doubt
