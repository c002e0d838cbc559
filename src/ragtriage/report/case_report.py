"""One case as it is shown, in the terminal and in HTML alike, and cases as rows: a pure reading of a record."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ragtriage.core.case import Record, counted_text
from ragtriage.core.display import one_line, price_of_tokens, sanitize, told_apart
from ragtriage.core.metric import Better, Metric
from ragtriage.core.verdicts import Component, Score, Span, Undefined, Verdict
from ragtriage.diagnosis.findings import Finding, claims_from_conversation
from ragtriage.diagnosis.headline import Headline, HeadlineKind, Rank, case_rank
from ragtriage.diagnosis.rules import score_interval
from ragtriage.metrics import CITATIONS, THELMA, metric_named
from ragtriage.metrics.aggregate import CLAIMS, SEGMENTS
from ragtriage.metrics.generator import hallucination, ragas_faithfulness
from ragtriage.metrics.reference import answer_f1, answer_precision
from ragtriage.metrics.thelma import REPEATED, fact_precision, groundedness, response_precision, source_precision
from ragtriage.planning.levels import as_read
from ragtriage.report.case_parts import (
    LOOKS,
    Coverage,
    Look,
    Mark,
    Piece,
    SegmentReport,
    VerdictReport,
    VerdictState,
    coverage_of,
    judged,
    pieces,
    segment_reports,
    state_of,
    verdict_report,
)
from ragtriage.report.words import bad_level, title_of
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.text.segments import unrecognized_marks

MOST_CLAIMS = 150
"""Claims listed for one case; of more, the pressing ones come first."""
CONVERSED = "the conversation before the query supports it"
SUPPORT = groundedness.needs["support"]
NEEDED = response_precision.needs["needed"]


@dataclass(frozen=True, slots=True)
class ClaimReport:
    """One claim, or a remark, of the response."""

    number: int
    """From 1, in the order of the text; remarks are numbered along."""
    text: str
    span: Span | None
    look: Look
    support: VerdictReport
    needed: VerdictReport
    repeated: bool
    """Whether it stands in a sentence that says again what another says."""
    confidence: float | None
    """Of the verdict on its support."""

    @property
    def notable(self) -> bool:
        """Whether a reader should look at it even though it may be visible in the text."""
        return self.look in ("unsupported", "check", "unknown") or self.span is None


def claim_reports(record: Record) -> tuple[ClaimReport, ...]:
    """The claims in the order of the text, empty where the response wasn't broken into claims."""
    support, needed = record.verdicts(SUPPORT), record.verdicts(NEEDED)
    listed, either = record.components(CLAIMS), support or needed
    if listed is None:
        listed = either.components if either else ()
    repeats = [span for span, _ in repeats_of(record)]
    conversed = claims_from_conversation(record)
    supported, wanted = (iter(one.best() if one else ()) for one in (support, needed))
    found = []
    for number, component in enumerate(listed, 1):
        cell, need = (None, None) if component.remark else (next(supported, None), next(wanted, None))
        about, use, span = verdict_report(cell), verdict_report(need), component.span
        if component.text in conversed:
            about = replace(about, note=f"{CONVERSED}; {about.note}" if about.note else CONVERSED)
        found.append(
            ClaimReport(
                number,
                one_line(component.text, 600),
                span,
                look_of(about.state, use.state, remark=component.remark),
                about,
                use,
                span is not None and any(span[0] < end and start < span[1] for start, end in repeats),
                cell.confidence if isinstance(cell, Verdict) else None,
            )
        )
    return tuple(found)


def repeats_of(record: Record) -> tuple[tuple[Span, str], ...]:
    """The sentences that say again what another says: where they stand, and the judge's words."""
    return tuple(
        (component.span, verdict_report(cell).note)
        for component, cell in judged(record, REPEATED)
        if component.span and isinstance(cell, Verdict) and cell.value == "yes"
    )


