"""What labels and pairs say of a judge, as documents: agreement, a self-test, THELMA's table 1."""

from collections import Counter
from collections.abc import Iterator, Sequence

from ragtriage.core.case import Source
from ragtriage.core.display import one_line, plural
from ragtriage.core.statistics import IntervalEstimate
from ragtriage.core.verdicts import Undefined
from ragtriage.report.document import GAP, DocumentBlock, Heading, line, note, number_columns, table, text_columns
from ragtriage.report.words import share_text, title_of
from ragtriage.trust.agreement import Agreement
from ragtriage.trust.label_files import Label
from ragtriage.trust.label_session import JudgeComparison, compare_with_judge
from ragtriage.trust.pair_files import SHORT
from ragtriage.trust.pair_scoring import MODELS, PUBLISHED, RAGAS_FOR, PairAgreement, ScoredPair, Table1Row
from ragtriage.trust.self_test import MetricTest, SelfTest

_COUNTED = ("pair accuracy", "shown in red, right", "faults shown in red")
"""Measures that say what they are a share of."""
_MEANINGS = {
    "AUC": "AUC: the chance that a row labelled 1 scores higher than one labelled 0; 0.5 is a coin",
    "balanced accuracy": "balanced accuracy, accuracy, kappa: of verdicts as they come; unknown counts as wrong",
    "shown in red, right": "shown in red: where the judge is sure of a fault",
    "pair accuracy": "pair accuracy: over pairs where people take a side; a tied score counts half",
}


def agreement_document(found: Sequence[Agreement], judge: str, file: str) -> Iterator[DocumentBlock]:
    """A table for all rows, and one for each part of them, with what words and length alone get beside it."""
    yield line(f"Does {one_line(judge, 60)} agree with the people of {one_line(file, 120)}?", tone="strong")
    for one in found:
        labels = "" if one.scale == "preference" else f", mean label {one.mean_label:.2f}"
        rows, groups = plural(one.rows, "row"), plural(one.groups, "group")
        yield Heading(f"{one_line(one.name, 60)}: {rows} in {groups}{labels}")
        yield table((*text_columns("", "judge"), *number_columns("words", "length")), _measures(one))
        yield from (line(f"→ {said}") for said in _sentences(one))
    shown = {name for one in found for name in one.judge}
    yield GAP
    yield from (note(meaning) for name, meaning in _MEANINGS.items() if name in shown)
    yield note("in brackets: the 95 % interval, drawing groups of rows again (bootstrap)")


def _measures(one: Agreement) -> Iterator[tuple[str, ...]]:
    for name, measured in one.judge.items():
        counted = f" of {measured.n:,}" if name in _COUNTED else ""
        baselines = (_number(other.get(name)) for other in (one.overlap, one.length))
        yield name, _interval(measured) + counted, *baselines


def _sentences(one: Agreement) -> list[str]:
    by = "" if one.ahead_of_overlap.value is None else f"{one.main} {one.ahead_of_overlap.value:+.2f}"
    if one.ahead_of_overlap.low is not None and one.ahead_of_overlap.high is not None:
        by += f" [{one.ahead_of_overlap.low:+.2f}, {one.ahead_of_overlap.high:+.2f}]"
    said = {
        "yes": f"The judge beats word overlap: {by}.",
        "not shown": f"These rows don't show that the judge beats word overlap: {by}.",
        "no": f"The judge doesn't beat word overlap ({by}): here it has measured nothing that counting words doesn't.",
        "unknown": "The judge can't be compared with word overlap: there is one kind of label only.",
    }
    lines = [said[one.beats_overlap]]
    length, main = one.length.get(one.main), one.judge.get(one.main)
    if length and main and length.value is not None and main.value is not None and length.value >= main.value:
        lines.append("Length alone does as well.")
    if one.without_score:
        have = "has" if one.without_score == 1 else "have"
        lines.append(
            f"{plural(one.without_score, 'row')} {have} no score and count{'s' * (one.without_score == 1)} as wrong."
        )
        if one.reason:
            lines.append(f"Mostly because: {one_line(one.reason, 200)}")
    if one.unknown:
        lines.append(f"Of {plural(one.unknown, 'row')} the judge couldn't tell; they count as wrong.")
    if one.groups < 20:
        lines.append(f"Only {plural(one.groups, 'group')}: the intervals are rough, and too narrow.")
    return lines


def _interval(measured: IntervalEstimate) -> str:
    if measured.value is None:
        return "undefined"
    ends = "" if measured.low is None or measured.high is None else f" [{measured.low:.2f}, {measured.high:.2f}]"
    return f"{measured.value:.2f}{ends}"


