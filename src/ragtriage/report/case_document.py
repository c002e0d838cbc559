"""One case as a document."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ragtriage.core.display import dollars, one_line, plural
from ragtriage.diagnosis.headline import KIND_WORDS
from ragtriage.report.case_parts import CitationReport, Coverage, Piece, SegmentReport, VerdictReport
from ragtriage.report.case_report import CaseReport, ClaimReport, ScoreReport, SourceReport, looks_of
from ragtriage.report.document import (
    Bar,
    DocumentBlock,
    DocumentCell,
    DocumentColumn,
    Heading,
    Line,
    StyledText,
    line,
    note,
    number_columns,
    table,
    text_columns,
)
from ragtriage.report.words import DASH, LOOK_WORDS, REPEATED_SIGN, REPEATED_WORDS, SIGNS, STATE_WORDS, doubt_of, titled

MOST_EVIDENCE = 6
SHORT_SOURCE = 320
"""Characters of a source that are shown."""


def case_document(case: CaseReport, width: int = 100) -> Iterator[DocumentBlock]:
    """One case: findings, query, the response with its claims marked, coverage, sources, scores."""
    yield line(case.id, tone="strong", hang=0)
    if case.tags:
        yield line("  ".join(f"{key}={value}" for key, value in case.tags), tone="quiet", hang=0)
    understood = [note(f"understood as: {case.understood}")] if case.understood else []
    yield from _section("Question", [line(case.query), *understood])
    yield from _section("Response", [_response(case)])
    yield from _section("Claims", _claims(case), hang=3)
    yield from _section("Citations", _segments(case), hang=3)
    yield from _section("Reference", [line(case.reference)] if case.reference else [])
    yield from _section("Findings", _findings(case), hang=2)
    if case.coverage:
        yield from _coverage(case, case.coverage, width)
    yield from _section("Sources", (said for source in case.sources for said in _source(source)))
    if case.sources_left_out:
        yield line(plural(case.sources_left_out, "more source"), tone="quiet", indent=2, hang=0)
    yield from _section("What further scores found", _faults(case), hang=2)
    yield Heading("Scores")
    yield replace(
        table(
            (*text_columns(""), *number_columns(""), DocumentColumn(wrap=True)), map(_score, case.scores), heads=False
        ),
        indent=2,
    )


def _section(title: str, lines: Iterable[Line], hang: int = 0) -> Iterator[DocumentBlock]:
    found = list(lines)
    if found:
        yield Heading(title)
    for one in found:
        text = "".join(span.text for span in one.spans)
        yield replace(one, indent=2, hang=len(text) - len(text.lstrip(" ")) + hang)


def _response(case: CaseReport) -> Line:
    if case.response_note:
        return line(case.response_note, tone="nothing")
    looks, said = looks_of(case.claims), []
    for piece in case.response:
        if piece.left_out:
            said.append(StyledText(f" [… {piece.left_out:,} characters left out …] ", "quiet"))
            continue
        said.append(StyledText(piece.text, f"{piece.look} repeated" if piece.repeated else piece.look))
        said += [StyledText(f"[{SIGNS[looks[number]]}{number}]", looks[number]) for number in piece.ends]
        if piece.repeat_ends:
            said.append(StyledText(f"[{REPEATED_SIGN}]"))
    return Line(tuple(said))


def _claims(case: CaseReport) -> Iterator[Line]:
    """What is said about every claim; the unremarkable ones are only counted."""
    fine = 0
    for claim in case.claims:
        if claim.look in ("supported", "plain") and not claim.repeated and claim.span:
            fine += 1
            continue
        why = f": {claim.support.note}" if claim.support.note else ""
        yield line(
            (f"{SIGNS[claim.look] or ' '}{claim.number} ", claim.look),
            (claim.text, claim.look),
            (f" {DASH} {_said_of(claim)}{why}", f"{claim.look} quiet"),
        )
    if fine:
        yield line(
            f"{SIGNS['supported']} {plural(fine, 'claim is', 'claims are')} supported and to the point",
            tone="supported",
        )
    if case.claims_left_out:
        yield note(f"{plural(case.claims_left_out, 'more claim')} not listed")


def _said_of(claim: ClaimReport) -> str:
    said = [LOOK_WORDS[claim.look]]
    if claim.look in ("unsupported", "check") and claim.needed.state in ("no", "check"):
        said.append("not needed to answer")
    if claim.repeated:
        said.append(REPEATED_WORDS)
    return ", ".join(said)


def _segments(case: CaseReport) -> Iterator[Line]:
    """The segments as they stand in the response, each with what it was checked against."""
    for segment in case.segments:
        look = segment.look
        cited = [(f" [{_cited(one)}]", f"{look} quiet") for one in segment.citations]
        yield line(
            (f"{SIGNS[look] or ' '}{segment.number} ", look),
            (segment.text, look),
            *cited,
            (f" {DASH} ", f"{look} quiet"),
            (segment.said, look),
            ("" if look == "remark" else _checked(segment), f"{look} quiet"),
        )
    if case.segments_left_out:
        yield note(f"{plural(case.segments_left_out, 'more segment')} not listed")
    if case.unread:
        yield note(f"not read as citation marks: {case.unread}")


def _cited(citation: CitationReport) -> str:
    """A mark, with the source that it names where that isn't what it says, and a sign where it can be spared."""
    numbers = ", ".join(map(str, citation.sources))
    said = citation.name if numbers in ("", citation.name) else f"{citation.name}: source {numbers}"
    return said + (f" {SIGNS['no']} not needed" if citation.needed == "no" and citation.sources else "")


