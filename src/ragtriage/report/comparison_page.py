"""A comparison in HTML: what its sections show, and one self-contained file of them, without a script."""

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragtriage.core.case import Record
from ragtriage.core.display import p_text, signed
from ragtriage.core.errors import NotStoredError
from ragtriage.report import comparison_words
from ragtriage.report.comparison_words import (
    SIGNS,
    Quote,
    Quotes,
    gate_cell,
    gates_on,
    title_of_row,
    verdict_of,
)
from ragtriage.report.templating import environment, page_parts, write_page
from ragtriage.report.words import two_places
from ragtriage.runs.compare.compare import Chosen
from ragtriage.runs.compare.comparison import ChangedCases, Comparison, MetricComparison
from ragtriage.runs.compare.gates import slice_value

PLOT = (240, 28)
"""Width and height of a forest plot, in its own units."""
EDGE = 4
MOST_TEXT = 6_000
"""Characters of a text that is shown."""
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


class NoLinks:
    """Where the parts of the file lead: nowhere. The viewer's lead to runs, lists of pairs and pairs."""

    run = metric = faults = case = lambda self, _: ""  # noqa: ARG005  # as the viewer's


def write_comparison_page(path: Path, found: Comparison, quotes: Quotes | None = None) -> None:
    """Write a comparison as one HTML file that loads nothing.

    An older file is replaced only when the new one is complete.
    """
    shown = {**comparison_parts(found, quotes or {}), **page_parts([], "report.css", "comparison.css")}
    write_page(path, environment().get_template("comparison.html.j2").generate(**shown, links=NoLinks()))


def comparison_parts(found: Comparison, quotes: Quotes) -> dict[str, Any]:
    """What the sections of a comparison show, but for where their parts lead (`links`)."""
    state, says = verdict_of(found)
    reach = _reach(found)
    return {
        "found": found,
        "says": says,
        "sign": SIGNS[state],
        "reach": reach,
        "rows": [_row(found, row, reach) for row in found.metrics if row.paired],
        "apart": [row for row in found.metrics if not row.paired],
        "lists": [
            (word, cases, list(_cases(cases, quotes)))
            for word, cases in (("worse", found.worse), ("better", found.better))
            if cases and cases.cases
        ],
        "plot_size": PLOT,
        "words": comparison_words,
        "signed": signed,
        "p_text": p_text,
        "two_places": two_places,
        "slice_value": slice_value,
    }


def quotes_of(found: Comparison, base: Chosen, new: Chosen) -> Quotes:
    """The texts of the cases that are listed as changed, as far as the store has them."""
    cases = [case for listed in (found.worse, found.better) if listed for case in listed.cases]
    quotes: dict[str, Quote] = {}
    for case in cases:
        old, now = _record(base, case.base_id), _record(new, case.id)
        if query := (now or old):
            quotes[case.id] = Quote(query.case.query, *(one.case.response if one else None for one in (old, now)))
    return quotes


def _record(side: Chosen, case_id: str) -> Record | None:
    """A case of a side's first run; None where it has no texts: of a baseline, or deleted."""
    if not side.runs:
        return None
    try:
        return side.runs[0].record(case_id)
    except NotStoredError:
        return None


def _reach(found: Comparison) -> float:
    """How far the plots go to either side of 0, as a share of a metric's range."""
    farthest = 0.05
    for row in found.metrics:
        if row.paired:
            ends = (row.paired.low, row.paired.high, row.paired.difference, row.paired.sees)
            margins = (gate.limit for gate in gates_on(found, row) if gate.kind == "fail_if_worse")
            farthest = max(farthest, *(abs(end or 0) / _span(row) for end in (*ends, *margins)))
    return min(1.0, farthest * 1.08)


def _span(row: MetricComparison) -> float:
    return row.range[1] - row.range[0] or 1.0


def _row(found: Comparison, row: MetricComparison, reach: float) -> dict[str, Any]:
    """A metric's row: its plot's places, and the same as words for those who don't see it."""
    own = row.paired
    assert own  # noqa: S101  # the caller chose it so
    half = PLOT[0] / 2 - EDGE

    def at(value: float) -> float:
        share = max(-1.0, min(1.0, value / _span(row) / reach))
        return round(PLOT[0] / 2 + half * share, 1)

    gates = gates_on(found, row)
    margins = [gate.limit for gate in gates if gate.kind == "fail_if_worse" and gate.limit]
    told = [f"{row.verdict}: difference {signed(own.difference)}"]
    if own.low is not None:
        told.append(f"95 % interval {comparison_words.interval(own)}")
    told += [f"margin {signed(-row.direction * margin)}" for margin in margins]
    if own.sees is not None:
        told.append(f"sees {own.sees:.3f}")
    return {
        "metric": row,
        "title": title_of_row(row),
        "own": own,
        "gates": list(map(gate_cell, gates)),
        "plot": {
            "label": f"{title_of_row(row)}: {', '.join(told)}",
            "zero": at(0),
            "point": at(own.difference),
            "interval": None if own.low is None or own.high is None else (at(own.low), at(own.high)),
            "margins": [at(-row.direction * margin) for margin in margins],
            "sees": None if own.sees is None else (at(-own.sees), at(own.sees)),
        },
    }


def _cases(cases: ChangedCases, quotes: Quotes) -> Iterator[dict[str, Any]]:
    for case in cases.cases:
        quote = quotes.get(case.id)
        texts = quote and (quote.base, quote.new)
        yield {"case": case, "query": quote and quote.query[:MOST_TEXT], "texts": texts and word_diff(*texts)}


def word_diff(base: str | None, new: str | None) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
    """Two texts in pieces, each with whether the other text lacks it; of one text alone nothing is."""
    old, now = (_WORDS.findall((text or "")[:MOST_TEXT]) for text in (base, new))
    if base is None or new is None:
        return [("".join(old), False)], [("".join(now), False)]
    sides: tuple[list[tuple[str, bool]], list[tuple[str, bool]]] = ([], [])
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, now, autojunk=False).get_opcodes():
        for side, piece in zip(sides, ("".join(old[i1:i2]), "".join(now[j1:j2])), strict=True):
            if piece:
                side.append((piece, tag != "equal"))
    return sides