def _number(measured: IntervalEstimate | None) -> str:
    if measured is None:
        return ""
    return "undef." if measured.value is None else f"{measured.value:.2f}"


def labels_document(labels: Sequence[Label], path: str) -> Iterator[DocumentBlock]:
    """How often a person and the judge agree on the same items, and where they don't."""
    whole = compare_with_judge(labels)
    yield line(f"You and the judge agree on {_agreed(whole)}.", tone="strong")
    if whole.skipped:
        yield line(f"You skipped {whole.skipped:,}.")
    if whole.unknown:
        yield line(f"Of {plural(whole.unknown, 'item')} the judge couldn't tell: they aren't counted.")
    by_metric: dict[str, list[Label]] = {}
    for one in labels:
        by_metric.setdefault(one.metric, []).append(one)
    if len(by_metric) > 1:
        rows = ((title_of(name), _agreed(compare_with_judge(own))) for name, own in by_metric.items())
        yield table(text_columns("", "", wrap=True), rows, heads=False)
    if whole.disagreements:
        yield Heading("Where you differ")
    for one in whole.disagreements:
        score = "" if one.score is None else f" ({one.score:.2f})"
        verdict = f"you: {'yes' if one.label else 'no'}, the judge: {one.verdict}{score}"
        yield line(f"{one_line(one.case, 40)} · {title_of(one.metric)}: {verdict}")
        yield line(one_line(one.text, 300), tone="quiet", indent=2, hang=0)
    yield GAP
    yield note(f"labels: {path}")


def _agreed(found: JudgeComparison) -> str:
    return share_text(found.agree, found.of, found.share)


NOTHING = "—"
LONGEST = 400
"""Characters of a text that is shown in a failure; -o has all of it."""
LISTED = 5
"""Cases or verdicts that are named of a kind; --json has all."""
LENGTH_NOTE = (
    "Length alone separates most of these pairs, as the changes add or remove text. So the table says whether a metric "
    "moves the right way, as the paper's does; it doesn't rank judges."
)


def selftest_document(found: SelfTest, judge: str, file: str, show: int) -> Iterator[DocumentBlock]:
    """A self-test of a file: agreement, and `show` failures of each metric, to be read."""
    pairs = sum(one.agreement.pairs + one.agreement.failed for one in found.metrics)
    yield line(f"Self-test of {judge}: {plural(pairs, 'pair')} of {one_line(file, 120)}", tone="strong")
    rows = (
        (
            title_of(one.metric),
            f"{one.agreement.pairs:,}",
            _with_interval(one.agreement),
            _share(one.length),
            _share(one.overlap),
        )
        for one in found.metrics
    )
    yield table((*text_columns(""), *number_columns("pairs", "agreement", "length", "words")), rows)
    yield note("length, words: what the length and the word overlap of the texts alone would have got")
    for one in found.metrics:
        yield from (line(f"{title_of(one.metric)}: {said}") for said in _outcome(one.agreement))
    below = [title_of(one.metric) for one in found.metrics if _below(one)]
    if below:
        yield line(f"Surely below what length or words alone get: {', '.join(below)}.", tone="warning")
    if found.skipped:
        yield Heading("Cases of which no pair could be made safely")
        columns = (
            *text_columns("", wrap=True),
            *number_columns("cases", wrap=True),
            *text_columns("reason", wrap=True),
        )
        yield table(columns, _skipped(found))
    yield from _failures([one for one in found.metrics if one.failures], show)


def _below(one: MetricTest) -> bool:
    """Whether the judge does no better than what reads nothing."""
    high = None if one.agreement.agreement is None else one.agreement.high
    return high is not None and high < max(one.length or 0.0, one.overlap or 0.0)


def _skipped(found: SelfTest) -> Iterator[tuple[str, str, str]]:
    common = Counter(reason for reasons in found.skipped.values() for reason in reasons)
    for reason in sorted(common, key=lambda text: (-common[text], text)):
        by_count: dict[int, list[str]] = {}
        for name, reasons in found.skipped.items():
            if reason in reasons:
                by_count.setdefault(reasons[reason], []).append(name)
        for count, names in by_count.items():
            every = len(names) == len(found.skipped) and len(names) > 1
            yield "all metrics" if every else "\n".join(map(title_of, names)), f"{count:,}", reason


