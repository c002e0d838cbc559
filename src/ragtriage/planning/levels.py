"""From metrics to distinct steps in an order in which they can be taken; one step's questions on one case.

Whatever can be decided without a judge is decided here: a text that is missing makes the step `Missing`, and nothing
can't support or answer anything, so a match against an empty text is no without asking.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ragtriage.core.case import Case
from ragtriage.core.metric import Metric
from ragtriage.core.questions import Question
from ragtriage.core.steps import Decompose, Match, Step, conditions
from ragtriage.core.verdicts import Answer, Cell, Component, Components, Failure, Known, Missing, Verdict, Verdicts
from ragtriage.planning.relations import (
    CONDITIONS,
    FIELDS,
    NO_COMPONENTS,
    NOTHING,
    RELATIONS,
    REPLACING,
    TARGETS,
    UNITS,
    Against,
    CaseMatching,
    ComponentPair,
    Replace,
    first_missing,
    first_unmet,
    needs_judge,
    reads_all_sources,
    reads_single_sources,
    replacements_for,
    required_decompositions,
    requirements_of,
)
from ragtriage.text.prepared import Prepared, prepared


@dataclass(frozen=True, slots=True)
class StepQuestions:
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
    response: Prepared | None = None
    """What the components are taken from, where that is the response."""


def questions_for(step: Step, case: Case, steps: Mapping[str, Known]) -> StepQuestions | Known:
    """What to ask for this step, or its outcome where nothing need be asked.

    `steps` has the outcomes of all steps that it depends on, by their text form.
    """
    replacing = replacements_for(step)
    for known in (steps.get(str(earlier)) for earlier in replacing):
        if isinstance(known, Missing) and known.failed:
            return known
    case = as_read(case, steps, replacing)
    if isinstance(step, Decompose):
        missing = first_missing([first_unmet(requirements_of(step), case), _not_given(step, steps)])
        return missing or _decomposition(step, case)
    return _match(step, case, steps)


def as_read(case: Case, steps: Mapping[str, Known], replacing: Mapping[Decompose, Replace] = REPLACING) -> Case:
    """The case with what the steps that replace a field have found in its place; as it is where they found nothing."""
    for step, put in replacing.items():
        known = steps.get(str(step))
        if known and isinstance(known, tuple):
            case = put(case, known[0].text)
    return case


def recorded(steps: Mapping[str, Known]) -> dict[str, Known]:
    """The outcomes that a record holds: not those of steps that were to replace a field and are missing."""
    replacing = set(map(str, REPLACING))
    return {name: known for name, known in steps.items() if not (name in replacing and isinstance(known, Missing))}


def outcome_of(asked: StepQuestions, answers: Mapping[Question, Answer]) -> Known:
    """Put a step's answers together.

    A failed decomposition is `Missing` with its cause, so that every match on it is known as failed and not as empty.
    """
    found = [(place, answers[question]) for place, question in zip(asked.places, asked.questions, strict=True)]
    if isinstance(asked.step, Decompose):
        return _components(asked.step, found, asked.response)
    rows = [list(row) for row in asked.fixed]
    for (row, column), answer in found:
        if isinstance(answer, Verdict | Failure):
            rows[row][column] = answer
        else:
            rows[row][column] = Failure(f"the judge gave components where a verdict was asked for: {answer!r:.80}")
    return Verdicts(asked.components, tuple(map(tuple, rows)))


def _components(
    step: Decompose, answers: Sequence[tuple[tuple[int, int], Answer]], response: Prepared | None
) -> Components | Missing:
    unit, several = UNITS[step.into], FIELDS[step.of].several
    found: list[Component] = []
    for (_, place), answer in answers:
        if unit.exactly_one and not isinstance(answer, Failure) and (isinstance(answer, Verdict) or not answer):
            answer = Failure("it gave no text")  # noqa: PLW2901  # what it amounts to
        if isinstance(answer, Failure):
            return Missing(f"the judge failed to {unit.task.format(step.of)}: {answer.cause}", step.of, failed=True)
        if isinstance(answer, Verdict):
            return Missing(f"the judge gave a verdict where {step.into} were asked for", step.of, failed=True)
        found += (
            [replace(c, source=place) for c in answer]
            if several
            else map(response.placed, answer)
            if response
            else answer
        )
    return tuple(found)


def _decomposition(step: Decompose, case: Case) -> StepQuestions | Components:
    unit = UNITS[step.into]
    if unit.question is None:
        return unit.read(case, step.of)
    texts = [(at, text) for at, text in enumerate(FIELDS[step.of].texts(case)) if text.strip() or unit.asks_blank]
    questions = tuple(unit.question(text, case, step) for _, text in texts)
    response = prepared(case) if step.of == "response" else None
    return StepQuestions(step, (), (), tuple((0, at) for at, _ in texts), questions, response) if texts else ()


def _match(step: Match, case: Case, steps: Mapping[str, Known]) -> StepQuestions | Known:
    known = steps[str(step.components)]
    earlier = [steps[str(condition.step)] for condition in conditions(step)]
    components = tuple(c for c in known if not c.remark) if isinstance(known, tuple) else ()
    missing = first_missing(
        [
            first_unmet(requirements_of(step), case),
            _not_given(step, steps),
            *(one for one in (*earlier, known) if isinstance(one, Missing)),
            NO_COMPONENTS.get((step.components.of, step.components.into))
            if isinstance(known, tuple) and not components
            else None,
        ]
    )
    if missing:
        return missing
    relation = RELATIONS[step.relation]
    if relation.question is None:
        return Verdicts(components, relation.read(case, components))
    wanted = _wanted(step, components, steps)
    fixed: list[tuple[Cell, ...]] = []
    places: list[tuple[int, int]] = []
    questions: list[Question] = []
    for row, targets in enumerate(_targets(CaseMatching(step, case, components, steps))):
        text = components[row].text
        cells: list[Cell] = [None] * len(targets)
        for column, target in enumerate(targets if wanted[row] else ()):
            if target is None or isinstance(target, Verdict):
                cells[column] = target
            elif not target or not text.strip():
                cells[column] = NOTHING
            else:
                places.append((row, column))
                questions.append(relation.question(ComponentPair(step, case, row, components[row], target)))
        fixed.append(tuple(cells))
    if not questions:
        return Verdicts(components, tuple(fixed))
    return StepQuestions(step, components, tuple(fixed), tuple(places), tuple(questions))


def _not_given(step: Step, steps: Mapping[str, Known]) -> Missing | None:
    """Why a decomposition gave nothing that must give something before this step is asked; None if all gave."""
    for earlier in required_decompositions(step):
        known = steps[str(earlier)]
        if not known or isinstance(known, Missing):
            return known if isinstance(known, Missing) else NO_COMPONENTS[earlier.of, earlier.into]
    return None


def _wanted(step: Match, components: Components, steps: Mapping[str, Known]) -> list[bool]:
    """Which components the step's conditions let through; shape (n_components,)."""
    wanted = [True] * len(components)
    for condition in conditions(step):
        earlier = steps[str(condition.step)]
        best = earlier.best() if isinstance(earlier, Verdicts) else ()
        holds = CONDITIONS[condition.holds]
        wanted = [so_far and holds(c, cell) for so_far, c, cell in zip(wanted, components, best, strict=True)]
    return wanted


