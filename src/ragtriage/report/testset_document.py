"""What a test set reveals, as documents: a table like table 2 of GRAMMAR, and why answers failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ragtriage.core.display import one_line, plural
from ragtriage.report.document import (
    GAP,
    Block,
    Cell,
    Column,
    Heading,
    StyledText,
    line,
    note,
    number_columns,
    table,
    text_columns,
)
from ragtriage.report.words import TABLES, two_places
from ragtriage.testset.corpus import GapLookup
from ragtriage.testset.correctness import Decision, MatcherCheck
from ragtriage.testset.failure_analysis import GRAMMAR_VERDICTS, SIDES, BlameAgreement, FailureAnalysis
from ragtriage.testset.groups import RULES, TAGS, Rule
from ragtriage.testset.scoring import (
    METRICS,
    Average,
    ClusterScores,
    Comparison,
    Difference,
    Metric,
    ModularScores,
    ScoringOptions,
)
from ragtriage.testset.sufficiency import SecondRun

OTHER_AVERAGE: dict[Average, Average] = {"rows": "groups", "groups": "rows"}
"""What is shown beside the average that was chosen."""
WORDS = TABLES["testset"]
SHOWN = 5
"""Gap groups that are named; all are counted."""


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One metric of each cluster, over one sample."""

    metric: Metric
    sample: str
    """`as given`, `balanced`, or the other average: `over groups`."""
    cells: tuple[str, ...]
    """One a cluster."""
    difference: str = ""
    p: str = ""


def scores_document(
    scores: ModularScores, even: ModularScores | None, decisions: Sequence[Decision], file: str
) -> Iterator[Block]:
    """The clusters' accuracy and robustness, as given and in an even sample, their difference, and their groups."""
    clusters, compared = list(scores.clusters.values()), scores.comparison
    yield line(f"{plural(len(decisions), 'answer')} of {one_line(file, 120)}", tone="strong")
    yield from map(note, terms_of(scores.terms, decisions, clusters))
    if len(clusters) > 2:
        heads = number_columns("answers", "accuracy", "w/o LM", "robustness", "w/o LM")
        yield GAP
        yield table(
            (*text_columns("cluster", most=24), *heads), (_cluster(one, scores.terms.average) for one in clusters)
        )
    if compared:
        names = [compared.first, compared.second]
        columns = (*text_columns(""), *_heads(names), *text_columns("difference"), *number_columns("p"))
        yield GAP
        yield table(columns, _pair(scores, even, names))
        yield from map(note, _compared(compared))
    elif len(clusters) < 3:
        names = [one.name for one in clusters]
        yield GAP
        yield table((*text_columns(""), *_heads(names)), _pair(scores, None, names))
    yield Heading("Groups, and wrong answers of non-robust groups by the module at fault")
    heads = number_columns(*(tag.replace("_", "-") for tag in TAGS), "LM", "retrieval", "can't tell")
    yield table((*text_columns("cluster", most=16), *heads), map(_groups, clusters), gap=1)
    yield note("gap: all wrong · robust: all right · non-robust: some right · undecided: some not decided")
    for reason in sorted({f"{one_line(c.name, 40)}: {why}" for c in clusters for why in c.undefined.values()}):
        yield line(f"Undefined for {reason}.")
    if compared is None and len(clusters) > 2:
        yield line("No two clusters were compared: name them, as in --clusters short,long.")


def score_rows(scores: ModularScores, even: ModularScores | None, names: Sequence[str]) -> Iterator[ScoreRow]:
    """Every metric as given, balanced, and averaged the other way; the difference is that of the chosen average."""
    average = scores.terms.average
    other = OTHER_AVERAGE[average]
    for metric in METRICS:
        for sample, found in (("as given", scores), ("balanced", even)):
            if found is not None:
                cells = tuple(number_of(found.clusters[name].values[average][metric]) for name in names)
                moved = found.comparison.metrics[metric] if found.comparison else None
                both = (difference_of(moved), p_of(moved.p)) if moved else ("", "")
                yield ScoreRow(metric, sample, cells, *both)
        cells = tuple(number_of(scores.clusters[name].values[other][metric]) for name in names)
        yield ScoreRow(metric, f"over {other}", cells)


