"""One step on one case: which questions it takes, and what their answers amount to.

Whatever can be decided without a judge is decided here: a text that is missing makes the step `Missing`, and nothing
can't support or answer anything, so a match against an empty text is no without asking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from ragtriage.core import questions as ask
from ragtriage.core.case import Case
from ragtriage.core.questions import Question
from ragtriage.core.steps import Decompose, Field, Match, OnlyWhere, Step, Unit, conditions
from ragtriage.core.verdicts import Answer, Cell, Component, Components, Failure, Known, Missing, Verdict, Verdicts
from ragtriage.planning.levels import FOR_THE_QUERY, QUESTIONS_OF_QUERY
from ragtriage.planning.requirements import absent, first_of, target_absent
from ragtriage.text.citations.segments import segments_of
from ragtriage.text.citations.targets import Target, targets_of, true_texts

NOTHING = Verdict("no", 0.0, 1.0, "there is no text to hold it against")
NOT_CITED = Verdict("no", 0.0, 1.0, "no part of the response that cites a source was found true")
ALONE = Verdict("no", 0.0, 1.0, "there is no other component to repeat")
SEEN = {True: Verdict("yes", 1.0, 1.0), False: Verdict("no", 0.0, 1.0)}
"""What is seen without a judge."""
SILENT = Missing("the query asks no question", "query")
EMPTY: Mapping[tuple[Field, Unit], Missing] = {
    ("response", "claims"): Missing("the response makes no claim", "response"),
    ("reference", "claims"): Missing("the reference makes no claim", "reference"),
    ("response", "sentences"): Missing("the response has no sentence", "response"),
    ("response", "segments"): Missing("the response makes no claim", "response"),
    ("query", "questions"): SILENT,
    ("sources", "facts"): Missing("the sources state no fact", "sources"),
    ("relevant ids", "ids"): Missing("no source is relevant to the query", "relevant ids"),
}
"""Why a match has nothing to hold against anything, where a text was broken into no component."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """The questions of one step, with the place of each answer."""

    step: Step
    components: Components
    """The rows of a match, () for a decomposition."""
    fixed: tuple[tuple[Cell, ...], ...]
    """What is known without asking, None elsewhere; shape (components, targets) for a match."""
    places: tuple[tuple[int, int], ...]
    """Where each answer belongs: (row, column); the column is the source for a decomposition of sources."""
    questions: tuple[Question, ...]
    """Shape as `places`."""


def inquire(step: Step, case: Case, steps: Mapping[str, Known]) -> Inquiry | Known:
    """What to ask for this step, or its outcome where nothing need be asked.

    Args:
        step: what to find out.
        case: about whom.
        steps: the outcomes of all steps that it depends on, by their text form.
    """
    if isinstance(step, Match):
        return _match(step, case, steps)
    if step.of == "sources" and step.into in FOR_THE_QUERY and (silent := _query_silent(steps)):
        return first_of([absent(step, case), silent]) or silent
    return _decomposition(step, case)


def conclude(inquiry: Inquiry, answers: Mapping[Question, Answer]) -> Known:
    """Put a step's answers together.

    A failed decomposition is `Missing` with its cause, so that every match on it is known as failed and not as empty.
    """
    step = inquiry.step
    if isinstance(step, Decompose):
        found: list[Component] = []
        for (_, source), question in zip(inquiry.places, inquiry.questions, strict=True):
            answer = answers[question]
            if isinstance(answer, Failure):
                return Missing(f"the judge failed to split the {step.of}: {answer.cause}", step.of, failed=True)
            if isinstance(answer, Verdict):
                return Missing(f"the judge gave a verdict where {step.into} were asked for", step.of, failed=True)
            found += [replace(c, source=source) for c in answer] if step.of == "sources" else answer
        return tuple(found)
    rows = [list(row) for row in inquiry.fixed]
    for (row, column), question in zip(inquiry.places, inquiry.questions, strict=True):
        answer = answers[question]
        if not isinstance(answer, Verdict | Failure):
            answer = Failure(f"the judge gave components where a verdict was asked for: {answer!r:.80}")
        rows[row][column] = answer
    return Verdicts(inquiry.components, tuple(tuple(row) for row in rows))


def turns_of(case: Case) -> tuple[str, ...]:
    """The conversation before the query, each message with its speaker."""
    return tuple(f"{turn.role}: {turn.text}" for turn in case.history if turn.text.strip())


def _text(case: Case, field: Field) -> str:
    """What a component of the field was taken from, where that is one text; else nothing."""
    return {"query": case.query, "response": case.response or "", "reference": case.reference or ""}.get(field, "")


def _decomposition(step: Decompose, case: Case) -> Inquiry | Known:
    missing = absent(step, case)
    if missing:
        return missing
    if step.into == "segments":
        return segments_of(case) or ()
    match step.of:
        case "samples":
            return tuple(Component(text) for text in case.samples)
        case "relevant ids":
            return tuple(Component(name) for name in dict.fromkeys(case.relevant_ids or ()))
        case "sources":
            return _split(step, case, [(text.text, place) for place, text in enumerate(case.sources)])
        case _:
            return _split(step, case, [(_text(case, step.of), None)])


def _split(step: Decompose, case: Case, texts: Sequence[tuple[str, int | None]]) -> Inquiry | Known:
    """Texts with their places among the sources; None for a text that is no source."""
    if step.into == "sources":
        return tuple(Component(text, (0, len(text)), place) for text, place in texts)
    full = [(text, place) for text, place in texts if text.strip()]
    if step.into == "whole" or not full:
        return tuple(Component(text, (0, len(text)), place) for text, place in full)
    questions = tuple(_splitting(step, text, case.query) for text, _ in full)
    return Inquiry(step, (), (), tuple((0, place or 0) for _, place in full), questions)


def _splitting(step: Decompose, text: str, query: str) -> Question:
    match step.into:
        case "claims":
            return ask.claims(text, query)
        case "facts":
            return ask.facts(text, query if step.of == "sources" else "")
        case "questions":
            return ask.questions(text)
        case "sentences":
            return ask.sentences(text)
        case "questions_answered_by":
            return ask.questions_answered_by(text, step.count or 1)
        case "needed_sentences":
            return ask.needed_sentences(query, text)
        case "segments" | "sources" | "samples" | "ids" | "whole":
            raise AssertionError(f"{step} asks nobody")
        case _:
            assert_never(step.into)


def _match(step: Match, case: Case, steps: Mapping[str, Known]) -> Inquiry | Known:
    known = steps[str(step.components)]
    obstacles = [target_absent(step, case), _query_silent(steps) if step.against == "query" else None]
    for condition in conditions(step):
        earlier = steps[str(condition.step)]
        obstacles.append(earlier if isinstance(earlier, Missing) else None)
    if isinstance(known, Missing):
        obstacles.append(known)
    components = tuple(c for c in known if not c.remark) if isinstance(known, tuple) else ()
    if isinstance(known, tuple) and not components:
        obstacles.append(EMPTY.get((step.components.of, step.components.into)))
    missing = first_of(obstacles)
    if missing:
        return missing
    if step.relation == "retrieved":
        return _retrieved(case, components)
    return _grid(step, case, components, _wanted(step, components, steps), steps)


def _query_silent(steps: Mapping[str, Known]) -> Missing | None:
    """Why nothing can be held against the query; None if it asks something."""
    questions = steps[str(QUESTIONS_OF_QUERY)]
    if isinstance(questions, Missing):
        return questions
    return None if questions else SILENT


def _wanted(step: Match, components: Components, steps: Mapping[str, Known]) -> list[bool]:
    """Which components the step's conditions let through; shape (n_components,)."""
    wanted = [True] * len(components)
    for condition in conditions(step):
        earlier = steps[str(condition.step)]
        best = earlier.best() if isinstance(earlier, Verdicts) else ()
        found = zip(wanted, components, best, strict=True)
        wanted = [so_far and _holds(condition, component, cell) for so_far, component, cell in found]
    return wanted


