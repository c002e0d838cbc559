"""One self-contained HTML file about scores that need no reference: a table, and the answers that they misjudge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ragtriage.report.reliability_document import share_of
from ragtriage.report.templating import environment, page_parts, pages, write_page
from ragtriage.testset.matching import truths_for_judge
from ragtriage.testset.reliability import Misjudged, Published, Reliability

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