def terms_of(terms: ScoringOptions, decisions: Sequence[Decision], clusters: Sequence[ClusterScores]) -> list[str]:
    """What was counted, and how, in sentences."""
    by = Counter(decision.by for decision in decisions if decision.correct is not None)
    decided = ", ".join(f"{count:,} by {'the ' if who != 'the file' else ''}{who}" for who, count in by.most_common())
    undecided = len(decisions) - by.total()
    scope = "pooled over the clusters" if terms.scope == "pooled" else "of one cluster each"
    policy = "counted as correct" if terms.lm_errors == "correct" else "dropped"
    rules: Counter[Rule] = Counter()
    for cluster in clusters:
        rules.update(cluster.rules)
    blamed = (f"blamed by {rule} ({n:,}): on the language model if {RULES[rule]}" for rule, n in rules.most_common())
    return [
        f"decided: {decided or 'none'}" + (f"; {undecided:,} undecided" if undecided else ""),
        f"groups: {scope}; numbers: averaged over {terms.average}",
        f"without LM errors: wrong answers blamed on the language model are {policy}",
        *blamed,
    ]


def _heads(clusters: Iterable[str]) -> tuple[Column, ...]:
    return number_columns(*(one_line(name, 12) for name in clusters))


def _cluster(one: ClusterScores, average: Average) -> tuple[str, ...]:
    return one_line(one.name, 40), f"{one.rows:,}", *(number_of(one.values[average][metric]) for metric in METRICS)


def _pair(scores: ModularScores, even: ModularScores | None, names: Sequence[str]) -> Iterator[tuple[Cell, ...]]:
    """Like the paper's table 2: the two metrics, as given and balanced, with and without errors of the model."""
    rows = list(score_rows(scores, even, names))
    for title in ("Accuracy", "Robustness"):
        yield (StyledText(title, "strong"),)
        for sample in dict.fromkeys(row.sample for row in rows):
            for row in rows:
                words = WORDS["metric"][row.metric]
                if row.sample == sample and words.startswith(title):
                    without = ", without LM errors" if words != title else ""
                    both = (row.difference, row.p) if scores.comparison else ()
                    yield f"  {sample}{without}", *row.cells, *both


def _compared(comparison: Comparison) -> Iterator[str]:
    first, second = one_line(comparison.first, 30), one_line(comparison.second, 30)
    paired = next(iter(comparison.metrics.values())).paired_groups
    have = "has" if paired == 1 else "have"
    yield f"difference: {first} minus {second}, with its 95 % interval (bootstrap over groups)"
    yield f"p: the clusters swapped in {plural(paired, 'group')} that {have} answers in both"
    seen = {name: comparison.metrics[name].detectable for name in ("accuracy", "robustness")}
    told = [f"{value:.2f} in {name}" for name, value in seen.items() if value is not None]
    if told:
        yield f"smallest difference that shows 80 times of 100: {', '.join(told)}"


def _groups(one: ClusterScores) -> tuple[str, ...]:
    counts = (*(one.tags[tag] for tag in TAGS), *(one.blame.get(side, 0) for side in ("LM", "retrieval", "unknown")))
    return one_line(one.name, 40), *(f"{count:,}" for count in counts)


def number_of(value: float | None) -> str:
    """A metric with two digits."""
    return "undef." if value is None else f"{value:.2f}"


def difference_of(found: Difference) -> str:
    """A difference with its sign and interval."""
    if found.difference is None:
        return ""
    ends = "" if found.low is None or found.high is None else f" [{_signed(found.low)}, {_signed(found.high)}]"
    return f"{_signed(found.difference)}{ends}"


def _signed(value: float) -> str:
    """With its sign; what rounds to nothing has none."""
    return f"{'+' if round(value, 2) > 0 else ''}{two_places(value)}"


