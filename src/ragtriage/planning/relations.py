"""What a step means: one row for every field, unit, relation, target and condition of `ragtriage.core.steps`.

A row says what it needs of a case, how a judge is asked or what is read off the case without one, and when. The rest of
this package reads these tables and names none of their rows. What may be asked of what is checked where a step is made,
by the tables in `ragtriage.core.steps`: a new relation is a line there, a row here and a function in
`ragtriage.core.questions`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ragtriage.core import questions as ask
from ragtriage.core.case import Case
from ragtriage.core.metric import ORDER
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.steps import UNITS_OF, Condition, Decompose, Field, Match, Relation, Step, Target, Unit, conditions
from ragtriage.core.verdicts import Cell, Citation, Component, Components, Known, Missing, Verdict, Verdicts, is_yes
from ragtriage.text.prepared import prepared
from ragtriage.text.segments import segments_of, unsegmented_reason


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that a step needs of a case."""

    missing: Missing
    """The outcome of the step where the case doesn't have it."""
    met: Callable[[Case], bool]


def turns_of(case: Case) -> tuple[str, ...]:
    """The conversation before the query, each message with its speaker."""
    return tuple(f"{turn.role}: {turn.text}" for turn in case.history if turn.text.strip())


_GIVE_IDS = "give ids as source_ids, or sources as objects with an id"

RESPONSE = Requirement(Missing("no response was given", "response"), lambda case: case.response is not None)
RESPONSE_TEXT = Requirement(
    Missing("the response is empty", "response"), lambda case: bool(prepared(case).text.strip())
)
RECORDED_SOURCES = Requirement(
    Missing("the sources weren't recorded", "sources"), lambda case: case.sources is not None
)
SOURCES = Requirement(Missing("no sources were retrieved", "sources"), lambda case: bool(case.known_sources))
REFERENCE = Requirement(
    Missing("the case has no reference", "reference"), lambda case: bool((case.reference or "").strip())
)
SAMPLES = Requirement(Missing("the case has no samples of the response", "samples"), lambda case: bool(case.samples))
RELEVANT_IDS = Requirement(
    Missing("the case names no relevant sources", "relevant ids"), lambda case: case.relevant_ids is not None
)
CONVERSATION = Requirement(Missing("no conversation went before the query", "query"), lambda case: bool(turns_of(case)))
CITATIONS = (
    Requirement(Missing("the response cites nothing", "response"), lambda case: unsegmented_reason(case) != "nothing"),
    Requirement(
        Missing("the response cites only as a whole: no mark stands behind what it says", "response"),
        lambda case: unsegmented_reason(case) != "whole",
    ),
    Requirement(
        Missing(
            "the response has no mark that is known: if its bracketed or raised numbers cite, say so with "
            "--citation-mark",
            "response",
        ),
        lambda case: unsegmented_reason(case) != "unread",
    ),
)
SOURCE_IDS = (  # without relevant ids there are none to compare
    Requirement(
        Missing(f"the sources have no ids: {_GIVE_IDS}", "sources"),
        lambda case: (
            case.relevant_ids is None
            or not case.known_sources
            or any(source.id is not None for source in case.known_sources)
        ),
    ),
    Requirement(
        Missing(f"not every source has an id: {_GIVE_IDS}", "sources"),
        lambda case: case.relevant_ids is None or all(s.id is not None for s in case.known_sources),
    ),
)

CITES_NOTHING = tuple(one.missing for one in CITATIONS)
"""The outcomes of a step on the citations of a response that has none, or none that can be read."""
REASONS = frozenset(
    one.missing.reason
    for one in (
        RESPONSE, RESPONSE_TEXT, RECORDED_SOURCES, SOURCES, REFERENCE, SAMPLES, RELEVANT_IDS, CONVERSATION,
        *CITATIONS, *SOURCE_IDS
    )
)  # fmt: skip
"""Everything that a case may lack, in words."""


