"""Whether scores that need no reference are to be trusted, as a document: a table like table 1 of GRAMMAR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ragtriage.core.display import plural
from ragtriage.core.statistics import IntervalEstimate
from ragtriage.report.document import Block, line, note, number_columns, table, text_columns
from ragtriage.testset.reliability import Published, Reliability
from ragtriage.text.sanitize import one_line


def reliability_document(
    found: Sequence[Reliability], interval: str, published: Mapping[str, Published] | None = None
) -> Iterator[Block]:
    """A line a score: precision and recall with their intervals.

    Args:
        found: the scores.
        interval: how the intervals were computed.
        published: score → the paper's row, to stand below it.
    """
    columns = (*text_columns("score", most=28), *number_columns("from"), *text_columns("precision", "recall"))
    yield table(columns, _rows(found, published or {}))
    yield note("precision: of the answers that pass, those that are right; low: it is optimistic")
    yield note("recall: of the right answers, those that pass; low: it is cynical")
    yield note(f"in brackets: the 95 % interval ({interval.capitalize()}) and what it is a share of")
    if published:
        yield note("in the paper: another application, other questions and another judge")
    for one in found:
        if one.right.value is not None:
            yield line(
                f"{one_line(one.score, 40)}: {share_of(one.right)} of the answers are right; a score that passes "
                "every answer has this precision"
            )
        if one.left_out:
            yield line(f"{one_line(one.score, 40)}: {plural(one.left_out, 'row')} left out, undecided or without it")


def _rows(found: Sequence[Reliability], published: Mapping[str, Published]) -> Iterator[tuple[str, ...]]:
    for one in found:
        yield one_line(one.score, 40), f"{one.threshold:g}", share_of(one.precision), share_of(one.recall)
        if paper := published.get(one.score):
            yield f"  {paper.name} in the paper", "", share_of(paper.precision), share_of(paper.recall)


def share_of(share: IntervalEstimate) -> str:
    """A share in per cent with its interval, and what it is a share of where that is known."""
    if share.value is None or share.low is None or share.high is None:
        return "undefined (of 0)"
    of = f"; {share.n:,}" if share.n else ""
    return f"{100 * share.value:.0f} % [{100 * share.low:.0f}, {100 * share.high:.0f}{of}]"
