"""One case as it is shown, in the terminal and in HTML alike: a pure reading of a record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragtriage.core.metric import Better, Metric
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Score, Undefined
from ragtriage.diagnosis import Finding
from ragtriage.diagnosis.thresholds import is_bad
from ragtriage.metrics import metric_named
from ragtriage.metrics.decompositions import SEGMENTS
from ragtriage.metrics.source import fact_precision, source_precision
from ragtriage.planning.relations import STANDALONE_QUERY
from ragtriage.report.citations import SegmentView, segments_view
from ragtriage.report.claims import MOST_CLAIMS, ClaimView, claims_of, repeats_of, verdicts_of
from ragtriage.report.coverage import Coverage, Place, State, coverage_of, place_of
from ragtriage.report.faults import FaultView, faults_of
from ragtriage.report.marks import LOOKS, Look, Mark, Piece, pieces
from ragtriage.report.plain import one_line, plain
from ragtriage.text.citations.segments import unread_marks

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
class SourceView:
    """One source."""

    number: int
    """From 1, in the retriever's order."""
    name: str
    """The application's own id; empty if it has none."""
    needed: Place
    facts: int
    """How many facts were judged; 0 if none were asked about."""
    essential: int
    """How many of them were needed."""
    pieces: tuple[Piece, ...]
    unplaced: tuple[str, ...]
    """Essential facts that have no place in the text."""
    characters: int


@dataclass(frozen=True, slots=True)
class ScoreView:
    """One score of the case."""

    name: str
    title: str
    value: float | None
    threshold: float | None
    bad: bool
    """Whether it lies on the wrong side of its threshold."""
    better: Better
    range: tuple[float, float]
    reason: str
    """Why it is undefined; empty if it isn't."""
    failed: bool
    unknown: int


@dataclass(frozen=True, slots=True)
class CaseView:
    """All that is shown of a case."""

    id: str
    query: str
    understood: str
    """The query as it was understood without the conversation before it; empty where that is the query itself."""
    tags: tuple[tuple[str, str], ...]
    response: tuple[Piece, ...]
    response_note: str
    """Why there is nothing to read in the response; empty if there is."""
    claims: tuple[ClaimView, ...]
    claims_left_out: int
    segments: tuple[SegmentView, ...]
    """By citation marks; empty where no citation metric was computed, or the response cites nothing."""
    segments_left_out: int
    unread: str
    """What looks as if it might cite and wasn't read as a mark; empty if nothing does."""
    cited_response: tuple[Piece, ...]
    """The response with its segments marked."""
    sources: tuple[SourceView, ...]
    sources_left_out: int
    coverage: Coverage | None
    scores: tuple[ScoreView, ...]
    findings: tuple[Finding, ...]
    reference: str | None
    faults: tuple[FaultView, ...]
    metrics: tuple[Metric, ...] = ()
    """Where titles and directions of metrics of one's own stand."""

    @property
    def looks(self) -> dict[int, Look]:
        """A claim's number → how it is shown."""
        return {claim.number: claim.look for claim in self.claims}

    @property
    def segment_looks(self) -> dict[int, Look]:
        """A segment's number → how it is shown."""
        return {segment.number: segment.look for segment in self.segments}

    @property
    def segment_legend(self) -> list[Look]:
        """The looks of segments that occur, the most pressing first."""
        used = set(self.segment_looks.values())
        return [look for look in LOOKS if look in used]

    @property
    def legend(self) -> list[Look]:
        """The looks that occur, the most pressing first."""
        used = {claim.look for claim in self.claims}
        return [look for look in LOOKS if look in used and look != "plain"]

    @property
    def says_twice(self) -> bool:
        """Whether a sentence of the response says again what another says."""
        return any(piece.repeated for piece in self.response)

    @property
    def states(self) -> list[State]:
        """The verdicts that occur in the coverage matrix."""
        places = (place for row in self.coverage.places for place in row) if self.coverage else ()
        return list(dict.fromkeys(place.state for place in places))


def _understood(record: Record) -> str:
    known = record.steps.get(str(STANDALONE_QUERY))
    text = known[0].text if isinstance(known, tuple) and known else record.case.query
    return "" if text == record.case.query else one_line(text, 1000)