def look_of(support: VerdictState, needed: VerdictState, *, remark: bool = False) -> Look:
    """How a claim is shown.

    Red (`unsupported`) only where the judge is sure; a no that it isn't sure of is *check this*. Whether a claim was
    needed is shown only on one that nothing worse is said about.
    """
    if remark:
        return "remark"
    match support:
        case "no":
            return "unsupported"
        case "check":
            return "check"
        case "unknown" | "failed":
            return "unknown"
        case "yes" | "not asked":
            if needed in ("no", "check"):
                return "extraneous"
            return "supported" if support == "yes" else "plain"


ELSEWHERE = frozenset(m.name for m in (*THELMA, *CITATIONS, hallucination, ragas_faithfulness))
"""The claims, the segments, the sources and the table of sub-questions show what these rest on."""
MOST = 8
"""Components that are listed for one metric."""


@dataclass(frozen=True, slots=True)
class PartReport:
    """One component that speaks against the answer."""

    text: str
    note: str
    """Why, in the judge's words; empty if it gave none."""
    sure: bool
    """Whether the judge is sure of its verdict."""


@dataclass(frozen=True, slots=True)
class FaultReport:
    """One metric's bad components, of one kind where it tells several apart."""

    title: str
    better: Better
    fault: str
    """What is wrong with each, in plain words; empty where the metric doesn't say."""
    parts: tuple[PartReport, ...]
    left_out: int


def fault_reports(record: Record, metrics: Sequence[Metric] = ()) -> tuple[FaultReport, ...]:
    """The bad components of the scores that are shown nowhere else; metrics that found the same are listed once."""
    found: dict[tuple[str, tuple[str, ...]], FaultReport] = {}
    for name, outcome in record.outcomes.items():
        metric = metric_named(name, metrics)
        if metric is None or name in ELSEWHERE or not isinstance(outcome, Score):
            continue
        if name == answer_f1.name and answer_precision.name in record.outcomes:
            continue  # the two that it is the mean of are listed
        bad = [part for part in outcome.parts if part.good is False]
        for fault in dict.fromkeys(metric.fault_of(part) for part in bad):
            alike = [part for part in bad if metric.fault_of(part) == fault]
            key = fault or name, tuple(part.component.text for part in alike)
            shown = tuple(
                PartReport(
                    one_line(part.component.text, 300),
                    verdict_report(part.cell).note,
                    part.cell.sure if isinstance(part.cell, Verdict) else True,
                )
                for part in alike[:MOST]
            )
            title, left_out = one_line(metric.title, 60), len(alike) - len(shown)
            found.setdefault(key, FaultReport(title, metric.better, one_line(fault, 80), shown, left_out))
    return tuple(found.values())


MOST_RESPONSE = 8_000
"""Characters of a response that are shown; a longer one is cut around its most pressing claims."""
MOST_SOURCE = 3_000
"""Characters of one source that are shown; a longer one is cut around its essential facts."""
MOST_SOURCES = 24_000
"""Characters of all sources of a case together."""
LEAST_SOURCE = 400
"""Characters that every listed source gets, however many there are."""
LISTED_SOURCES = 20
"""Sources that are listed; of more, the needed ones come first."""


@dataclass(frozen=True, slots=True)
class SourceReport:
    """One source."""

    number: int
    """From 1, in the retriever's order."""
    name: str
    """The application's own id; empty if it has none."""
    needed: VerdictReport
    facts: int
    """How many facts were judged; 0 if none were asked about."""
    essential: int
    """How many of them were needed."""
    pieces: tuple[Piece, ...]
    unplaced: tuple[str, ...]
    """Essential facts that have no place in the text."""
    characters: int

    @property
    def needed_as_a_whole(self) -> bool:
        """Whether it is needed though none of its facts is by itself."""
        return self.needed.state == "yes" and self.facts > 0 and not self.essential


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreReport:
    """One score of the case."""

    name: str
    title: str
    value: float | None
    better: Better
    range: tuple[float, float]
    threshold: float | None
    beyond: str = ""
    """On which side of its threshold it lies, `▼ low, below 0.8`; empty for a good one."""
    reason: str = ""
    """Why it is undefined; empty if it isn't."""
    failed: bool = False
    unknown: int = 0
    counted: str = ""
    """What an expected share is made of, and between which values the judge's doubt leaves it."""

    @property
    def bad(self) -> bool:
        """Whether it lies on the wrong side of its threshold."""
        return bool(self.beyond)

    @property
    def shown(self) -> str:
        """The value as it is shown, on the right side of its threshold; empty if there is none."""
        return "" if self.value is None else told_apart(self.value, self.threshold)


