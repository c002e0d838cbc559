"""How a test set comes to be and what it reveals, as documents.

What each step wrote and how questions were phrased; a table like table 2 of GRAMMAR; why answers failed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ragtriage.core.display import one_line, plural
from ragtriage.core.statistics import IntervalEstimate
from ragtriage.report.document import (
    GAP,
    DocumentBlock,
    DocumentCell,
    DocumentColumn,
    Heading,
    StyledText,
    line,
    note,
    number_columns,
    table,
    text_columns,
)
from ragtriage.report.templating import text_environment
from ragtriage.report.words import TABLES, two_places
from ragtriage.testset.corpus import GapLookup
from ragtriage.testset.correctness import Decision
from ragtriage.testset.example import Example
from ragtriage.testset.failure_analysis import (
    BLAME_RULES,
    TAGS,
    BlameRule,
    SecondRun,
)
from ragtriage.testset.generation.build import BuildStep, TemplateEstimate
from ragtriage.testset.generation.phrasing.rule_phrasing import PhrasingResult, RefusedPhrasing
from ragtriage.testset.generation.query_templates import TextTemplate
from ragtriage.testset.reliability import Reliability
from ragtriage.testset.scoring import (
    METRICS,
    Average,
    ClusterComparison,
    ClusterDifference,
    ClusterScores,
    ModularScores,
    ScoringOptions,
)

OTHER_AVERAGE: dict[Average, Average] = {"rows": "groups", "groups": "rows"}
"""What is shown beside the average that was chosen."""
WORDS = TABLES["testset"]
SHOWN = 5
"""Gap groups that are named; all are counted."""


def scores_document(
    scores: ModularScores, even: ModularScores | None, decisions: Sequence[Decision], file: str
) -> Iterator[DocumentBlock]:
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


def terms_of(terms: ScoringOptions, decisions: Sequence[Decision], clusters: Sequence[ClusterScores]) -> list[str]:
    """What was counted, and how, in sentences."""
    by = Counter(decision.by for decision in decisions if decision.correct is not None)
    decided = ", ".join(f"{count:,} by {'the ' if who != 'the file' else ''}{who}" for who, count in by.most_common())
    undecided = len(decisions) - by.total()
    scope = "pooled over the clusters" if terms.scope == "pooled" else "of one cluster each"
    policy = "counted as correct" if terms.lm_errors == "correct" else "dropped"
    rules: Counter[BlameRule] = Counter()
    for cluster in clusters:
        rules.update(cluster.rules)
    blamed = (
        f"blamed by {rule} ({n:,}): on the language model if {BLAME_RULES[rule]}" for rule, n in rules.most_common()
    )
    return [
        f"decided: {decided or 'none'}" + (f"; {undecided:,} undecided" if undecided else ""),
        f"groups: {scope}; numbers: averaged over {terms.average}",
        f"without LM errors: wrong answers blamed on the language model are {policy}",
        *blamed,
    ]


def _heads(clusters: Iterable[str]) -> tuple[DocumentColumn, ...]:
    return number_columns(*(one_line(name, 12) for name in clusters))


def _cluster(one: ClusterScores, average: Average) -> tuple[str, ...]:
    return one_line(one.name, 40), f"{one.rows:,}", *(number_of(one.values[average][metric]) for metric in METRICS)


def _pair(
    scores: ModularScores, even: ModularScores | None, names: Sequence[str]
) -> Iterator[tuple[DocumentCell, ...]]:
    """Like the paper's table 2: the two metrics, as given and balanced, with and without errors of the model."""
    average = scores.terms.average
    other = OTHER_AVERAGE[average]
    samples = [("as given", scores, average), (f"over {other}", scores, other)]
    if even:
        samples.insert(1, ("balanced", even, average))
    for title, pair in (("Accuracy", METRICS[:2]), ("Robustness", METRICS[2:])):
        yield (StyledText(title, "strong"),)
        for sample, found, over in samples:
            for metric, without in zip(pair, ("", ", without LM errors"), strict=True):
                cells = [number_of(found.clusters[name].values[over][metric]) for name in names]
                if found.comparison and over == average:
                    moved = found.comparison.metrics[metric]
                    cells += [difference_of(moved), p_of(moved.p)]
                yield f"  {sample}{without}", *cells


def _compared(comparison: ClusterComparison) -> Iterator[str]:
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


