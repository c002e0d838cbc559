"""Whether scores that need no reference are to be trusted: a table like table 1 of GRAMMAR, and a page.

The page also shows the answers that they misjudge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ragtriage.core.display import one_line, plural
from ragtriage.core.statistics import IntervalEstimate
from ragtriage.report.document import Block, line, note, number_columns, table, text_columns
from ragtriage.report.templating import environment, page_parts, pages, write_page
from ragtriage.testset.matching import truths_for_judge
from ragtriage.testset.reliability import Misjudged, Published, Reliability


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


LONGEST = 1500
"""Characters of a response or sample that are shown."""
MOST_BYTES = 12_000_000
"""Of all answers together, so that a browser can open the file."""


def write_reliability_page(
    path: Path,
    title: str,
    found: Sequence[Reliability],
    wrong: Mapping[str, Sequence[Misjudged]],
    interval: str,
    published: Mapping[str, Published],
    *,
    most_bytes: int = MOST_BYTES,
) -> None:
    """Write the page; it loads nothing, and an older file is replaced only when the new one is complete.

    Args:
        path: where to.
        title: what was scored.
        found: the scores.
        wrong: score → the answers that it misjudges.
        interval: how the intervals were computed.
        published: score → the paper's row.
        most_bytes: of all answers together; the rest is counted.

    Raises:
        OSError: the file can't be written.
    """
    most = most_bytes // max(1, len(wrong))
    stream = environment().get_template("reliability.html.j2").generate(
        title=title,
        found=found,
        wrong={name: list(pages(_rendered(answers), most)) for name, answers in wrong.items()},
        counts={name: _counts(answers) for name, answers in wrong.items()},
        interval=interval.capitalize(),
        published=published,
        share_of=share_of,
        **page_parts("", "report.css", "testset.css"),
    )  # fmt: skip
    write_page(path, stream)


def _counts(answers: Sequence[Misjudged]) -> tuple[int, int]:
    """How many wrong answers pass, and how many right ones don't."""
    passed = sum(one.passed for one in answers)
    return passed, len(answers) - passed


def _rendered(answers: Sequence[Misjudged]) -> Iterator[str]:
    template = environment().get_template("reliability_answer.html.j2")
    for one in answers:
        samples = one.row.columns.get("samples")
        yield template.render(
            one=one,
            truth="; ".join(truths_for_judge(one.row.answer)) if one.row.answer is not None else "",
            samples=[str(text) for text in samples] if isinstance(samples, list) else [],
            longest=LONGEST,
        )