@dataclass(frozen=True, slots=True)
class CaseReport:
    """All that is shown of a case."""

    id: str
    query: str
    understood: str
    """The query as it was understood without the conversation before it; empty where that is the query itself."""
    tags: tuple[tuple[str, str], ...]
    response: tuple[Piece, ...]
    response_note: str
    """Why there is nothing to read in the response; empty if there is."""
    claims: tuple[ClaimReport, ...]
    claims_left_out: int
    segments: tuple[SegmentReport, ...]
    """By citation marks; empty where no citation metric was computed, or the response cites nothing."""
    segments_left_out: int
    unread: str
    """What looks as if it might cite and wasn't read as a mark; empty if nothing does."""
    cited_response: tuple[Piece, ...]
    """The response with its segments marked."""
    sources: tuple[SourceReport, ...]
    sources_left_out: int
    coverage: Coverage | None
    scores: tuple[ScoreReport, ...]
    headline: Headline
    findings: tuple[Finding, ...]
    reference: str | None
    faults: tuple[FaultReport, ...]
    metrics: tuple[Metric, ...] = ()
    """Where titles and directions of metrics of one's own stand."""
    application_price: float | None = None
    """US dollars that the application's model takes for a million prompt tokens, where that is known."""

    def wasted(self, tokens: int) -> float | None:
        """What the application paid for so many tokens, in US dollars; None if its price isn't known."""
        return price_of_tokens(tokens, self.application_price)

    @property
    def states(self) -> list[VerdictState]:
        """The verdicts that occur in the coverage matrix."""
        places = (place for row in self.coverage.places for place in row) if self.coverage else ()
        return list(dict.fromkeys(place.state for place in places))


def looks_of(parts: Iterable[ClaimReport | SegmentReport]) -> dict[int, Look]:
    """A part's number → how it is shown."""
    return {part.number: part.look for part in parts}


def legend_of(parts: Iterable[ClaimReport | SegmentReport]) -> list[Look]:
    """The looks that occur, the most pressing first."""
    return sorted({part.look for part in parts}, key=LOOKS.index)


def _marks(parts: Iterable[ClaimReport | SegmentReport]) -> list[Mark]:
    return [Mark(part.span, part.look, part.number) for part in parts if part.span]


def _understood(record: Record) -> str:
    read = as_read(record.case, record.steps).query
    return "" if read == record.case.query else one_line(read, 1000)


def case_report(record: Record, findings: Sequence[Finding], config: EvaluationConfig) -> CaseReport:
    """Read a record for showing."""
    case, response = record.case, record.case.response
    claims = claim_reports(record)
    kept = sorted(sorted(claims, key=lambda c: LOOKS.index(c.look))[:MOST_CLAIMS], key=lambda c: c.number)
    marks = [*_marks(kept), *(Mark(span, "plain", repeated=True) for span, _ in repeats_of(record))]
    segments = segment_reports(record)
    listed = segments[:MOST_CLAIMS]
    sources = _sources(record)
    return CaseReport(
        one_line(case.id, 200),
        sanitize(case.query[:4000]) + ("…" if len(case.query) > 4000 else ""),
        _understood(record),
        tuple((one_line(str(key), 40), one_line(str(value), 120)) for key, value in list(case.tags.items())[:20]),
        pieces(response or "", marks, MOST_RESPONSE),
        "no response was given" if response is None else "" if response.strip() else "the response is empty",
        tuple(kept),
        len(claims) - len(kept),
        listed,
        len(segments) - len(listed),
        one_line(", ".join(dict.fromkeys(unrecognized_marks(case))), 200) if str(SEGMENTS) in record.steps else "",
        pieces(response or "", _marks(listed), MOST_RESPONSE) if listed else (),
        sources,
        len(case.known_sources) - len(sources),
        coverage_of(record),
        tuple(_scores(record, config.thresholds, config.metrics)),
        config.headline(record, findings),
        tuple(findings),
        sanitize(case.reference[:4000]) if case.reference else None,
        fault_reports(record, config.metrics),
        config.metrics,
        config.application_price,
    )