def first_unmet(requirements: Iterable[Requirement], case: Case) -> Missing | None:
    """The first of these that the case doesn't meet; None if it meets all."""
    return next((one.missing for one in requirements if not one.met(case)), None)


def first_missing(reasons: Iterable[Missing | None]) -> Missing | None:
    """The reason that is reported where several hold: see `ragtriage.core.metric.ORDER`. None if there is none."""
    found = [reason for reason in reasons if reason]
    return min(found, key=lambda m: (m.failed, ORDER.index(m.field)), default=None)


Texts = tuple[str, ...]
Against = Texts | Verdict | None
"""The texts to hold a component against; a verdict that needs no judge; None for what isn't asked."""


def _cited(case: Case, cited: Iterable[Citation]) -> Texts:
    """The texts of the cited sources, blank ones left out."""
    places = dict.fromkeys(at for citation in cited for at in citation.sources)
    return tuple(case.known_sources[at].text for at in places if case.known_sources[at].text.strip())


def _cited_or_no(case: Case, cited: Sequence[Citation]) -> Against:
    """The texts of the cited sources; a no if one of the citations names no source."""
    wrong = [citation.name for citation in cited if not citation.sources]
    if not wrong:
        return _cited(case, cited)
    count = len(case.known_sources)
    there = {0: "no sources were retrieved", 1: "there is one source"}.get(count, f"there are {count} sources")
    names = ", ".join(f"“{name}”" for name in wrong)
    return Verdict("no", 0.0, 1.0, f"nothing is called {names}: {there}")


def cited_sources(case: Case, segment: Component) -> Sequence[Against]:
    """All that it cites, taken together; a segment without marks isn't asked about."""
    return [_cited_or_no(case, segment.citations) if segment.citations else None]


def each_citation(case: Case, segment: Component) -> Sequence[Against]:
    """Each citation alone."""
    return [_cited_or_no(case, [citation]) for citation in segment.citations]


def other_citations(case: Case, segment: Component) -> Sequence[Against]:
    """For each citation all the others; None where there are none, or the citation itself names no source."""
    cited = segment.citations
    return [
        _cited(case, [other for other in cited if other is not one]) if len(cited) > 1 and one.sources else None
        for one in cited
    ]


QUESTIONS_OF_QUERY = Decompose("query", "questions")
"""Whatever is held against the query is only asked if the query asks something."""

NOTHING = Verdict("no", 0.0, 1.0, "there is no text to hold it against")
_YES, _NO = Verdict("yes", 1.0, 1.0), Verdict("no", 0.0, 1.0)
_ALONE = Verdict("no", 0.0, 1.0, "there is no other component to repeat")
_NOT_CITED = Verdict("no", 0.0, 1.0, "no part of the response that cites a source was found true")

NO_COMPONENTS: Mapping[tuple[Field, Unit], Missing] = {
    ("response", "claims"): Missing("the response makes no claim", "response"),
    ("reference", "claims"): Missing("the reference makes no claim", "reference"),
    ("response", "sentences"): Missing("the response has no sentence", "response"),
    ("response", "segments"): Missing("the response makes no claim", "response"),
    ("query", "questions"): Missing("the query asks no question", "query"),
    ("sources", "facts"): Missing("the sources state no fact", "sources"),
    ("relevant ids", "ids"): Missing("no source is relevant to the query", "relevant ids"),
}
"""The outcome of a match where a text was broken into no component, so that there is nothing to hold against anything.
Where no row is, it is an empty grid."""


@dataclass(frozen=True, slots=True)
class FieldRow:
    """A field of a case."""

    texts: Callable[[Case], Sequence[str]]
    needs: tuple[Requirement, ...] = ()
    several: bool = False
    """Whether it holds several texts; a component then says by `Component.source` which of them it is from."""