def difference_of(found: ClusterDifference) -> str:
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


def matcher_document(check: Mapping[tuple[bool, str], int]) -> Iterator[DocumentBlock]:
    """How often the typed match says what the labels say: (label, its verdict) → rows."""
    yield Heading(f"The typed match against {plural(sum(check.values()), 'label')}")
    rows = (
        (name, *(f"{check.get((label, said), 0):,}" for said in ("yes", "no", "unknown")))
        for label, name in ((True, "right"), (False, "wrong"))
    )
    yield table((*text_columns("label"), *number_columns("right", "wrong", "can't tell")), rows)


def second_run_document(found: SecondRun) -> Iterator[DocumentBlock]:
    """What came of asking again."""
    asked = f"{plural(found.asked, 'wrong answer')} asked again"
    yield Heading("Asked again, with sources that suffice")
    yield line(f"{asked}: {found.right:,} now right (retrieval was at fault), {found.wrong:,} wrong again (the LM)")
    if found.undecided:
        yield line(f"{found.undecided:,} without an answer that could be decided: there contexts are compared")
    if found.without_sources:
        yield line(f"{found.without_sources:,} not asked: no right answer of the group has texts of its sources")
    if found.without_truth:
        yield line(f"{found.without_truth:,} not asked: without `answer` and `query` nothing can be decided")


def kind_of(gap: GapLookup) -> str:
    """The word of the corpus under which a gap group is counted."""
    return "retrieved" if gap.presence == "found" and gap.retrieved else gap.presence


def gaps_document(gaps: Sequence[GapLookup], documents: int) -> Iterator[DocumentBlock]:
    """What the corpus says of gap groups."""
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
        yield line(f"and {more}, which --json lists", tone="quiet", indent=2, hang=4)


def reliability_document(found: Sequence[Reliability], interval: str) -> Iterator[DocumentBlock]:
    """A line a score: precision and recall with their intervals."""
    columns = (*text_columns("score", most=28), *number_columns("from"), *text_columns("precision", "recall"))
    rows = ((one_line(o.score, 40), f"{o.threshold:g}", share_of(o.precision), share_of(o.recall)) for o in found)
    yield table(columns, rows)
    yield note("precision: of the answers that pass, those that are right; low: it is optimistic")
    yield note("recall: of the right answers, those that pass; low: it is cynical")
    yield note(f"in brackets: the 95 % interval ({interval.capitalize()}) and what it is a share of")
    for one in found:
        if one.right.value is not None:
            yield line(
                f"{one_line(one.score, 40)}: {share_of(one.right)} of the answers are right; a score that passes "
                "every answer has this precision"
            )
        if one.left_out:
            yield line(f"{one_line(one.score, 40)}: {plural(one.left_out, 'row')} left out, undecided or without it")


def share_of(share: IntervalEstimate) -> str:
    """A share in per cent with its interval, and what it is a share of."""
    if share.value is None or share.low is None or share.high is None:
        return "undefined (of 0)"
    return f"{100 * share.value:.0f} % [{100 * share.low:.0f}, {100 * share.high:.0f}; {share.n:,}]"


QUOTED = 5
"""Refused entries that are quoted; all are counted."""
REASONS = 8
"""Reasons for refusing phrasings that are shown; all are counted."""
EXAMPLE = 110
"""Characters of an example."""
_DROPPED = {
    "several": "with several answers",
    "null": "with an empty answer",
    "none": "with none",
    "echo": "whose question holds the answer",
}
"""Why combinations of values are dropped."""


def steps_document(steps: Sequence[BuildStep]) -> Iterator[DocumentBlock]:
    """A paragraph a step: the file, its numbers, and what a reader should know."""
    for step in steps:
        kept = "" if step.made else "  (up to date: nothing to do)"
        yield line((str(step.path), "strong"), (kept, "quiet"))
        yield from (line(said, indent=2) for said in _numbers(step.numbers))
        yield from (line(f"note: {said}", indent=2) for said in step.notes)
        problems = step.numbers.get("problems", ())
        for what, sentences in (("can't be used", step.refused), ("couldn't be filled", problems)):
            if sentences:
                yield line(f"{plural(len(sentences), 'entry', 'entries')} {what}:", indent=2)
                yield from (line(one_line(sentence, 300), indent=4) for sentence in sentences[:QUOTED])
                if len(sentences) > QUOTED:
                    yield line(f"and {len(sentences) - QUOTED:,} more", indent=4)