def _targets(matching: CaseMatching) -> Sequence[Sequence[Against]]:
    """What each component is held against; shape (n_components, n_targets).

    Blank texts are left out; against nothing a match is no. Rows of different lengths are filled up with None.
    """
    target = TARGETS[matching.step.against]
    if target.shared:
        return [target.shared(matching)] * len(matching.components)
    rows = [target.own(matching.case, component) for component in matching.components]
    widest = max(map(len, rows), default=0)
    return [[*row, *[None] * (widest - len(row))] for row in rows]


@dataclass(frozen=True, slots=True)
class Plan:
    """What has to be found out, each thing once."""

    metrics: tuple[Metric, ...]
    steps: tuple[Step, ...]
    """Distinct, every step behind those that it depends on."""
    levels: tuple[tuple[Step, ...], ...]
    """The same steps, grouped so that those of one level can be asked at the same time."""
    also: tuple[Step, ...] = ()
    """The steps that somebody needs beside the metrics."""
    levels_of_one_source: tuple[tuple[Step, ...], ...] = ()
    """The levels for a case with one source, which is all sources: nothing about it waits for more."""

    def shared(self) -> Mapping[str, tuple[str, ...]]:
        """The steps that serve more than one metric → the metrics' names."""
        users = {str(s): tuple(m.name for m in self.metrics if s in closure(m.needs.values())) for s in self.steps}
        return {step: names for step, names in users.items() if len(names) > 1}

    def levels_for(self, case: Case) -> tuple[tuple[Step, ...], ...]:
        """The levels in which a case is asked about."""
        return self.levels if len({source.text for source in case.known_sources}) > 1 else self.levels_of_one_source

    def not_needed(self, case: Case) -> Mapping[Step, Missing]:
        """The steps that no score and no rule needs on this case, as all that would need them lack something.

        A rule reads scores, so where no score can be computed no rule needs anything.

        Returns:
            Step → what is lacking. They are not asked: a metric without its reference costs nothing.
        """
        lacking = {
            m.name: first_missing(unmet_requirement(step, case) for step in m.needs.values()) for m in self.metrics
        }
        hopeless = first_missing(lacking.values()) if lacking and all(lacking.values()) else None
        by_metrics = [(tuple(m.needs.values()), lacking[m.name]) for m in self.metrics]
        by_rules = [((step,), hopeless or unmet_requirement(step, case)) for step in self.also]
        users = [*by_metrics, *by_rules]
        wanted = set(taken_for(step for needs, missing in users if missing is None for step in needs))
        idle: dict[Step, Missing] = {}
        for needs, missing in users:
            if missing:
                idle |= {step: missing for step in taken_for(needs) if step not in wanted and step not in idle}
        return idle