FIELDS: Mapping[Field, FieldRow] = {
    "query": FieldRow(lambda case: (case.query,)),
    "sources": FieldRow(
        lambda case: [source.text for source in case.known_sources], (RECORDED_SOURCES, SOURCES), several=True
    ),
    "response": FieldRow(lambda case: (prepared(case).text,), (RESPONSE, RESPONSE_TEXT)),
    "reference": FieldRow(lambda case: (case.reference or "",), (REFERENCE,)),
    "samples": FieldRow(lambda case: case.samples, (SAMPLES,), several=True),
    "relevant ids": FieldRow(lambda case: case.relevant_ids or (), (RELEVANT_IDS,), several=True),
}


Replace = Callable[[Case, str], Case]
"""Puts a text into a case in place of a field's."""


@dataclass(frozen=True, slots=True)
class UnitRow:
    """What the texts of a field are broken into."""

    question: Callable[[str, Case, Decompose], Question] | None = None
    """What a judge is asked about each text; None where none is asked."""
    read: Callable[[Case, Field], Components] = lambda *_: ()
    needs: tuple[Requirement, ...] = ()
    """Beside what the field needs."""
    after: tuple[Decompose, ...] = ()
    """Decompositions that must give at least one component first; else nothing is asked."""
    asks_blank: bool = False
    """Whether a judge is asked about a blank text too."""
    task: str = "split the {}"
    """What the judge was to do, for the message that it failed; the field stands in the braces."""
    exactly_one: bool = False
    """Whether a judge that gives no component has failed."""
    replaces: Replace | None = None
    """How what was found takes the place of the field; None where the unit replaces no field.

    A step that replaces a field is taken before all others, wherever a judge is asked anything, and they read the case
    with what it found. If it fails, so do they. Where it is missing for another reason, they read the field as it is.
    A record holds its outcome only if it found something.
    """


def _whole(case: Case, of: Field) -> Components:
    texts = FIELDS[of].texts(case)
    found = tuple(Component(text, (0, len(text))) for text in texts if text.strip())
    return tuple(map(prepared(case).placed, found)) if of == "response" else found


def _sources(case: Case, _: Field) -> Components:
    return tuple(Component(s.text, (0, len(s.text)), place) for place, s in enumerate(case.known_sources))


UNITS: Mapping[Unit, UnitRow] = {
    "claims": UnitRow(lambda text, case, _: ask.claims(text, case.query)),
    "facts": UnitRow(lambda text, case, _: ask.facts(text, case.query), after=(QUESTIONS_OF_QUERY,)),
    "questions": UnitRow(lambda text, *_: ask.questions(text)),
    "sentences": UnitRow(lambda text, *_: ask.sentences(text)),
    "segments": UnitRow(read=lambda case, _: segments_of(case) or (), needs=CITATIONS),
    "sources": UnitRow(read=_sources),
    "samples": UnitRow(read=lambda case, _: tuple(map(Component, case.samples))),
    "ids": UnitRow(read=lambda case, _: tuple(map(Component, dict.fromkeys(case.relevant_ids or ())))),
    "whole": UnitRow(read=_whole),
    "questions_answered_by": UnitRow(lambda text, _, step: ask.questions_answered_by(text, step.count or 1)),
    "needed_sentences": UnitRow(
        lambda text, case, _: ask.needed_sentences(case.query, text), after=(QUESTIONS_OF_QUERY,)
    ),
    "standalone": UnitRow(
        lambda text, case, _: ask.standalone(text, turns_of(case)),
        needs=(CONVERSATION,),
        asks_blank=True,
        task="write the {} without its conversation",
        exactly_one=True,
        replaces=lambda case, text: replace(case, query=text),
    ),
}

REPLACING: Mapping[Decompose, Replace] = {
    Decompose(of, into): put for of, units in UNITS_OF.items() for into in units if (put := UNITS[into].replaces)
}
"""The steps that replace a field, each with how its text takes the field's place."""
REPLACING_KINDS = tuple(kind for kind in DECOMPOSITIONS for step in REPLACING if step.into == kind)
"""The kinds of question that these steps ask a judge."""


@dataclass(frozen=True, slots=True)
class CaseMatching:
    """A match on one case."""

    step: Match
    case: Case
    components: Components
    steps: Mapping[str, Known]
    """What the steps that it depends on have found out, by their text form."""