def _named(names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return f": {', '.join(one_line(name, 40) for name in names[:LISTED])}{more}"


def _failures(metrics: Sequence[MetricTest], show: int) -> Iterator[DocumentBlock]:
    if not metrics:
        return
    yield Heading("Failures, to be read: the better version doesn't score higher")
    for one in metrics:
        shown = one.failures[:show]
        more = len(one.failures) - len(shown)
        named = _named([failure.pair.id for failure in one.failures]) if not shown else ""
        hidden = f", {more:,} not shown" if more and shown else ""
        yield line(f"{title_of(one.metric)}: {plural(len(one.failures), 'pair')}{named}{hidden}")
        for failure in shown:
            scores = f"better {_score(failure.better)}, worse {_score(failure.worse)}"
            yield line(f"{one_line(failure.pair.id, 60)}: {scores}", tone="strong", indent=2)
            yield from (
                line((f"{name} ", "quiet"), one_line(text, LONGEST), indent=4) for name, text in _versions(failure)
            )
    most = max(len(one.failures) for one in metrics)
    if show < most:
        yield note(f"--show {most} shows them all with both versions.")


def _versions(failure: ScoredPair) -> Iterator[tuple[str, str]]:
    better, worse, change = failure.pair.better, failure.pair.worse, failure.pair.change
    yield "query", better.query
    if change:
        yield "changed", f"{change.what} ({change.place})"
        yield from ((sign, text) for sign, text in (("-", change.before), ("+", change.after)) if text)
    if better.response == worse.response:
        yield "response", better.response or ""
        yield "better", _sources(better.known_sources)
        yield "worse", _sources(worse.known_sources)
    else:
        yield "sources", _sources(better.known_sources)
        yield "better", better.response or ""
        yield "worse", worse.response or ""


def _sources(sources: Sequence[Source]) -> str:
    return " · ".join(one_line(source.text, max(60, LONGEST // max(1, len(sources)))) for source in sources)


def _score(value: float | Undefined) -> str:
    return f"{NOTHING} ({one_line(value.reason, 120)})" if isinstance(value, Undefined) else f"{value:.2f}"


def _share(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"


def _with_interval(found: PairAgreement) -> str:
    if found.agreement is None or found.low is None or found.high is None:
        return NOTHING
    return f"{found.agreement:.2f} [{found.low:.2f}, {found.high:.2f}]"


def _outcome(found: PairAgreement) -> list[str]:
    said = [plural(found.ties, "tie")] if found.ties else []
    said += [f"{count:,} {what}" for count, what in ((found.undefined, "undefined"), (found.failed, "failed")) if count]
    why = f" ({one_line(found.reason, 200)})" if found.reason else ""
    return [f"{', '.join(said)}{why}"] if said else []


def table1_document(rows: Sequence[Table1Row], judge: str, data: str) -> Iterator[DocumentBlock]:
    """THELMA's table 1 by this judge on these data, a row a metric."""
    yield line(f"Agreement in pairwise comparison by {judge}: {one_line(data, 120)}", tone="strong")
    heads = ("pairs", "ours", "RAGAs", "length", "words", "paper: THELMA", "paper: RAGAs")
    yield table((*text_columns(""), *number_columns(*heads)), map(_table1_row, rows), gap=1)
    for row in rows:
        yield from (line(f"{row.short}: {said}") for said in _outcome(row.ours))
    for reason, shorts in _missing(rows).items():
        yield line(f"RAGAs for {', '.join(shorts)}: not computed: {reason}.")
    against = dict.fromkeys(RAGAS_FOR[SHORT[row.short]] for row in rows)
    yield GAP
    for said in (
        "; ".join(f"{row.short} {title_of(SHORT[row.short]).lower()}" for row in rows) + ".",
        "A pair agrees if its better version scores higher; a tie is no agreement. In brackets: 95 % intervals.",
        f"RAGAs: its definitions by the same judge ({', '.join(against)}).",
        "Length, words: what the length and the word overlap of the texts alone would have got.",
        f"Paper: THELMA, table 1, by {', '.join(MODELS)}, on pairs that weren't published.",
        LENGTH_NOTE,
    ):
        yield note(said)


def _table1_row(row: Table1Row) -> tuple[str, ...]:
    paper = PUBLISHED[row.short]
    return (
        row.short,
        f"{row.ours.pairs:,}",
        _with_interval(row.ours),
        *map(_share, (row.ragas.agreement, row.length, row.overlap)),
        *(" ".join(f"{value:.2f}" for value in values) for values in (paper["thelma"], paper["ragas"])),
    )


def _missing(rows: Sequence[Table1Row]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.ragas.agreement is None:
            found.setdefault((row.ragas.reason or "").rstrip(".") or "no pair could be scored", []).append(row.short)
    return found
