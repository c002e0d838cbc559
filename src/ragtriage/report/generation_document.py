"""How a test set comes to be, as documents: what each step wrote, what it would come to, and how it was phrased."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragtriage.core.display import one_line, plural
from ragtriage.report.document import GAP, Block, Column, Heading, line, note, number_columns, table, text_columns
from ragtriage.report.templating import text_environment
from ragtriage.testset.example import Example
from ragtriage.testset.generation.build import BuildStep, TemplateEstimate
from ragtriage.testset.generation.phrasing import PhrasingResult, RefusedPhrasing
from ragtriage.testset.generation.query_templates import TextTemplate

SHOWN = 20
"""Templates in the table of a dry run; all are in its sums and in `--json`."""
QUOTED = 5
"""Refused entries that are quoted; all are counted."""
REASONS = 8
"""Reasons for refusing phrasings that are shown; all are counted."""
EXAMPLE = 110
"""Characters of an example."""
_DROPPED = {
    "several": "with several answers",
    "null": "with an empty answer",
    "none": "with none",
    "echo": "whose question holds the answer",
    "needless": "that say more of a row than its name needs",
}
"""Why combinations of values are dropped."""


def steps_document(steps: Sequence[BuildStep]) -> Iterator[Block]:
    """A paragraph a step: the file, its numbers, and what a reader should know."""
    for step in steps:
        kept = "" if step.made else "  (up to date: nothing to do)"
        yield line((str(step.path), "strong"), (kept, "quiet"))
        yield from (line(said, indent=2) for said in _numbers(step.numbers))
        yield from (line(f"note: {said}", indent=2) for said in step.notes)
        problems = step.numbers.get("problems", ())
        for what, sentences in (("can't be used", step.refused), ("couldn't be filled", problems)):
            if sentences:
                yield line(f"{plural(len(sentences), 'entry', 'entries')} {what}:", indent=2)
                yield from (line(one_line(sentence, 300), indent=4) for sentence in sentences[:QUOTED])
                if len(sentences) > QUOTED:
                    yield line(f"and {len(sentences) - QUOTED:,} more", indent=4)


def counted_document(counted: Sequence[TemplateEstimate], size: int, half_width: float | None) -> Iterator[Block]:
    """M × N × Q: templates, phrasings and fillings, the largest first."""
    ranked = sorted(counted, key=lambda one: -one.phrasings * one.combinations)
    columns = (*text_columns("template", "asks for", most=36), *number_columns("N", "Q", "N × Q"))
    yield table(columns, map(_counted, ranked[:SHOWN]))
    if len(ranked) > SHOWN:
        yield line(f"and {len(ranked) - SHOWN:,} more templates (--json has all)")
    total = sum(one.phrasings * one.combinations for one in counted)
    phrasings, product = (sum(getattr(one, name) for one in counted) for name in ("phrasings", "product"))
    occurring = sum(one.combinations for one in counted)
    yield GAP
    yield line(f"M = {plural(len(counted), 'template')}, with {phrasings:,} phrasings in all")
    yield line(f"Q = {occurring:,} combinations of values; the blind product has {product:,}")
    yield line(f"M × N × Q = {total:,} questions could be asked, before answers are looked at")
    if any(one.sampled for one in counted):
        yield line("+: of a large table, where only drawn rows were looked at")
    if half_width is not None:
        yield line(f"--size {size:,} buys an accuracy of each criterion to {_points(half_width)}")
    problems = [one for one in counted if one.problem]
    if problems:
        yield Heading(f"{plural(len(problems), 'template')} couldn't be counted")
    yield from (line(f"{one.template}: {one_line(one.problem, 300)}") for one in problems[:QUOTED])


def _counted(one: TemplateEstimate) -> tuple[str, ...]:
    asks = one_line(one.sql.split("\n")[0].removeprefix("SELECT "), 60)
    count = f"{one.combinations:,}" + ("+" if one.sampled else "")
    return one.template, asks, str(one.phrasings), count, f"{one.phrasings * one.combinations:,}"


def _points(half_width: float) -> str:
    return f"± {100 * half_width:.1f} points (95 %, where it is widest)"


def _numbers(numbers: Mapping[str, Any]) -> list[str]:
    """A step's numbers in sentences."""
    template = text_environment().get_template("step_numbers.txt.j2")
    dropped = {name: what for name, what in _DROPPED.items() if numbers.get(name)}
    return template.render(n=numbers, dropped=dropped, points=_points).splitlines()


def phrasings_document(texts: Sequence[TextTemplate]) -> Iterator[Block]:
    """How many phrasings there are of each criterion, how long they are, and one of each."""
    by_criterion: dict[str, list[TextTemplate]] = {}
    for one in texts:
        by_criterion.setdefault(one.criterion, []).append(one)
    rows = []
    for name, some in by_criterion.items():
        words = [one.measures["words"] for one in some if "words" in one.measures]
        mean = f"{sum(words) / len(words):.0f}" if words else "-"
        rows.append((one_line(name, 24), f"{len(some):,}", mean, one_line(some[0].text, EXAMPLE)))
    columns = (
        *text_columns("criterion", wrap=True),
        *number_columns("phrasings", "words", wrap=True),
        *text_columns("for example", wrap=True),
    )
    yield table(columns, rows)


def refused_document(phrased: PhrasingResult) -> Iterator[Block]:
    """What was refused and what is missing, by reason, the most frequent first."""
    for head, noun, refused in (("refused", "candidate", phrased.refused), ("missing", "place", phrased.without)):
        if refused:
            yield line(f"{head}: {plural(len(refused), noun)}", tone="strong")
            yield from _reasons(refused)


def _reasons(refused: Sequence[RefusedPhrasing]) -> Iterator[Block]:
    counted = Counter((one.criterion or "all criteria", one.reason.partition(" (")[0]) for one in refused)
    for (criterion, reason), count in counted.most_common(REASONS):
        yield line(f"{count:,} × {one_line(criterion, 24)}: {one_line(reason, EXAMPLE)}", indent=2, hang=4)
    if len(counted) > REASONS:
        yield line(f"and {plural(len(counted) - REASONS, 'other reason')}", indent=2, hang=4)


def example_document(written: Example) -> Iterator[Block]:
    """What `testset example` wrote, and how its application is asked."""
    people = f"{plural(written.employees, 'employee')}, {plural(written.clients, 'client')}"
    yield line(written.folder, tone="strong")
    rows = (
        ("company.db", f"{people}, {plural(written.projects, 'project')}"),
        ("documents/", plural(written.documents, "document")),
        ("stated.jsonl", f"{plural(written.stated, 'fact')} of the database that some document states"),
        ("gaps.jsonl", f"{plural(written.gaps, 'fact')} of the database that no document states"),
        ("app.py", "an application over the documents; it needs no model"),
    )
    yield table((Column(), Column(wrap=True)), rows, heads=False)
    yield note(f"ragtriage collect questions.jsonl --app {written.folder}/app.py:answer -o cases.jsonl")