def _counted(score: Score, better: Better) -> str:
    counted, interval = counted_text(score.parts), score_interval(score, better)
    return f"{counted}, 95 % {interval[0]:.2f}–{interval[1]:.2f}" if counted and interval else counted


def _scores(record: Record, thresholds: Mapping[str, float], metrics: Sequence[Metric]) -> Iterator[ScoreReport]:
    for name, outcome in record.outcomes.items():
        metric, limit = metric_named(name, metrics), thresholds.get(name)
        better, within = (metric.better, metric.range) if metric else ("higher", (0.0, 1.0))
        shown = partial(
            ScoreReport, name=name, title=title_of(name, metrics), better=better, range=within, threshold=limit
        )
        match outcome:
            case Score(value=value, unknown=unknown):
                bad = bad_level(value, limit, better)
                beyond = f"{bad}, {'below' if better == 'higher' else 'above'} {limit:g}" if bad else ""
                yield shown(value=value, beyond=beyond, unknown=unknown, counted=_counted(outcome, better))
            case Undefined(reason=reason, failed=failed):
                yield shown(value=None, reason=one_line(reason, 300), failed=failed)


def _sources(record: Record) -> tuple[SourceReport, ...]:
    needed = {one.source: verdict_report(cell) for one, cell in judged(record, source_precision.needs["needed"])}
    facts: dict[int | None, list[tuple[Component, bool]]] = {}
    for fact, cell in judged(record, fact_precision.needs["needed"]):
        facts.setdefault(fact.source, []).append((fact, state_of(cell) == "yes"))
    unknown = VerdictReport("not asked")
    everywhere = range(len(record.case.known_sources))
    first = sorted(everywhere, key=lambda i: needed.get(i, unknown).state != "yes")[:LISTED_SOURCES]
    most = max(LEAST_SOURCE, min(MOST_SOURCE, MOST_SOURCES // max(1, len(first))))
    found = []
    for i in sorted(first):
        source, own = record.case.known_sources[i], facts.get(i, [])
        essential = [fact for fact, yes in own if yes]
        found.append(
            SourceReport(
                i + 1,
                one_line(source.id or "", 80),
                needed.get(i, unknown),
                len(own),
                len(essential),
                pieces(source.text, [Mark(fact.span, "essential") for fact in essential if fact.span], most),
                tuple(one_line(fact.text, 300) for fact in essential if not fact.span)[:20],
                len(source.text),
            )
        )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class ListedCase:
    """One case on one line."""

    id: str
    query: str
    kind: HeadlineKind
    component: str
    """Under which it is counted, or what wastes."""
    about: str
    """What is named beside the kind: see `ragtriage.diagnosis.Headline`."""
    reading: str
    sure: bool
    rules: tuple[str, ...]
    """Those of all its findings."""
    scores: Mapping[str, float | None]
    """Metric name → value, None where it is undefined."""
    rank: Rank


def listed_case(record: Record, findings: Sequence[Finding], config: EvaluationConfig) -> ListedCase:
    """A case on one line, with its rank."""
    head = config.headline(record, findings)
    scores = {name: o.value if isinstance(o, Score) else None for name, o in record.outcomes.items()}
    return ListedCase(
        one_line(record.case.id, 80),
        one_line(record.case.query, 140),
        head.kind,
        head.about if head.kind == "waste" else head.component,
        one_line(head.about, 120),
        one_line(head.reading, 200),
        head.sure,
        tuple(dict.fromkeys(finding.rule for finding in findings)),
        scores,
        case_rank(record, findings, head, config.thresholds, config.metrics),
    )


def worst_first(rows: Iterable[ListedCase]) -> list[ListedCase]:
    """Rows in the order of their rank."""
    return sorted(rows, key=lambda row: row.rank)