def _checked(segment: SegmentReport) -> str:
    """What it was checked against, and what was said of it."""
    said = f"; checked against {segment.against}" if segment.against else ""
    said += f": {segment.note}" if segment.note else ""
    if not segment.elsewhere and segment.supported_by is None:
        return said
    told = "against all sources" if segment.supported_by is None else f"source {segment.supported_by} supports it"
    return f"{said}; {told}: {segment.elsewhere}" if segment.elsewhere else f"{said}; {told}"


def _findings(case: CaseReport) -> Iterator[Line]:
    told = case.headline
    if told.kind in ("undetermined", "low-score", "no-fault"):
        yield line(f"{SIGNS[told.kind]} {one_line(str(told), 300)}", tone=told.kind)
    for finding in case.findings:
        price = case.wasted(finding.tokens)
        paid = "" if price is None else f", {dollars(price)}"
        wasted = f" · about {finding.tokens:,} tokens not needed{paid}" if finding.tokens else ""
        sure = "sure" if finding.sure else "not sure"
        head = f"{SIGNS[finding.kind]} {one_line(finding.component, 80)} · {KIND_WORDS[finding.kind]}"
        yield line(f"{head} · {sure}{wasted}", tone=finding.kind)
        yield line(f"  {one_line(finding.reading, 300)}")
        if finding.doubt:
            yield note(f"  not sure: {doubt_of(finding, case.metrics)}")
        for evidence in finding.evidence[:MOST_EVIDENCE]:
            place = f" (source {evidence.source + 1})" if evidence.source is not None else ""
            fault = f" {'' if evidence.sure else 'check this: perhaps '}{evidence.fault}{place}"
            yield line(f"  “{one_line(evidence.text, 160)}”", (fault, "quiet"))
        rest = len(finding.evidence) - MOST_EVIDENCE
        if rest > 0:
            yield note(f"  and {rest} more")
        if finding.advice:
            yield line(f"  → {one_line(finding.advice, 300)}", tone="advice")


def _faults(case: CaseReport) -> Iterator[Line]:
    for found in case.faults:
        yield line(": ".join(filter(None, (titled(found.title, found.better), found.fault))))
        for part in found.parts:
            said = ": ".join(filter(None, ("" if part.sure else "check this", part.note)))
            yield line(f"  “{part.text}”", (f" {DASH} {said}" if said else "", "quiet"))
        if found.left_out:
            yield note(f"  and {found.left_out:,} more")


def _coverage(case: CaseReport, coverage: Coverage, width: int) -> Iterator[DocumentBlock]:
    most = max(20, width - 4 * len(coverage.sources) - 22)
    heads = (*map(str, coverage.sources), "together", "response")
    columns = (DocumentColumn(wrap=True, most=most), *(DocumentColumn(head, "center") for head in heads))
    rows = zip(coverage.questions, coverage.places, strict=True)
    yield Heading("Which question is answered where")
    yield replace(table(columns, ((question, *map(_state, row)) for question, row in rows)), indent=2)
    legend = "  ".join(f"{SIGNS[state]} {STATE_WORDS[state]}" for state in case.states)
    if coverage.left_out:
        legend += f"  ({plural(coverage.left_out, 'source')} not shown)"
    yield line(legend, tone="quiet", indent=2, hang=0)


def _state(place: VerdictReport) -> StyledText:
    return StyledText(SIGNS[place.state], place.state.replace(" ", "-"))


def _source(source: SourceReport) -> Iterator[Line]:
    said = [StyledText(f"{source.number} {source.name}", "strong")]
    state = source.needed.state
    if state != "not asked":
        as_a_whole = " as a whole" if source.needed_as_a_whole else ""
        words = {"yes": f"needed{as_a_whole}", "no": "not needed", "check": "probably not needed"}
        said.append(StyledText(f" {SIGNS[state]} {words.get(state, STATE_WORDS[state])}", f"strong {state}"))
    if source.facts and not source.needed_as_a_whole:
        said.append(StyledText(f" · {source.essential} of {plural(source.facts, 'fact')} needed", "strong quiet"))
    yield Line(tuple(said))
    yield _excerpt(source.pieces)


def _excerpt(pieces: Sequence[Piece]) -> Line:
    """The source's first marked part with a little before it, on a few lines."""
    marked = next((i for i, piece in enumerate(pieces) if piece.look == "essential"), None)
    said, room = [StyledText("   ")], SHORT_SOURCE
    if marked is not None and sum(len(p.text) for p in pieces[:marked]) > SHORT_SOURCE // 3:
        said.append(StyledText("… ", "quiet"))
        pieces = pieces[marked:]
    for piece in pieces:
        if room <= 0 or piece.left_out:
            said.append(StyledText(" …", "quiet"))
            break
        shown = one_line(piece.text, room)
        star = SIGNS["essential"] if piece.look == "essential" else ""
        said.append(StyledText(" " if piece.text[:1].isspace() else ""))
        said.append(StyledText(star + shown, piece.look))
        said.append(StyledText(" " if shown and piece.text[-1:].isspace() else ""))
        room -= len(shown)
    return Line(tuple(said))


def _score(score: ScoreReport) -> tuple[DocumentCell, ...]:
    title = titled(score.title, score.better)
    if score.value is None:
        reason = StyledText(f"failed: {score.reason}", "error") if score.failed else None
        return title, DASH, reason or StyledText(f"undefined: {score.reason}", "quiet")
    tone, beside = "beyond" if score.bad else "", []
    if score.bad:
        beside.append(StyledText(f" {score.beyond}", tone))
    if score.counted:
        beside.append(StyledText(f"  {score.counted}", "quiet"))
    if score.unknown:
        beside.append(StyledText(f"  {plural(score.unknown, 'component')} left out", "quiet"))
    bar = Bar(score.value, score.range, tone or "bar", tuple(beside))
    return StyledText(title, tone), StyledText(score.shown, tone), bar
