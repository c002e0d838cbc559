"""How far a judge's scores, verdicts and preferences agree with labels, and two people's with each other."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np

from ragtriage.core import statistics
from ragtriage.core.case import Case, Record
from ragtriage.core.statistics import ClusterBootstrap, IntervalEstimate, Measure, Numbers, kappa, wilson
from ragtriage.core.steps import Match
from ragtriage.core.validation import as_builtins
from ragtriage.core.verdicts import Answered, Failure, Missing, Undefined, Verdict, Verdicts
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.evaluation.predict import probability_of_yes
from ragtriage.judges.protocol import Judge
from ragtriage.metrics import metrics_named
from ragtriage.metrics.aggregate import CLAIMS
from ragtriage.metrics.reference import CORRECT, SAID
from ragtriage.metrics.thelma import ANSWERED_BY_RESPONSE, SUPPORTED
from ragtriage.readers.json_objects import row_as
from ragtriage.trust.label_files import Label
from ragtriage.trust.pair_files import sources_of


@dataclass(frozen=True, slots=True)
class PeopleAgreement:
    """Two people's labels of the same items."""

    one: str
    other: str
    same: int
    of: int
    """Items with a yes or no of both."""
    kappa: IntervalEstimate
    """Cohen's kappa (1960), at most 1, 0 is chance, with its 95 % interval by bootstrap over cases; undefined where
    both always gave the same one answer."""

    @property
    def share(self) -> IntervalEstimate:
        """The share of the same answers, with its 95 % interval (Wilson 1927)."""
        return wilson(self.same, self.of)


def people_agreement(labels: Sequence[Label]) -> tuple[PeopleAgreement, ...]:
    """Every two people who said yes or no of the same items of a run, sorted by their names.

    An item is the same only where its text is.
    """
    by_person: dict[str, dict[Any, Label]] = {}
    for label in labels:
        if label.label is not None:
            key = label.run, label.case, label.metric, label.component, label.text
            by_person.setdefault(label.by, {})[key] = label
    found = []
    for one, other in combinations(sorted(by_person), 2):
        both = [key for key in by_person[one] if key in by_person[other]]
        if both:
            found.append(_agreement(one, other, [(by_person[one][key], by_person[other][key]) for key in both]))
    return tuple(found)


def _agreement(one: str, other: str, pairs: Sequence[tuple[Label, Label]]) -> PeopleAgreement:
    said = np.array([[float(bool(label.label)) for label in pair] for pair in pairs])
    drawn = ClusterBootstrap([own.case for own, _ in pairs])
    same = int((said[:, 0] == said[:, 1]).sum())
    return PeopleAgreement(one, other, same, len(pairs), drawn.estimate(kappa(said[:, 0], said[:, 1])))


Scale = Literal["yes or no", "graded", "preference"]
MAIN_MEASURE: Mapping[Scale, str] = {"yes or no": "AUC", "graded": "Spearman", "preference": "pair accuracy"}
"""The measure by which the judge is compared with word overlap."""
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Prediction:
    """A judge's prediction for a row."""

    score: float | None
    """The higher, the likelier label 1 is, or that a is better; None: no prediction."""
    verdict: Answered | None = None
    sure: bool = True
    reason: str = ""
    """Why there is no score."""
    failed: bool = False
    """Whether the judge's failure is the cause."""


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One row: the label, the judge's prediction, and the scores of the baselines."""

    group: str
    label: float
    prediction: Prediction
    overlap: float
    length: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a judge agrees with people on some rows."""

    name: str
    scale: Scale
    rows: int
    groups: int
    mean_label: float
    judge: Mapping[str, IntervalEstimate]
    overlap: Mapping[str, IntervalEstimate]
    """Word overlap by the same measures."""
    length: Mapping[str, IntervalEstimate]
    main: str
    """The measure by which the judge is compared with word overlap."""
    ahead_of_overlap: IntervalEstimate
    """The judge's main measure minus word overlap's, on the same draws."""
    beats_overlap: Literal["yes", "not shown", "no", "unknown"]
    """Whether the judge beats word overlap; `not shown` where the difference's interval holds 0."""
    without_score: int
    """Rows without a score: they count as wrong."""
    failed: int
    """Those of them on which the judge failed."""
    unknown: int
    """Rows of which the judge couldn't tell."""
    reason: str | None = None
    """Why rows have no score: the commonest reason."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines, to stand under its name."""
        return {key: value for key, value in as_builtins(self).items() if key != "name"}