def _holds(condition: OnlyWhere, component: Component, cell: Cell) -> bool:
    """Whether a condition holds of a component, whose best verdict is this."""
    match condition.holds:
        case "lacks yes":
            return not (isinstance(cell, Verdict) and cell.value == "yes")
        case "has yes":
            return isinstance(cell, Verdict) and cell.value == "yes"
        case "wasn't asked":
            return cell is None
        case "names sources":
            return all(citation.sources for citation in component.citations)
        case _:
            assert_never(condition.holds)


def _grid(
    step: Match, case: Case, components: Components, wanted: list[bool], steps: Mapping[str, Known]
) -> Inquiry | Verdicts:
    targets = _targets(step, case, components, steps)
    fixed: list[tuple[Cell, ...]] = []
    places: list[tuple[int, int]] = []
    asked: list[Question] = []
    for row, component in enumerate(components):
        cells: list[Cell] = []
        for column, target in enumerate(targets[row]):
            cell: Cell = None
            if wanted[row] and target is not None:
                if isinstance(target, Verdict):
                    cell = target
                elif not component.text.strip():
                    cell = NOTHING
                else:
                    places.append((row, column))
                    asked.append(_question(step, case, component, target, row))
            cells.append(cell)
        fixed.append(tuple(cells))
    if not asked:
        return Verdicts(components, tuple(fixed))
    return Inquiry(step, components, tuple(fixed), tuple(places), tuple(asked))