@dataclass(frozen=True, slots=True)
class ComponentPair:
    """One component and what it is held against."""

    step: Match
    case: Case
    row: int
    component: Component
    against: Texts

    @property
    def text(self) -> str:
        """The component's."""
        return self.component.text

    @property
    def source(self) -> str:
        """The source that a fact was taken from; empty for all else, and where it is the whole of it."""
        several = FIELDS[self.step.components.of].several and self.step.components.into == "facts"
        at = self.component.source
        source = self.case.known_sources[at].text if several and at is not None else ""
        return "" if source.strip() == self.text.strip() else source

    @property
    def context(self) -> str:
        """What the component was taken from, where that is one text; also where it is the whole of it.

        So a judge can tell a claim from a fact.
        """
        field = FIELDS[self.step.components.of]
        return "" if field.several else field.texts(self.case)[0]


@dataclass(frozen=True, slots=True)
class RelationRow:
    """What is asked about a component."""

    question: Callable[[ComponentPair], Question] | None
    """What a judge is asked about each component and target; None where none is asked."""
    read: Callable[[Case, Components], tuple[tuple[Cell, ...], ...]] = lambda *_: ()
    needs: tuple[Requirement, ...] = ()
    """Beside what the target needs."""


def _retrieved(case: Case, ids: Components) -> tuple[tuple[Cell, ...], ...]:
    """Which source has which id; a source that repeats the id of an earlier one stands in no column twice."""
    names = [source.id for source in case.known_sources]
    columns = [(name, name in names[:place]) for place, name in enumerate(names)]
    return tuple(
        tuple(None if repeats else _YES if name == wanted.text else _NO for name, repeats in columns) for wanted in ids
    )


def _same_answer(pair: ComponentPair) -> Question:
    """A reference is the truth on whichever side it stands; samples beside the response are no truths."""
    if pair.step.against == "reference":
        return ask.same_answer(pair.case.query, pair.against, pair.text)
    return ask.same_answer(pair.case.query, (pair.text,), pair.against[0], drawn=pair.step.components.of == "samples")


def _with_marks(pair: ComponentPair) -> str:
    """A component's text; of the whole response also its marks and its JSON, of which a criterion may speak."""
    return prepared(pair.case).answer if pair.step.components == Decompose("response", "whole") else pair.text


RELATIONS: Mapping[Relation, RelationRow] = {
    "essential": RelationRow(lambda pair: ask.essential(pair.case.query, pair.text, pair.context, pair.source)),
    "relevant": RelationRow(lambda pair: ask.relevant(pair.case.query, pair.text, pair.context)),
    "answered": RelationRow(
        lambda pair: ask.answered(
            pair.text, pair.against, pair.context, pair.case.query if pair.step.against == "response" else ""
        )
    ),
    "supported": RelationRow(lambda pair: ask.supported(pair.text, pair.against, pair.case.query, pair.context)),
    "similar": RelationRow(
        lambda pair: ask.similarity(
            pair.text, pair.against, pair.row if pair.step.against == "other components" else None
        )
    ),
    "declines": RelationRow(lambda pair: ask.declines(pair.case.query, pair.text)),
    "same_answer": RelationRow(_same_answer),
    "holds": RelationRow(
        lambda pair: ask.holds(
            pair.step.criterion, _with_marks(pair), pair.case.query if pair.step.components.of == "response" else ""
        )
    ),
    "retrieved": RelationRow(None, _retrieved, (RECORDED_SOURCES, *SOURCE_IDS)),
}


@dataclass(frozen=True, slots=True)
class TargetRow:
    """What components are held against."""

    shared: Callable[[CaseMatching], Sequence[Against]] | None = None
    """What every component is held against; None where each has its own."""
    own: Callable[[Case, Component], Sequence[Against]] = lambda *_: ()
    needs: tuple[Requirement, ...] = ()
    after: tuple[Decompose, ...] = ()
    """Decompositions that must give at least one component first; else nothing is asked."""
    reads_single_sources: bool = False
    """Whether each source is read by itself; a segment may cite a single one."""


