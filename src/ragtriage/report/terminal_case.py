"""One case in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from ragtriage.core.metric import Metric
from ragtriage.core.record import Record
from ragtriage.diagnosis import Finding
from ragtriage.report.claims import ClaimView
from ragtriage.report.coverage import Coverage
from ragtriage.report.marks import Piece
from ragtriage.report.plain import one_line
from ragtriage.report.terminal_citations import segment_lines
from ragtriage.report.terminal_style import KIND_STYLE, LOOK_STYLE, bar, heading, say, signs_of, table
from ragtriage.report.view import CaseView, SourceView, case_view, doubt_of
from ragtriage.report.words import (
    KIND_WORDS,
    LOOK_WORDS,
    REPEATED_WORDS,
    STATE_WORDS,
    level_mark,
    plural,
    titled,
    two_places,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MOST_EVIDENCE = 6
SHORT_SOURCE = 320
"""Characters of a source that are shown."""
STATE_STYLE = {
    "yes": "green",
    "no": "red",
    "check": "yellow",
    "unknown": "magenta",
    "failed": "bold red",
    "not asked": "dim",
}


def print_case(
    console: Console,
    record: Record,
    findings: Sequence[Finding],
    thresholds: Mapping[str, float],
    metrics: Sequence[Metric] = (),
) -> None:
    """Print one case: findings, query, the response with its claims marked, coverage, sources, scores.

    `metrics` say what those that aren't built in are called.
    """
    view = case_view(record, findings, thresholds, metrics)
    console.print(Text(view.id, style="bold"))
    if view.tags:
        console.print(Text("  ".join(f"{key}={value}" for key, value in view.tags), style="dim"))
    understood = [Text(f"understood as: {view.understood}", style="dim")] if view.understood else []
    _section(console, "Question", [Text(view.query), *understood])
    _section(console, "Response", _response(console, view))
    _section(console, "Claims", _claims(console, view), hang=3)
    _section(console, "Citations", segment_lines(view, signs_of(console)), hang=3)
    if view.reference:
        _section(console, "Reference", [Text(view.reference)])
    _section(console, "Findings", _findings(console, view), hang=2)
    if view.coverage:
        heading(console, "Which question is answered where")
        _print_coverage(console, view, view.coverage)
    _section(console, "Sources", (line for source in view.sources for line in _source(console, source)))
    if view.sources_left_out:
        say(console, Text(plural(view.sources_left_out, "more source"), style="dim"))
    _section(console, "What further scores found", _faults(console, view), hang=2)
    heading(console, "Scores")
    _print_scores(console, view)


def _response(console: Console, view: CaseView) -> list[Text]:
    if view.response_note:
        return [Text(view.response_note, style="italic dim")]
    signs = signs_of(console)
    looks = view.looks
    line = Text()
    for piece in view.response:
        if piece.left_out:
            line.append(f" [… {piece.left_out:,} characters left out …] ", style="dim")
            continue
        style = LOOK_STYLE[piece.look]
        line.append(piece.text, style=f"{style} underline".strip() if piece.repeated else style)
        for number in piece.ends:
            line.append(f"[{signs.looks[looks[number]]}{number}]", style=LOOK_STYLE[looks[number]])
        if piece.repeat_ends:
            line.append(f"[{signs.repeated}]")
    return [line]


def _claims(console: Console, view: CaseView) -> Iterable[Text]:
    """What is said about every claim; the unremarkable ones are only counted."""
    signs = signs_of(console)
    fine = 0
    for claim in view.claims:
        if claim.look in ("supported", "plain") and not claim.repeated and claim.span:
            fine += 1
            continue
        line = Text(f"{signs.looks[claim.look] or ' '}{claim.number} ", style=LOOK_STYLE[claim.look])
        line.append(claim.text)
        line.append(f" {signs.dash} {said_of(claim)}", style="dim")
        if claim.support.note:
            line.append(f": {claim.support.note}", style="dim")
        yield line
    if fine:
        words = plural(fine, "claim is", "claims are")
        yield Text(f"{signs.looks['supported']} {words} supported and to the point", style=LOOK_STYLE["supported"])
    if view.claims_left_out:
        yield Text(f"{plural(view.claims_left_out, 'more claim')} not listed", style="dim")


def said_of(claim: ClaimView) -> str:
    """Everything that holds for a claim, in words."""
    said = [LOOK_WORDS[claim.look]]
    if claim.look in ("unsupported", "check") and claim.needed.state in ("no", "check"):
        said.append("not needed to answer")
    if claim.repeated:
        said.append(REPEATED_WORDS)
    return ", ".join(said)


def _findings(console: Console, view: CaseView) -> Iterable[Text]:
    signs = signs_of(console)
    if not view.findings:
        yield Text("none", style="dim")
    for finding in view.findings:
        line = Text(f"{signs.kinds[finding.kind]} {one_line(finding.component, 80)}", style=KIND_STYLE[finding.kind])
        line.append(f" {signs.dot} {KIND_WORDS[finding.kind]} {signs.dot} {'sure' if finding.sure else 'not sure'}")
        if finding.tokens:
            line.append(f" {signs.dot} about {finding.tokens:,} tokens not needed")
        yield line
        yield Text(f"  {one_line(finding.reading, 300)}")
        if finding.doubt:
            yield Text(f"  not sure: {doubt_of(finding, view.metrics)}", style="dim")
        for evidence in finding.evidence[:MOST_EVIDENCE]:
            place = f" (source {evidence.source + 1})" if evidence.source is not None else ""
            yield Text.assemble(
                f"  “{one_line(evidence.text, 160)}”",
                (f" {'' if evidence.sure else 'check this: perhaps '}{evidence.fault}{place}", "dim"),
            )
        rest = len(finding.evidence) - MOST_EVIDENCE
        if rest > 0:
            yield Text(f"  and {rest} more", style="dim")
        if finding.advice:
            yield Text(f"  {signs.arrow} {one_line(finding.advice, 300)}", style="italic")


def _faults(console: Console, view: CaseView) -> Iterable[Text]:
    signs = signs_of(console)
    dash = signs.dash
    for found in view.faults:
        yield Text(": ".join(words for words in (titled(found.title, found.better, signs), found.fault) if words))
        for part in found.parts:
            said = ": ".join(words for words in ("" if part.sure else "check this", part.note) if words)
            yield Text.assemble(f"  “{part.text}”", (f" {dash} {said}" if said else "", "dim"))
        if found.left_out:
            yield Text(f"  and {found.left_out:,} more", style="dim")


def _print_coverage(console: Console, view: CaseView, coverage: Coverage) -> None:
    signs = signs_of(console)
    grid = table()
    grid.add_column("", max_width=max(20, console.width - 4 * len(coverage.sources) - 22))
    for number in coverage.sources:
        grid.add_column(f"{number}", justify="center", no_wrap=True)
    grid.add_column("together", justify="center", no_wrap=True)
    grid.add_column("response", justify="center", no_wrap=True)
    for question, row in zip(coverage.questions, coverage.places, strict=True):
        cells = (Text(signs.states[place.state], style=STATE_STYLE[place.state]) for place in row)
        grid.add_row(Text(question), *cells)
    console.print(_indented(grid))
    legend = "  ".join(f"{signs.states[state]} {STATE_WORDS[state]}" for state in view.states)
    if coverage.left_out:
        legend += f"  ({plural(coverage.left_out, 'source')} not shown)"
    say(console, Text(legend, style="dim"))


def _source(console: Console, source: SourceView) -> Iterable[Text]:
    signs = signs_of(console)
    line = Text(f"{source.number} ", style="bold")
    line.append(source.name)
    if source.needed.state != "not asked":
        words = {"yes": "needed", "no": "not needed", "check": "probably not needed"}
        said = words.get(source.needed.state, STATE_WORDS[source.needed.state])
        line.append(f" {signs.states[source.needed.state]} {said}", style=STATE_STYLE[source.needed.state])
    if source.facts:
        line.append(f" {signs.dot} {source.essential} of {plural(source.facts, 'fact')} needed", style="dim")
    yield line
    yield _excerpt(source.pieces, signs.looks["essential"])


def _excerpt(pieces: Sequence[Piece], star: str) -> Text:
    """The source's first marked part with a little before it, on a few lines."""
    marked = next((i for i, piece in enumerate(pieces) if piece.look == "essential"), None)
    text, left = Text("   "), SHORT_SOURCE
    if marked is not None and sum(len(p.text) for p in pieces[:marked]) > SHORT_SOURCE // 3:
        text.append("… ", style="dim")
        pieces = pieces[marked:]
    for piece in pieces:
        if left <= 0 or piece.left_out:
            text.append(" …", style="dim")
            break
        shown = one_line(piece.text, left)
        text.append(" " if piece.text[:1].isspace() else "")
        if piece.look == "essential":
            text.append(star, style=LOOK_STYLE["essential"])
        text.append(shown, style=LOOK_STYLE[piece.look])
        text.append(" " if shown and piece.text[-1:].isspace() else "")
        left -= len(shown)
    return text