def counted_document(
    counted: Sequence[TemplateEstimate], size: int, half_width: float | None
) -> Iterator[DocumentBlock]:
    """M × N × Q: templates, phrasings and fillings."""
    total = sum(one.phrasings * one.combinations for one in counted)
    phrasings, product = (sum(getattr(one, name) for one in counted) for name in ("phrasings", "product"))
    occurring = sum(one.combinations for one in counted)
    yield line(f"M = {plural(len(counted), 'template')}, with {phrasings:,} phrasings in all")
    yield line(f"Q = {occurring:,} combinations of values; the blind product has {product:,}")
    yield line(f"M × N × Q = {total:,} questions could be asked, before answers are looked at")
    if any(one.sampled for one in counted):
        yield line("of large tables only drawn rows were looked at, so there are more")
    if half_width is not None:
        yield line(f"--size {size:,} buys an accuracy of each criterion to {_points(half_width)}")
    problems = [one for one in counted if one.problem]
    if problems:
        yield Heading(f"{plural(len(problems), 'template')} couldn't be counted")
    yield from (line(f"{one.template}: {one_line(one.problem, 300)}") for one in problems[:QUOTED])


def _points(half_width: float) -> str:
    return f"± {100 * half_width:.1f} points (95 %, where it is widest)"


def _numbers(numbers: Mapping[str, Any]) -> list[str]:
    """A step's numbers in sentences."""
    template = text_environment().get_template("step_numbers.txt.j2")
    dropped = {name: what for name, what in _DROPPED.items() if numbers.get(name)}
    return template.render(n=numbers, dropped=dropped, points=_points).splitlines()


def phrasings_document(texts: Sequence[TextTemplate]) -> Iterator[DocumentBlock]:
    """How many phrasings there are of each criterion, how long they are, and one of each."""
    by_criterion: dict[str, list[TextTemplate]] = {}
    for one in texts:
        by_criterion.setdefault(one.criterion, []).append(one)
    rows = []
    for name, some in by_criterion.items():
        words = [one.measures["words"] for one in some if "words" in one.measures]
        mean = f"{sum(words) / len(words):.0f}" if words else "-"
        rows.append((one_line(name, 24), f"{len(some):,}", mean, one_line(some[0].text, EXAMPLE)))
    columns = (
        *text_columns("criterion", wrap=True),
        *number_columns("phrasings", "words", wrap=True),
        *text_columns("for example", wrap=True),
    )
    yield table(columns, rows)


def refused_document(phrased: PhrasingResult) -> Iterator[DocumentBlock]:
    """What was refused and what is missing, by reason, the most frequent first."""
    for head, noun, refused in (("refused", "candidate", phrased.refused), ("missing", "place", phrased.without)):
        if refused:
            yield line(f"{head}: {plural(len(refused), noun)}", tone="strong")
            yield from _reasons(refused)


def _reasons(refused: Sequence[RefusedPhrasing]) -> Iterator[DocumentBlock]:
    counted = Counter((one.criterion or "all criteria", one.reason.partition(" (")[0]) for one in refused)
    for (criterion, reason), count in counted.most_common(REASONS):
        yield line(f"{count:,} × {one_line(criterion, 24)}: {one_line(reason, EXAMPLE)}", indent=2, hang=4)
    if len(counted) > REASONS:
        yield line(f"and {plural(len(counted) - REASONS, 'other reason')}", indent=2, hang=4)


def example_document(written: Example) -> Iterator[DocumentBlock]:
    """What `testset example` wrote, and how its application is asked."""
    yield line(written.folder, tone="strong")
    rows = (
        ("company.db", "the database: employees, clients and projects"),
        ("documents/", plural(written.documents, "document")),
        ("stated.jsonl", f"{plural(written.stated, 'fact')} of the database that some document states"),
        ("gaps.jsonl", f"{plural(written.gaps, 'fact')} of the database that no document states"),
        ("app.py", "an application over the documents; it needs no model"),
    )
    yield table((DocumentColumn(), DocumentColumn(wrap=True)), rows, heads=False)
    yield note(f"ragtriage collect questions.jsonl --app {written.folder}/app.py:answer -o cases.jsonl")