def plan(metrics: Sequence[Metric], also: Iterable[Step] = ()) -> Plan:
    """Collect the steps of several metrics, each distinct step once.

    Args:
        metrics: what to compute.
        also: further steps, for example those that diagnosis rules need.
    """
    also = tuple(also)
    steps = taken_for([*(step for m in metrics for step in m.needs.values()), *also])
    levels, of_one_source = _levels(_placed(steps, together=True)), _levels(_placed(steps, together=False))
    return Plan(tuple(metrics), tuple(step for level in levels for step in level), levels, also, of_one_source)


def _levels(at: Mapping[Step, int]) -> tuple[tuple[Step, ...], ...]:
    return tuple(tuple(step for step in at if at[step] == level) for level in sorted(set(at.values())))


def dependencies(step: Step) -> tuple[Step, ...]:
    """The steps that are taken before this one: its inputs, and those that replace a field, where they are planned."""
    return (*replacements_for(step), *inputs(step))


def inputs(step: Step) -> tuple[Step, ...]:
    """The steps without whose outcome this one can't be taken."""
    if isinstance(step, Decompose):
        return required_decompositions(step)
    return (step.components, *required_decompositions(step), *(condition.step for condition in conditions(step)))


def closure(steps: Iterable[Step]) -> tuple[Step, ...]:
    """These steps, their inputs and the inputs of those, each once, inputs first."""
    return _closure(tuple(steps))


@lru_cache(1024)
def _closure(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    seen: dict[Step, None] = {}

    def visit(step: Step) -> None:
        if step not in seen:
            for earlier in inputs(step):
                visit(earlier)
            seen[step] = None

    for step in steps:
        visit(step)
    return tuple(seen)


def taken_for(steps: Iterable[Step]) -> tuple[Step, ...]:
    """All that is taken for these steps: their closure, behind the steps that replace a field if a judge is asked."""
    needed = closure(steps)
    return closure([*REPLACING, *needed]) if any(map(needs_judge, needed)) else needed


def unmet_requirement(step: Step, case: Case) -> Missing | None:
    """What the case lacks for this step or one of its closure; None if nothing."""
    return first_missing(first_unmet(requirements_of(one), case) for one in closure([step]))


def _placed(steps: Sequence[Step], *, together: bool) -> dict[Step, int]:
    """Step → level. Whatever is asked about single sources waits for the last of it, so that a source is read once.

    Steps that come after each other by what they depend on can't be asked together: they form *waves*, and only what is
    in the same wave waits for each other. The steps are given with their dependencies first.
    """
    before = {step: [earlier for earlier in dependencies(step) if earlier in steps] for step in steps}
    waves: dict[Step, int] = {}
    for step in steps:
        waves[step] = max((waves[earlier] for earlier in before[step]), default=0) + reads_single_sources(step)
    level: dict[Step, int] = {}

    def earliest(step: Step) -> int:
        return 1 + max((level[earlier] for earlier in before[step]), default=-1)

    for wave in sorted(set(waves.values())):
        own = [step for step in steps if waves[step] == wave]
        single = [step for step in own if reads_single_sources(step)]
        level |= dict.fromkeys(single, max(map(earliest, single), default=0))
        for step in own:
            if step not in level:
                level[step] = earliest(step)
    if together:
        _read_together(steps, before, level)
    return {step: level[step] for step in steps}


def _read_together(steps: Sequence[Step], before: Mapping[Step, Sequence[Step]], level: dict[Step, int]) -> None:
    """Let what is asked about all sources together wait for the last of it, so that they are sent once for all of it.

    A step waits only if nothing that reads sources depends on it. What else depends on it moves behind it.
    """
    reading = [step for step in steps if reads_all_sources(step)]
    last = max((level[step] for step in reading), default=0)
    needed = {
        earlier
        for step in steps
        if reads_single_sources(step) or reads_all_sources(step)
        for earlier in closure(dependencies(step))
    }
    for step in steps:
        if step in reading and step not in needed:
            level[step] = last
        else:
            level[step] = max([level[step], *(level[earlier] + 1 for earlier in before[step])])