def p_of(value: float | None) -> str:
    """A p-value with three digits."""
    if value is None:
        return ""
    return "<.001" if value < 0.001 else f"{value:.3f}"


def matcher_document(check: MatcherCheck) -> Iterator[Block]:
    """How often the typed match says what the labels say."""
    yield Heading(f"The typed match against {plural(check.rows, 'label')}")
    rows = (
        (name, *(f"{check.counts[label, said]:,}" for said in ("yes", "no", "unknown")))
        for label, name in ((True, "right"), (False, "wrong"))
    )
    yield table((*text_columns("label"), *number_columns("right", "wrong", "can't tell")), rows)


def failure_analysis_document(analysis: FailureAnalysis) -> Iterator[Block]:
    """Why answers failed: a second run, the search of the corpus, THELMA's blame."""
    if analysis.second_run is not None:
        yield Heading("Asked again, with sources that suffice")
        yield from map(line, _second_run(analysis.second_run))
    if analysis.gaps is not None:
        yield from _gaps(analysis.gaps, analysis.documents)
    if analysis.blames is not None:
        yield from _blames(analysis.blames)


def _second_run(found: SecondRun) -> Iterator[str]:
    asked = f"{plural(found.asked, 'wrong answer')} asked again"
    yield f"{asked}: {found.right:,} now right (retrieval was at fault), {found.wrong:,} wrong again (the LM)"
    if found.undecided:
        yield f"{found.undecided:,} without an answer that could be decided: there contexts are compared"
    if found.without_sources:
        yield f"{found.without_sources:,} not asked: no right answer of the group has texts of its sources"
    if found.without_truth:
        yield f"{found.without_truth:,} not asked: without `answer` and `query` nothing can be decided"


def kind_of(gap: GapLookup) -> str:
    """The word of the corpus under which a gap group is counted."""
    return "retrieved" if gap.presence == "found" and gap.retrieved else gap.presence


def _gaps(gaps: Sequence[GapLookup], documents: int) -> Iterator[Block]:
    counts = Counter(map(kind_of, gaps))
    yield Heading(f"Gap groups against the corpus ({plural(documents, 'document')})")
    columns = (*number_columns(""), *text_columns("", wrap=True))
    yield table(columns, ((f"{counts[kind]:,}", words) for kind, words in WORDS["presence"].items()), heads=False)
    named = [gap for gap in gaps if gap.presence == "found"]
    if named:
        yield note("questions whose answer a document states → these documents:")
    for gap in named[:SHOWN]:
        where = ", ".join(gap.documents[:3]) + (", …" if len(gap.documents) > 3 else "")
        told = f"{one_line(gap.question or gap.group, 90)} → {one_line(where, 120)}"
        yield line(told, tone="quiet", indent=2, hang=4)
    if len(named) > SHOWN:
        more = plural(len(named) - SHOWN, "more such question")
        yield line(f"and {more}, which --report and --json list", tone="quiet", indent=2, hang=4)


def cross_rows(found: BlameAgreement) -> Iterator[tuple[Cell, ...]]:
    """Rows of the cross table of both blames; where both agree, a count says so by its tone."""
    for grammar in GRAMMAR_VERDICTS:
        counts = {side: found.counts.get((grammar, side), 0) for side in SIDES}
        if any(counts.values()):
            cells = (StyledText(f"{count:,}", "agreeing" if grammar == side else "") for side, count in counts.items())
            yield WORDS["verdict"][grammar], *cells


def _blames(found: BlameAgreement) -> Iterator[Block]:
    yield Heading(f"Answers by GRAMMAR's blame and by what run {found.run} says is to repair")
    yield table((*text_columns(""), *number_columns(*(WORDS["side"][side] for side in SIDES))), cross_rows(found))
    if found.both:
        both = f"Of {plural(found.both, 'answer')} that both blame"
        yield line(f"{both}, {found.agreeing:,} on the same module ({100 * found.agreeing / found.both:.0f} %)")
    else:
        yield line("No answer is blamed on a module by both.")
    if found.missing:
        yield note(f"{plural(found.missing, 'answer')} not in the run")
