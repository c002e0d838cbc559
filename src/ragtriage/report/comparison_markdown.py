"""A comparison as Markdown, for a comment on a pull request or the summary of a pipeline.

The first line is a mark by which a workflow finds its own comment. Ids and numbers only, unless quotes are given. What
comes from outside is written with character references, which are text in Markdown and in HTML alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragtriage.core.display import p_text, plural, signed
from ragtriage.core.files import ORDINARY_FILE, PRIVATE_FILE, atomic_write
from ragtriage.report.comparison_verdict import (
    SIGNS,
    Quote,
    Quotes,
    gate_cell,
    gate_sign,
    gates_on,
    title_of_row,
    verdict_of,
)
from ragtriage.report.comparison_words import (
    ARROW,
    BETTER,
    WORSE,
    count_text,
    expected_text,
    interval,
    score_text,
    short_signed,
    unpaired_text,
)
from ragtriage.report.words import two_places
from ragtriage.runs.compare.comparison import CaseList, Comparison, MetricComparison, Slice
from ragtriage.runs.compare.gates import slice_value
from ragtriage.text.sanitize import one_line

MARK = "<!-- ragtriage compare -->"
"""The first line: a workflow finds the comment that it is to replace by it."""
MOST = 60_000
"""Characters; GitHub takes 65,536 in a comment."""
KEPT_FREE = 300
"""For the lines that tell what was left out, and what ends a part."""
MOST_TEXT = 400
"""Characters of a text that is quoted."""
DETAILS = "<details>"
MARKS = {"worse": WORSE, "better": BETTER}
SHOWN = ("worse", "can't tell", "better", "undefined")
_REFERENCES = {ord(sign): f"&#{ord(sign)};" for sign in "\\`*[]|~$#!<>&\"'"}
_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_UNJOINED = (("@", "@\u200b"), ("://", ":\u200b//"), ("www.", "www\u200b."))
"""So that nobody is notified, and no address becomes a link."""


@dataclass(frozen=True, slots=True)
class Part:
    """Lines that stand together; rows are left out from the end where there is no room."""

    head: Sequence[str]
    rows: Sequence[str]
    tail: Sequence[str] = ("",)


def write_comparison_markdown(path: Path, found: Comparison, quotes: Quotes | None = None) -> None:
    """Write a comparison as Markdown; with quotes only its owner may read the file.

    Raises:
        OSError: it can't be written.
    """
    with atomic_write(path, "replace", newline="\n", mode=PRIVATE_FILE if quotes else ORDINARY_FILE) as file:
        file.write(comparison_markdown(found, quotes))


def comparison_markdown(found: Comparison, quotes: Quotes | None = None) -> str:
    """A comparison as Markdown, at most `MOST` characters.

    Args:
        found: the comparison.
        quotes: texts of the cases that changed most; none are written without them.
    """
    state, says = verdict_of(found)
    title = " ".join(filter(None, ("### ragtriage:", SIGNS[state], escaped(says, 300))))
    lines = [MARK, title, _facts(found), ""]
    length = sum(len(line) + 1 for line in lines)
    for part in _parts(found, quotes or {}):
        ends = sum(len(line) + 1 for line in (*part.head, *part.tail))
        room = MOST - KEPT_FREE - length - ends
        if room < 0:
            lines += ["", "More didn't fit here.", "", *(["</details>"] if DETAILS in lines else [])]
            break
        kept: list[str] = []
        for row in part.rows:
            room -= len(row) + 1
            if room < 0:
                break
            kept.append(row)
        left = len(part.rows) - len(kept)
        added = [*part.head, *kept, *(["", f"and {left:,} more"] if left else []), *part.tail]
        lines += added
        length += sum(len(line) + 1 for line in added)
    return "\n".join(lines).rstrip() + "\n"


def escaped(text: str, most: int = 80) -> str:
    """A text from outside on one line: no Markdown, no HTML, nobody notified."""
    shown = _UNDERSCORE.sub("&#95;", one_line(text, most).translate(_REFERENCES))
    for sign, instead in _UNJOINED:
        shown = re.sub(re.escape(sign), instead, shown, flags=re.IGNORECASE)
    return shown


def _facts(found: Comparison) -> str:
    changes, pairs = found.changes, found.pairs
    counted = [
        plural(count, one, many) + " changed"
        for count, one, many in (
            (changes.query, "query", "queries"),
            (changes.sources, "set of sources", "sets of sources"),
            (changes.response, "response", ""),
        )
        if count
    ]
    same = "" if changes.sources or changes.source_order or not changes.response else ", sources the same"
    facts = (
        f"{escaped(found.new.name)} against {escaped(found.base.name)} ({escaped(found.base.created[:10])})",
        f"{plural(pairs.paired, 'case')} paired",
        plural(pairs.groups, "group") if pairs.cluster else "",
        "another judge" if changes.judge else "same judge",
        (", ".join(counted) or "no text changed") + same,
        unpaired_text(pairs),
    )
    return " · ".join(filter(None, facts))


def _parts(found: Comparison, quotes: Quotes) -> Iterator[Part]:
    if found.incomplete:
        yield Part((), [f"⚠️ {escaped(why, 500)}<br>" for why in found.incomplete])
    rows = [row for row in found.metrics if row.verdict in SHOWN]
    heads = ("", "metric", "base", "new", "difference", "95 % interval", "p (Holm)", "gate")
    if rows:
        yield Part(_heads(heads, "ll rr r l r l"), [_metric(found, row) for row in rows])
    if untouched := [title_of_row(row) for row in found.metrics if row.verdict == "not touched"]:
        yield Part((), [f"Not touched: {', '.join(map(escaped, untouched))}"])
    if others := [row for row in found.metrics if row.why]:
        yield Part((), [f"{escaped(title_of_row(row))}: {row.verdict}: {escaped(row.why, 300)}<br>" for row in others])
    if found.gates:
        gates = [f"| {gate_sign(gate)} | {escaped(gate.says, 500)} |" for gate in found.gates]
        yield Part(_heads(("", "gate"), "ll"), gates)
    if lost := [row for row in found.metrics if row.mention_undefined]:
        yield Part((), [
            f"⚠️ {escaped(title_of_row(row))} is undefined on {plural(row.lost, 'case')} that had a score before "
            f"({row.gained:,} the other way).<br>"
            for row in lost
        ])  # fmt: skip
    details = [*_findings(found), *_slices(found), *_cases(found, quotes), *_remarks(found)]
    if details:
        fixed, broken = (sum(getattr(row, name) for row in found.findings) for name in ("fixed", "broken"))
        told = f"Findings: {broken:,} broken, {fixed:,} fixed · worst cases" if found.findings else "Worst cases"
        yield Part((DETAILS, f"<summary>{told}</summary>", ""), ())
        yield from details
        yield Part((), (), ("</details>",))


def _heads(names: Sequence[str], sides: str) -> tuple[str, str]:
    rules = ("--:" if side == "r" else "---" for side in sides.replace(" ", ""))
    return f"| {' | '.join(names)} |", f"|{'|'.join(rules)}|"


def _metric(found: Comparison, row: MetricComparison) -> str:
    own = row.paired
    p = "" if row.p_adjusted is None else p_text(row.p_adjusted)
    cells = (
        MARKS.get(row.verdict, ""),
        escaped(title_of_row(row)),
        two_places(own.base) if own else "undefined",
        two_places(own.new) if own else "undefined",
        signed(own.difference) if own else "",
        interval(own),
        escaped(p) + (f" perhaps {row.perhaps}" if row.perhaps else ""),
        "<br>".join(map(gate_cell, gates_on(found, row))),
    )
    return f"| {' | '.join(cells)} |"


def _findings(found: Comparison) -> Iterator[Part]:
    rows = []
    expects = any(row.expected for row in found.findings)
    for row in found.findings:
        measured = row.paired if row.fixed + row.broken else None
        cells = (
            MARKS.get(row.verdict, ""), escaped(row.rule), count_text(row.base), count_text(row.new),
            f"{row.fixed:,}", f"{row.broken:,}", short_signed(measured.difference) if measured else "",
            interval(measured, short=True) if row.p is not None else "",
            "" if row.p_adjusted is None else escaped(p_text(row.p_adjusted)),
            *((expected_text(row.expected),) if expects else ()),
        )  # fmt: skip
        rows.append(f"| {' | '.join(cells)} |")
    if rows:
        heads = ["", "finding", "base", "new", "fixed", "broken", "difference", "95 % interval", "p (Holm)"]
        yield Part(_heads([*heads, *(["expected"] * expects)], "ll rrrrr l r" + " l" * expects), rows)


def _slices(found: Comparison) -> Iterator[Part]:
    for tag, slices in found.slices.items():
        names = [one.name for one in slices[0].metrics] if slices else []
        titles = [escaped(title_of_row(row)) if (row := found.metric(name)) else escaped(name) for name in names]
        heads = _heads((escaped(tag, 40), "pairs", *titles), "lr" + "r" * len(names))
        left = [f"and {found.slices_left_out:,} more", ""] if found.slices_left_out else []
        yield Part(heads, [_slice(one) for one in slices], ("", *left))


def _slice(one: Slice) -> str:
    cells = (
        f"{MARKS.get(m.verdict, '')} {signed(m.paired.difference, 2)}".strip() if m.paired else "" for m in one.metrics
    )
    return f"| {' | '.join((escaped(slice_value(one.value)), f'{one.pairs:,}', *cells))} |"


def _cases(found: Comparison, quotes: Quotes) -> Iterator[Part]:
    listed: tuple[tuple[CaseList | None, str], ...] = ((found.worse, "worse"), (found.better, "better"))
    for cases, word in listed:
        if cases is None or not cases.cases:
            continue
        row = found.metric(cases.metric)
        rows = []
        for case in cases.cases:
            _, base, new = case.scores[0]
            headed = f"{escaped(case.headline[0])} {ARROW} {escaped(case.headline[1])}" if any(case.headline) else ""
            cells = [escaped(case.id), f"{score_text(base)} {ARROW} {score_text(new)}", headed]
            if quotes:
                cells.append(_quoted(quotes.get(case.id)))
            rows.append(f"| {' | '.join(cells)} |")
        title = escaped(title_of_row(row) if row else cases.metric)
        heads = (f"{word} by most (of {cases.of:,})", title, "headline", *(["texts"] if quotes else []))
        yield Part(_heads(heads, "llll"[: len(heads)]), rows)


def _quoted(quote: Quote | None) -> str:
    if quote is None:
        return ""
    told = (("query", quote.query), ("base", quote.base), ("new", quote.new))
    return "<br>".join(f"<b>{name}</b> {escaped(text, MOST_TEXT)}" for name, text in told if text is not None)


def _remarks(found: Comparison) -> Iterator[Part]:
    remarks = [escaped(remark, 500) for remark in found.notes]
    out = found.left_out
    for name, ids in (
        ("only in base", out.only_base), ("only in new", out.only_new),
        ("another question", out.other_question), ("ambiguous", out.ambiguous),
    ):  # fmt: skip
        if ids:
            remarks.append(f"{name}: {', '.join(map(escaped, ids))}")
    if remarks:
        yield Part((), [f"- note: {remark}" for remark in remarks])