def agreement_of(name: str, rows: Sequence[ComparedRow], scale: Scale | None = None, *, red: str = "no") -> Agreement:
    """Measure agreement on rows.

    A row without a score counts as wrong: as the lowest score where the label is 1, as the highest where it is 0, as
    the middle one where labels are graded, and as preferring the other answer of a pair. What the labels are
    (`scale`) is inferred from them if it isn't given; `red` is the verdict that is shown in red.
    """
    label = np.array([row.label for row in rows])
    scale = scale or ("yes or no" if np.isin(label, (0, 1)).all() else "graded")
    resamples = statistics.ClusterBootstrap([row.group for row in rows])
    scores = {
        "judge": _filled(rows, label, scale),
        "overlap": np.array([row.overlap for row in rows]),
        "length": np.array([row.length for row in rows]),
    }
    measures = {column: _measures(scale, label, score) for column, score in scores.items()}
    judge, overlap = (measures[column][MAIN_MEASURE[scale]][0] for column in ("judge", "overlap"))
    ahead = resamples.estimate(statistics.difference(judge, overlap))
    if scale == "yes or no":
        measures["judge"] |= _of_verdicts(rows, label, red)
    found = {
        column: {key: resamples.estimate(measure, n) for key, (measure, n) in some.items()}
        for column, some in measures.items()
    }
    missing = [row.prediction for row in rows if row.prediction.score is None]
    reasons = Counter(one.reason for one in missing if one.reason)
    return Agreement(
        name,
        scale,
        len(rows),
        resamples.groups,
        float(label.mean()),
        found["judge"],
        found["overlap"],
        found["length"],
        MAIN_MEASURE[scale],
        ahead,
        _beats(ahead),
        len(missing),
        sum(one.failed for one in missing),
        sum(row.prediction.verdict == "unknown" for row in rows),
        next(iter(statistics.ranked(reasons)), None),
    )


def _beats(ahead: IntervalEstimate) -> Literal["yes", "not shown", "no", "unknown"]:
    if ahead.value is None:
        return "unknown"
    if ahead.value <= 0:
        return "no"
    return "yes" if ahead.low is not None and ahead.low > 0 else "not shown"


def _filled(rows: Sequence[ComparedRow], label: Numbers, scale: Scale) -> Numbers:
    """The judge's scores, a wrong one where it gave none."""
    known = [row.prediction.score for row in rows if row.prediction.score is not None] or [0.0]
    low, high, middle = min(known) - 1.0, max(known) + 1.0, float(np.median(known))
    wrong = {
        "graded": np.full(len(label), middle),
        "preference": -10.0 * np.sign(label),
        "yes or no": np.where(label == 1, low, high),
    }[scale]
    scores = [row.prediction.score for row in rows]
    return np.array([other if score is None else score for score, other in zip(scores, wrong, strict=True)])


def _measures(scale: Scale, label: Numbers, score: Numbers) -> dict[str, tuple[Measure, int]]:
    """Measures of scores and over how many rows each is taken, the main one first."""
    n = len(label)
    if scale == "graded":
        return {"Spearman": (statistics.spearman(score, label), n)}
    if scale == "preference":
        decided = (label != 0).astype(np.float64)
        tied = np.abs(score) <= _ROUNDING
        hit = np.where(tied, 0.5, (np.sign(score) == np.sign(label)).astype(np.float64))
        return {
            "pair accuracy": (statistics.share(hit, decided), int(decided.sum())),
            "Spearman": (statistics.spearman(score, label), n),
        }
    return {"AUC": (statistics.auc(label, score), n)}


def _of_verdicts(rows: Sequence[ComparedRow], label: Numbers, red: str) -> dict[str, tuple[Measure, int]]:
    """Measures of verdicts as they come; unknown, and no verdict, are wrong. Empty where there are none."""
    if not any(row.prediction.verdict for row in rows):
        return {}
    value = {"yes": 1.0, "no": 0.0}
    verdict = np.array([value.get(row.prediction.verdict or "", -1.0) for row in rows])
    hit = (verdict == label).astype(np.float64)
    shown = np.array([row.prediction.verdict == red and row.prediction.sure for row in rows], dtype=np.float64)
    fault = (label == value[red]).astype(np.float64)
    n = len(label)
    return {
        "balanced accuracy": (statistics.balanced_accuracy(label, hit), n),
        "accuracy": (statistics.share(hit), n),
        "Cohen's kappa": (statistics.kappa(label, verdict), n),
        "shown in red, right": (statistics.share(fault, shown), int(shown.sum())),
        "faults shown in red": (statistics.share(shown, fault), int(fault.sum())),
    }


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


def preference_of(values: Mapping[str, Any]) -> Preference:
    """One pair from the columns of a row."""
    row = row_as(Preference, values)
    return replace(row, sources=sources_of(row.sources or (), "sources"), reference=row.reference or None)


def pair_scores(
    pairs: Sequence[Preference], judge: Judge, advance: Callable[[], None] = lambda: None
) -> list[float | Undefined]:
    """The score of a minus that of b of every pair, in [-1, 1], or why there is none; above 0 a is better.

    An answer that several pairs share is evaluated once.

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


def _difference(
    a: dict[Aspect, float] | Undefined, b: dict[Aspect, float] | Undefined, aspect: Aspect
) -> float | Undefined:
    if isinstance(a, Undefined):
        return a
    return b if isinstance(b, Undefined) else a[aspect] - b[aspect]


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