def _print_scores(console: Console, view: CaseView) -> None:
    signs = signs_of(console)
    grid = table()
    grid.add_column("", no_wrap=True)
    grid.add_column("", justify="right", no_wrap=True)
    grid.add_column("")
    for score in view.scores:
        style = "bold yellow" if score.bad else ""
        title = titled(score.title, score.better, signs)
        if score.value is None:
            said = (
                Text(f"failed: {score.reason}", style="bold red")
                if score.failed
                else Text(f"undefined: {score.reason}", style="dim")
            )
            grid.add_row(Text(title), Text(signs.dash), said)
            continue
        beside = bar(score.value, score.range, 10, signs, style or "cyan")
        if score.bad:
            said_so = "low, below" if score.better == "higher" else "high, above"
            beside.append(f" {level_mark(score.better, signs)} {said_so} {score.threshold:g}", style=style)
        if score.unknown:
            beside.append(f"  {plural(score.unknown, 'component')} left out", style="dim")
        grid.add_row(Text(title, style=style), Text(two_places(score.value), style=style), beside)
    grid.show_header = False
    console.print(_indented(grid))


def _section(console: Console, title: str, lines: Iterable[Text], hang: int = 0) -> None:
    found = list(lines)
    if found:
        heading(console, title)
    for line in found:
        lead = len(line.plain) - len(line.plain.lstrip(" "))
        say(console, line, hang=lead + hang)


def _indented(grid: Table) -> Padding:
    return Padding(grid, (0, 0, 0, 2), expand=False)
