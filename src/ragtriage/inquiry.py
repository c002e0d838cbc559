"""One step on one case: which questions it takes, and what their answers amount to.

Whatever can be decided without a judge is decided here: a text that is missing makes the step `Missing`, and nothing
can't support or answer anything, so a match against an empty text is no without asking.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from ragtriage.case import Case
from ragtriage.judges import questions as ask
from ragtriage.judges.questions import Question
from ragtriage.metric import ORDER
from ragtriage.planning import FACTS_OF_SOURCES, QUESTIONS_OF_QUERY
from ragtriage.steps import Decompose, Field, Match, Step
from ragtriage.verdicts import Answer, Cell, Component, Components, Failure, Known, Missing, Verdict, Verdicts

NOTHING = Verdict("no", 0.0, 1.0, "there is no text to hold it against")
ALONE = Verdict("no", 0.0, 1.0, "there is no other component to repeat")
EMPTY = {
    "claims": Missing("the response makes no claim", "response"),
    "sentences": Missing("the response has no sentence", "response"),
    "questions": Missing("the query asks no question", "query"),
    "facts": Missing("the sources state no fact", "sources"),
}


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
    if step == FACTS_OF_SOURCES and (silent := _query_silent(steps)):
        return _absent(case, step.of) or silent
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


def _absent(case: Case, field: Field) -> Missing | None:
    """Why a field of the case can't be broken into components."""
    match field:
        case "response":
            if case.response is None:
                return Missing("no response was given", field)
            return None if case.response.strip() else Missing("the response is empty", field)
        case "sources":
            return None if case.sources else Missing("no sources were retrieved", field)
        case "reference":
            return None if case.reference else Missing("the case has no reference", field)
        case "query":
            return None
        case _:
            assert_never(field)


def _text(case: Case, field: Field) -> str:
    return {"query": case.query, "response": case.response or "", "reference": case.reference or ""}[field]


def _decomposition(step: Decompose, case: Case) -> Inquiry | Known:
    absent = _absent(case, step.of)
    if absent:
        return absent
    if step.of == "sources":
        if step.into != "facts":
            return tuple(Component(s.text, (0, len(s.text)), i) for i, s in enumerate(case.sources))
        full = [(i, s.text) for i, s in enumerate(case.sources) if s.text.strip()]
        return Inquiry(
            step, (), (), tuple((0, i) for i, _ in full), tuple(ask.facts(text, case.query) for _, text in full)
        )
    text = _text(case, step.of)
    if not text.strip():
        return ()
    match step.into:
        case "claims":
            question = ask.claims(text, case.query)
        case "sentences":
            question = ask.sentences(text)
        case "questions":
            question = ask.questions(text)
        case "facts":
            question = ask.facts(text)
        case "whole" | "sources":
            return (Component(text, (0, len(text))),)
        case _:
            assert_never(step.into)
    return Inquiry(step, (), (), ((0, 0),), (question,))


def _match(step: Match, case: Case, steps: Mapping[str, Known]) -> Inquiry | Known:
    known = steps[str(step.components)]
    obstacles = [_target_absent(step, case), _query_silent(steps) if step.against == "query" else None]
    if step.where:
        earlier = steps[str(step.where.step)]
        obstacles.append(earlier if isinstance(earlier, Missing) else None)
    if isinstance(known, Missing):
        obstacles.append(known)
    components = tuple(c for c in known if not c.remark) if isinstance(known, tuple) else ()
    if isinstance(known, tuple) and not components:
        obstacles.append(EMPTY.get(step.components.into))
    reasons = [obstacle for obstacle in obstacles if obstacle]
    if reasons:
        return min(reasons, key=lambda m: (m.failed, ORDER.index(m.field)))
    return _grid(step, case, components, _wanted(step, components, steps))


def _target_absent(step: Match, case: Case) -> Missing | None:
    """A match against nothing is no; only a text that was never given makes it missing."""
    if step.against == "response" and case.response is None:
        return Missing("no response was given", "response")
    if step.against == "reference" and case.reference is None:
        return Missing("the case has no reference", "reference")
    if step.against == "conversation" and not case.history:
        return Missing("no conversation went before the query", "query")
    return None


def _query_silent(steps: Mapping[str, Known]) -> Missing | None:
    """Why nothing can be held against the query; None if it asks something."""
    questions = steps[str(QUESTIONS_OF_QUERY)]
    if isinstance(questions, Missing):
        return questions
    return None if questions else EMPTY["questions"]


def _wanted(step: Match, components: Components, steps: Mapping[str, Known]) -> list[bool]:
    """Which components the step's condition lets through; shape (n_components,)."""
    if step.where is None:
        return [True] * len(components)
    earlier = steps[str(step.where.step)]
    best = earlier.best() if isinstance(earlier, Verdicts) else ()
    return [not (isinstance(cell, Verdict) and cell.value == step.where.lacks) for cell in best]


def _grid(step: Match, case: Case, components: Components, wanted: list[bool]) -> Inquiry | Verdicts:
    targets = _targets(step, case)
    fixed: list[tuple[Cell, ...]] = []
    places: list[tuple[int, int]] = []
    asked: list[Question] = []
    everything = tuple(c.text for c in components)
    for row, component in enumerate(components):
        cells: list[Cell] = []
        for column, target in enumerate(targets):
            cell: Cell = None
            if wanted[row]:
                if step.against == "other components":
                    cell = ALONE if len(components) == 1 else None
                elif not target or not component.text.strip():
                    cell = NOTHING
                if cell is None:
                    places.append((row, column))
                    asked.append(
                        _question(step, case, component, everything if step.relation == "similar" else target, row)
                    )
            cells.append(cell)
        fixed.append(tuple(cells))
    if not asked:
        return Verdicts(components, tuple(fixed))
    return Inquiry(step, components, tuple(fixed), tuple(places), tuple(asked))


def _targets(step: Match, case: Case) -> list[tuple[str, ...]]:
    """The texts of each target; shape (n_targets,). Blank texts are left out."""
    match step.against:
        case "each source":
            return [(s.text,) if s.text.strip() else () for s in case.sources]
        case "sources":
            return [tuple(s.text for s in case.sources if s.text.strip())]
        case "query" | "response" | "reference":
            text = _text(case, step.against)
            return [(text,) if text.strip() else ()]
        case "conversation":
            return [("\n".join(turns_of(case)),)]
        case "other components":
            return [()]
        case _:
            assert_never(step.against)


def _question(step: Match, case: Case, component: Component, target: tuple[str, ...], row: int) -> Question:
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
            return ask.similarity(component.text, target, row)
        case "declines":
            return ask.declines(case.query, component.text)
        case _:
            assert_never(step.relation)