def case_view(
    record: Record, findings: Sequence[Finding], thresholds: Mapping[str, float], metrics: Sequence[Metric] = ()
) -> CaseView:
    """Read a record for showing; `metrics` say what those that aren't built in are called."""
    case = record.case
    claims = claims_of(record)
    kept = sorted(sorted(claims, key=lambda c: LOOKS.index(c.look))[:MOST_CLAIMS], key=lambda c: c.number)
    marks = [mark for claim in kept if (mark := claim.mark)]
    marks += [Mark(span, "plain", repeated=True) for span, _ in repeats_of(record)]
    segments = segments_view(record)
    listed = segments[:MOST_CLAIMS]
    sources = _sources(record)
    return CaseView(
        one_line(case.id, 200),
        plain(case.query[:4000]) + ("…" if len(case.query) > 4000 else ""),
        _understood(record),
        tuple((one_line(str(key), 40), one_line(str(value), 120)) for key, value in list(case.tags.items())[:20]),
        pieces(case.response or "", marks, MOST_RESPONSE),
        _response_note(case.response),
        tuple(kept),
        len(claims) - len(kept),
        listed,
        len(segments) - len(listed),
        one_line(", ".join(dict.fromkeys(unread_marks(case))), 200) if str(SEGMENTS) in record.steps else "",
        pieces(case.response or "", [mark for segment in listed if (mark := segment.mark)], MOST_RESPONSE)
        if listed
        else (),
        sources,
        len(case.sources) - len(sources),
        coverage_of(record),
        tuple(_scores(record, thresholds, metrics)),
        tuple(findings),
        plain(case.reference[:4000]) if case.reference else None,
        faults_of(record, metrics),
        tuple(metrics),
    )


def title_of(name: str, metrics: Sequence[Metric] = ()) -> str:
    """The plain name of one of these metrics or a built-in one; its own name where it is nobody's."""
    metric = metric_named(name, metrics)
    return one_line(metric.title, 60) if metric else name


def doubt_of(finding: Finding, metrics: Sequence[Metric] = ()) -> str:
    """Why a finding isn't sure, with the metrics under their plain names; empty if it is."""
    text = one_line(finding.doubt, 300)
    for name in sorted(finding.scores, key=len, reverse=True):
        text = text.replace(name, title_of(name, metrics))
    return text


def better_of(name: str, metrics: Sequence[Metric] = ()) -> Better:
    """Which direction of a metric is good."""
    metric = metric_named(name, metrics)
    return metric.better if metric else "higher"


def _response_note(response: str | None) -> str:
    if response is None:
        return "no response was given"
    return "" if response.strip() else "the response is empty"


def _scores(record: Record, thresholds: Mapping[str, float], metrics: Sequence[Metric]) -> Iterator[ScoreView]:
    for name, outcome in record.outcomes.items():
        limit, title, better = thresholds.get(name), title_of(name, metrics), better_of(name, metrics)
        metric = metric_named(name, metrics)
        within = metric.range if metric else (0.0, 1.0)
        match outcome:
            case Score(value=value, unknown=unknown):
                bad = is_bad(value, limit, better)
                yield ScoreView(name, title, value, limit, bad, better, within, "", failed=False, unknown=unknown)
            case Undefined(reason=reason, failed=failed):
                shown = one_line(reason, 300)
                yield ScoreView(name, title, None, limit, False, better, within, shown, failed=failed, unknown=0)  # noqa: FBT003


def _sources(record: Record) -> tuple[SourceView, ...]:
    judged = verdicts_of(record, source_precision.needs["needed"])
    needed = (
        {component.source: place_of(cell) for component, cell in zip(judged.components, judged.best(), strict=True)}
        if judged
        else {}
    )
    facts = verdicts_of(record, fact_precision.needs["needed"])
    verdicts: dict[int | None, list[tuple[str, tuple[int, int] | None, bool]]] = {}
    for component, cell in zip(facts.components, facts.best(), strict=True) if facts else ():
        yes = place_of(cell).state == "yes"
        verdicts.setdefault(component.source, []).append((component.text, component.span, yes))
    everywhere = range(len(record.case.sources))
    unknown = Place("not asked")
    first = sorted(everywhere, key=lambda i: needed.get(i, unknown).state != "yes")[:LISTED_SOURCES]
    most = max(LEAST_SOURCE, min(MOST_SOURCE, MOST_SOURCES // max(1, len(first))))
    return tuple(_source(record, i, needed.get(i, unknown), verdicts.get(i, []), most) for i in sorted(first))


def _source(
    record: Record, index: int, needed: Place, facts: Sequence[tuple[str, tuple[int, int] | None, bool]], most: int
) -> SourceView:
    source = record.case.sources[index]
    essential = [(text, span) for text, span, yes in facts if yes]
    marks = [Mark(span, "essential") for _, span in essential if span]
    return SourceView(
        index + 1,
        one_line(source.id or "", 80),
        needed,
        len(facts),
        len(essential),
        pieces(source.text, marks, most),
        tuple(one_line(text, 300) for text, span in essential if not span)[:20],
        len(source.text),
    )