def _retrieved(case: Case, ids: Components) -> Verdicts:
    """Which source has which id; a source that repeats the id of an earlier one stands in no column twice."""
    names = [source.id for source in case.sources]
    repeats = [name in names[:place] for place, name in enumerate(names)]
    return Verdicts(
        ids,
        tuple(
            tuple(None if again else SEEN[name == wanted.text] for name, again in zip(names, repeats, strict=True))
            for wanted in ids
        ),
    )


def _targets(step: Match, case: Case, components: Components, steps: Mapping[str, Known]) -> Sequence[Sequence[Target]]:
    """What each component is held against; shape (n_components, n_targets).

    Blank texts are left out; against nothing a match is no. Rows of citations are filled up with None.
    """
    found: list[Target]
    match step.against:
        case "each source":
            found = [(s.text,) if s.text.strip() else () for s in case.sources]
        case "sources":
            found = [tuple(s.text for s in case.sources if s.text.strip())]
        case "query" | "response" | "reference":
            text = _text(case, step.against)
            found = [(text,) if text.strip() else ()]
        case "conversation":
            found = [("\n".join(turns_of(case)),)]
        case "other components":
            return [[ALONE if len(components) == 1 else tuple(c.text for c in components)]] * len(components)
        case "criterion":
            found = [(step.criterion,)]
        case "true segments":
            found = [true_texts(steps[str(condition.step)]) or NOT_CITED for condition in conditions(step)[:1]]
        case "cited sources" | "each citation" | "other citations":
            rows = [targets_of(case, component, step.against) for component in components]
            widest = max(map(len, rows))
            return [[*map(_or_nothing, row), *[None] * (widest - len(row))] for row in rows]
        case _:
            assert_never(step.against)
    return [list(map(_or_nothing, found))] * len(components)


def _or_nothing(target: Target) -> Target:
    return NOTHING if target == () else target


def _question(  # noqa: PLR0911  # one for each relation
    step: Match, case: Case, component: Component, target: tuple[str, ...], row: int
) -> Question:
    # a response's component has a context also where it is the whole of it, so that a judge knows a claim from a fact
    context = _text(case, step.components.of) if step.components.of != "sources" else ""
    match step.relation:
        case "essential":
            return ask.essential(case.query, component.text, context)
        case "relevant":
            return ask.relevant(case.query, component.text, context)
        case "answered":
            return ask.answered(component.text, target, context, case.query if step.against == "response" else "")
        case "supported":
            return ask.supported(component.text, target, case.query, context)
        case "similar":
            return ask.similarity(component.text, target, row if step.against == "other components" else None)
        case "declines":
            return ask.declines(case.query, component.text)
        case "same_answer":
            return _same_answer(step, case, component.text, target[0])
        case "holds":
            return ask.holds(step.criterion, component.text, case.query if step.components.of == "response" else "")
        case "retrieved":
            raise AssertionError(f"{step} asks nobody")
        case _:
            assert_never(step.relation)


def _same_answer(step: Match, case: Case, text: str, target: str) -> Question:
    """A reference is the truth on whichever side it stands; samples beside the response are no truths."""
    if step.against == "reference":
        return ask.same_answer(case.query, (target,), text)
    return ask.same_answer(case.query, (text,), target, drawn=step.components.of == "samples")