def _text_of(field: Field) -> Callable[[CaseMatching], Sequence[Against]]:
    return lambda m: [tuple(text for text in FIELDS[field].texts(m.case) if text.strip())]


def _other_components(m: CaseMatching) -> Sequence[Against]:
    return [_ALONE if len(m.components) == 1 else tuple(c.text for c in m.components)]


def _true_segments(m: CaseMatching) -> Sequence[Against]:
    """The segments that the step of the first condition found true."""
    return [_found_true(m.steps[str(condition.step)]) or _NOT_CITED for condition in conditions(m.step)[:1]]


def _found_true(known: Known) -> Texts:
    if not isinstance(known, Verdicts):
        return ()
    return tuple(c.text for c, cell in zip(known.components, known.best(), strict=True) if is_yes(cell))


TARGETS: Mapping[Target, TargetRow] = {
    "query": TargetRow(_text_of("query"), after=(QUESTIONS_OF_QUERY,)),
    "sources": TargetRow(_text_of("sources"), needs=(RECORDED_SOURCES,)),
    "each source": TargetRow(
        lambda m: [(source.text,) if source.text.strip() else () for source in m.case.known_sources],
        needs=(RECORDED_SOURCES,),
        reads_single_sources=True,
    ),
    "response": TargetRow(_text_of("response"), needs=(RESPONSE,)),  # an empty one is: it supports nothing
    "reference": TargetRow(_text_of("reference"), needs=(REFERENCE,)),
    "conversation": TargetRow(lambda m: [("\n".join(turns_of(m.case)),)], needs=(CONVERSATION,)),
    "other components": TargetRow(_other_components),
    "criterion": TargetRow(lambda m: [(m.step.criterion,)]),
    "cited sources": TargetRow(own=cited_sources, needs=(RECORDED_SOURCES,), reads_single_sources=True),
    "each citation": TargetRow(own=each_citation, needs=(RECORDED_SOURCES,), reads_single_sources=True),
    "other citations": TargetRow(own=other_citations, needs=(RECORDED_SOURCES,)),
    "true segments": TargetRow(_true_segments),
}


CONDITIONS: Mapping[Condition, Callable[[Component, Cell], bool]] = {
    "lacks yes": lambda _, best: not is_yes(best),
    "has yes": lambda _, best: is_yes(best),
    "wasn't asked": lambda _, best: best is None,
    "names sources": lambda component, _: all(citation.sources for citation in component.citations),
}
"""Whether a condition holds of a component whose best verdict at the condition's step is this."""


def needs_judge(step: Step) -> bool:
    """Whether a judge is needed for it."""
    return (UNITS[step.into].question if isinstance(step, Decompose) else RELATIONS[step.relation].question) is not None


def requirements_of(step: Step) -> tuple[Requirement, ...]:
    """What the step itself needs of a case, without the steps that it depends on."""
    if isinstance(step, Decompose):
        return FIELDS[step.of].needs + UNITS[step.into].needs
    return TARGETS[step.against].needs + RELATIONS[step.relation].needs


def replacements_for(step: Step) -> Mapping[Decompose, Replace]:
    """The steps that replace a field for this one; none for those that do so themselves."""
    return {} if step in REPLACING else REPLACING


def required_decompositions(step: Step) -> tuple[Decompose, ...]:
    """The decompositions that must give a component before the step is asked."""
    return (UNITS[step.into] if isinstance(step, Decompose) else TARGETS[step.against]).after


def reads_single_sources(step: Step) -> bool:
    """Whether every source is read by itself for it."""
    if isinstance(step, Decompose):
        return step.of == "sources" and needs_judge(step)
    return TARGETS[step.against].reads_single_sources or step.components == Decompose("sources", "sources")


def reads_all_sources(step: Step) -> bool:
    """Whether a judge reads all sources together for it."""
    return isinstance(step, Match) and step.against == "sources" and needs_judge(step)
