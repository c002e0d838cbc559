"""Which of two answers a judge prefers: the difference of a named metric, read at the judge's probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ragtriage.core.case import Case, Record
from ragtriage.core.steps import Match
from ragtriage.core.verdicts import Failure, Missing, Undefined, Verdict, Verdicts
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.evaluation.predict import probability_of_yes
from ragtriage.judges.protocol import Judge
from ragtriage.metrics import metrics_named
from ragtriage.metrics.aggregate import CLAIMS
from ragtriage.metrics.reference import CORRECT, SAID
from ragtriage.metrics.thelma import ANSWERED_BY_RESPONSE, SUPPORTED
from ragtriage.readers.json_objects import row_as
from ragtriage.trust.pairs.pair_files import sources_of

Aspect = Literal["overall", "correctness", "completeness"]
NEEDED = Match(CLAIMS, "essential", "query")
"""The step of response precision."""
METRICS_WITH_REFERENCE = ("answer_f1",)
METRICS_WITHOUT_REFERENCE = ("groundedness", "response_precision", "response_query_coverage")
PRIOR_ODDS = 9.0
"""The odds of yes for which the embedded judge's support is set: nine claims in ten of an application are supported.

Between an answer and a reference nothing of the kind is known, so there its probabilities are read at even odds."""


@dataclass(frozen=True, slots=True)
class Preference:
    """Two answers to one query, and which people preferred."""

    query: str
    a: str
    b: str
    human: float
    """In [-1, 1]; above 0: a is better, 0: neither."""
    aspect: Aspect = "overall"
    reference: str | None = None
    sources: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        if not -1 <= self.human <= 1:
            raise ValueError(f"human is {self.human:g}: write a number from -1 to 1, above 0 where a is better")


@dataclass(frozen=True, slots=True)
class PairScore:
    """What a judge makes of a pair."""

    difference: float | None
    """The score of a minus that of b, in [-1, 1]; above 0: a is better. None: the pair is unfinished."""
    reason: str = ""
    """Why it is unfinished."""
    failed: bool = False
    """Whether the judge's failure is the cause."""


def preference_of(values: Mapping[str, Any]) -> Preference:
    """One pair from the columns of a row.

    Raises:
        RowProblem: a field is missing or of the wrong kind.
    """
    row = row_as(Preference, values)
    return replace(row, sources=sources_of(row.sources or (), "sources"), reference=row.reference or None)


def pair_scores(
    pairs: Sequence[Preference], judge: Judge, advance: Callable[[], None] = lambda: None
) -> list[PairScore]:
    """Score pairs; an answer that several pairs share is evaluated once.

    With a reference the score is `answer_f1` (overall), `answer_precision` (correctness) or `answer_recall`
    (completeness), without one, or with one that makes no claim, the mean of groundedness, response precision and
    response coverage. Each is taken at its expected value, every verdict with its probability of yes, as verdicts alone
    leave many pairs tied; a claim counts by its words, since a long one holds several facts. An answer without a claim
    says nothing of a reference (0), and nothing that is unsupported or needless (1). Where the query asks nothing,
    groundedness alone counts.
    """
    odds = PRIOR_ODDS if judge.fingerprint("supported").startswith("embedded") else 1.0
    values: dict[Any, dict[Aspect, float] | Undefined] = {}
    usable = set()

    def evaluate(some: Sequence[Preference], names: Sequence[str]) -> None:
        cases = _cases(some)
        keys = {case.id: key for key, case in cases.items()}
        for record in evaluate_sync(cases.values(), judge, metrics=metrics_named(names)):
            key, said = keys[record.case.id], record.steps.get(str(SAID))
            values[key] = _values(record, odds)
            if not (isinstance(said, Missing) and said.field == "reference" and not said.failed):
                usable.add(key)
            advance()

    evaluate([pair for pair in pairs if pair.reference is not None], METRICS_WITH_REFERENCE)
    held = [pair if _key(pair, pair.a) in usable else replace(pair, reference=None) for pair in pairs]
    evaluate([pair for pair in held if pair.reference is None], METRICS_WITHOUT_REFERENCE)
    return [_difference(values[_key(pair, pair.a)], values[_key(pair, pair.b)], pair.aspect) for pair in held]


def distinct_answers(pairs: Sequence[Preference]) -> int:
    """How many different answers have to be evaluated; a few more where a reference makes no claim."""
    return len(_cases(pairs))


def _cases(pairs: Sequence[Preference]) -> dict[Any, Case]:
    """Every answer once."""
    found: dict[Any, Case] = {}
    for pair in pairs:
        for response in (pair.a, pair.b):
            case = Case(str(len(found) + 1), pair.query, pair.sources or (), response, reference=pair.reference)
            found.setdefault(_key(pair, response), case)
    return found


def _key(pair: Preference, response: str) -> Any:
    return pair.query, pair.sources, pair.reference, response


def _difference(a: dict[Aspect, float] | Undefined, b: dict[Aspect, float] | Undefined, aspect: Aspect) -> PairScore:
    if isinstance(a, Undefined):
        return PairScore(None, a.reason, a.failed)
    if isinstance(b, Undefined):
        return PairScore(None, b.reason, b.failed)
    return PairScore(a[aspect] - b[aspect])


def _values(record: Record, odds: float) -> dict[Aspect, float] | Undefined:
    """Each aspect's score of one answer, or why it has none."""
    with_reference = record.case.reference is not None
    if with_reference:
        parts = [_expected(record, CORRECT, 0.0, odds), _expected(record, SAID, 0.0, odds)]
    else:
        parts = [
            _expected(record, SUPPORTED, 1.0),
            _expected(record, NEEDED, 1.0),
            _expected(record, ANSWERED_BY_RESPONSE, 0.0, by_words=False),
        ]
    values = []
    for part in parts:
        if isinstance(part, Undefined):
            return part
        if part is not None:
            values.append(part)
    overall = precision = recall = sum(values) / len(values)
    if with_reference:
        precision, recall = values
        overall = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {"overall": overall, "correctness": precision, "completeness": recall}


def _expected(
    record: Record, step: Match, empty: float, odds: float = 1.0, *, by_words: bool = True
) -> float | Undefined | None:
    """The expected share of yes over a step's components; `empty` where the response holds none.

    None where the query asks nothing ("Thank you!"), so that nothing could be needed or left unanswered.
    """
    known = record.steps[str(step)]
    if isinstance(known, Missing) and (known.failed or known.field != "response"):
        asks_nothing = known.field == "query" and not known.failed
        return None if asks_nothing else Undefined(known.reason, failed=known.failed)
    if not isinstance(known, Verdicts):
        return empty
    total, yes = 0.0, 0.0
    for component, cell in zip(known.components, known.best(), strict=True):
        if isinstance(cell, Failure):
            return Undefined(cell.cause, failed=True)
        if isinstance(cell, Verdict):
            weight = float(max(1, len(component.text.split()))) if by_words else 1.0
            total += weight
            yes += weight * at_even_odds(probability_of_yes(cell), odds)
    return yes / total if total else empty


def at_even_odds(chance: float, odds: float) -> float:
    """A probability that was given where yes had these odds, as it were if yes and no were equally likely before."""
    return chance / (chance + odds * (1.0 - chance)) if chance > 0 else 0.0
