"""Does the better version score higher? Pairs evaluated, and how often judge, length and overlap agree.

THELMA's table 1 is this for its metrics, and for RAGAs' by the same judge.
"""

import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ragtriage.core.case import WINDOW, Case
from ragtriage.core.errors import InputError
from ragtriage.core.metric import Metric
from ragtriage.core.statistics import ClusterBootstrap, ranked, share, wilson_interval
from ragtriage.core.validation import as_builtins
from ragtriage.core.verdicts import Score, Undefined
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.evaluation.estimate import estimate_evaluation
from ragtriage.judges.protocol import Estimate, Judge
from ragtriage.judges.wrappers.cached import AnswerMemory
from ragtriage.metrics import metrics_named
from ragtriage.readers.problems import Rejected
from ragtriage.trust.pair_files import SHORT, LabelledPair, read_pairs
from ragtriage.trust.wording import OF_SOURCES, closest, content_words, overlap, sentences

LONGER_IS_BETTER = ("source_query_coverage", "response_query_coverage")
"""Coverage likes more text; everything else less."""


def pair_overlap(pair: LabelledPair) -> float | None:
    """The metric's plainest form in words, better minus worse, in [-1, 1]; None for metrics that have none."""
    form = _CASE_OVERLAP.get(pair.metric)
    return form(pair.better) - form(pair.worse) if form else None


def pair_length(pair: LabelledPair) -> float:
    """The length that speaks for the better version, minus the same of the worse one, in characters.

    Of the part that the metric is about: coverage likes more of it, every other metric less.
    """
    sign = 1 if pair.metric in LONGER_IS_BETTER else -1
    return float(sign * (_case_length(pair.metric, pair.better) - _case_length(pair.metric, pair.worse)))


def agreement_by_length(pairs: Sequence[LabelledPair]) -> float | None:
    """The share of pairs whose better version has the length that its metric likes; None over nothing."""
    return sum(pair_length(pair) > 0 for pair in pairs) / len(pairs) if pairs else None


def agreement_by_overlap(pairs: Sequence[LabelledPair]) -> float | None:
    """The share of pairs whose better version overlaps as its metric likes; None over nothing, or without a form."""
    known = [value for pair in pairs if (value := pair_overlap(pair)) is not None]
    return sum(value > 1e-9 for value in known) / len(known) if known else None


def _case_length(metric: str, case: Case) -> int:
    if metric in OF_SOURCES:
        return sum(len(source.text) for source in case.known_sources)
    return len(case.response or "")


def _share(text: str, within: str | None) -> float:
    return overlap(text, within or "", content_words)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


_CASE_OVERLAP: Mapping[str, Callable[[Case], float]] = MappingProxyType(
    {
        "source_precision": lambda c: _mean([_share(c.query, s.text) for s in c.known_sources]),
        "fact_precision": lambda c: _mean([_share(c.query, one) for s in c.known_sources for one in sentences(s.text)]),
        "source_query_coverage": lambda c: max((_share(c.query, s.text) for s in c.known_sources), default=0.0),
        "response_precision": lambda c: _mean([_share(c.query, one) for one in sentences(c.response)]),
        "response_query_coverage": lambda c: _share(c.query, c.response),
        "self_distinctness": lambda c: 1 - closest(sentences(c.response), content_words),
        "groundedness": lambda c: _mean(
            [_share(one, " ".join(s.text for s in c.known_sources)) for one in sentences(c.response)]
        ),
    }
)


ScoreValue = float | Undefined
"""A score's value, or why there is none."""
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """One pair by one metric."""

    pair: LabelledPair
    metric: str
    better: ScoreValue
    worse: ScoreValue

    @property
    def failed(self) -> bool:
        """Whether the judge failed on either version: such a pair says nothing, and the same command tries again."""
        return any(isinstance(value, Undefined) and value.failed for value in (self.better, self.worse))

    @property
    def margin(self) -> float | None:
        """The better version's score minus the worse one's; None where one of them is undefined."""
        if isinstance(self.better, Undefined) or isinstance(self.worse, Undefined):
            return None
        return self.better - self.worse

    @property
    def agrees(self) -> bool:
        """Whether the better version scores higher. A tie is no agreement, and nor is a score that is undefined."""
        return self.margin is not None and self.margin > _ROUNDING

    @property
    def ties(self) -> bool:
        """Whether both versions score the same."""
        return self.margin is not None and abs(self.margin) <= _ROUNDING


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """How often the better version of a pair scores higher; its fields are the stable form for machines."""

    agreement: float | None
    """`agreed` / `pairs`, in [0, 1]; None if no pair counts, or if none has both scores."""
    low: float | None
    """Lower end of the 95 % interval: percentile bootstrap over groups (Efron 1979). Where no resample differs from
    another, because all pairs agree or none does, Wilson's (1927) over as many trials as there are groups."""
    high: float | None
    pairs: int
    """Those that count: all but those on which the judge failed."""
    groups: int
    """Queries behind them."""
    agreed: int
    ties: int
    undefined: int
    """Pairs of which a version has no score; they are no agreement."""
    failed: int
    """Pairs on which the judge failed; they aren't among `pairs`."""
    reason: str | None = None
    """Where `agreement` is None, or scores are undefined: the commonest reason."""


@dataclass(frozen=True, slots=True)
class ScoringTask:
    """Cases to be scored together, since they need the same metrics."""

    metrics: tuple[Metric, ...]
    cases: tuple[Case, ...]
    """Each version once."""


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """What asking a judge would take, without what is in memory."""

    questions: int
    """At most."""
    least: Estimate
    """If every verdict is yes."""
    most: Estimate
    """If every verdict is no."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines; prices are in US dollars, null if not known."""
        return {"questions": self.questions, "least": self.least.as_json(), "most": self.most.as_json()}


def scoring_tasks(pairs: Sequence[LabelledPair], further: Mapping[str, Sequence[str]]) -> list[ScoringTask]:
    """What has to be evaluated for `score_pairs`: a version that several pairs share is evaluated once a metric."""
    found = []
    for name in dict.fromkeys(pair.metric for pair in pairs):
        versions = {version_key(v): v for pair in pairs if pair.metric == name for v in (pair.better, pair.worse)}
        found.append(ScoringTask(metrics_named([name, *further.get(name, ())]), tuple(versions.values())))
    return found


def score_pairs(
    pairs: Sequence[LabelledPair],
    judge: Judge,
    *,
    further: Mapping[str, Sequence[str]] = MappingProxyType({}),
    window: int = WINDOW,
    advance: Callable[[], None] = lambda: None,
) -> list[ScoredPair]:
    """Score both versions of pairs: one item a pair by its metric, then one by each that `further` names beside it.

    `advance` is called for every case of every task that is done.
    """
    values: dict[tuple[str, Any], ScoreValue] = {}
    for task in scoring_tasks(pairs, further):
        for record in evaluate_sync(task.cases, judge, metrics=task.metrics, window=window):
            for name, outcome in record.outcomes.items():
                values[name, version_key(record.case)] = outcome.value if isinstance(outcome, Score) else outcome
            advance()
    return [
        ScoredPair(pair, name, values[name, version_key(pair.better)], values[name, version_key(pair.worse)])
        for pair in pairs
        for name in (pair.metric, *further.get(pair.metric, ()))
    ]


def cost_of_pairs(
    pairs: Sequence[LabelledPair],
    judge: Judge,
    *,
    further: Mapping[str, Sequence[str]] = MappingProxyType({}),
    memory: AnswerMemory | None = None,
) -> CostEstimate:
    """What `score_pairs` would take. An answer that several metrics share is counted for each of them."""
    taken = [
        estimate_evaluation(task.cases, judge, metrics=task.metrics, memory=memory)
        for task in scoring_tasks(pairs, further)
    ]
    return CostEstimate(
        sum(sum(one.questions.values()) for one in taken),
        sum((one.least for one in taken), Estimate()),
        sum((one.most for one in taken), Estimate()),
    )


def pair_agreement(scored: Sequence[ScoredPair]) -> PairAgreement:
    """How often the better version scores higher, with its interval."""
    counted = [one for one in scored if not one.failed]
    undefined = sum(one.margin is None for one in counted)
    agreed, ties = sum(one.agrees for one in counted), sum(one.ties for one in counted)
    reasons = Counter(
        value.reason for one in counted or scored for value in (one.better, one.worse) if isinstance(value, Undefined)
    )
    known: tuple[float | None, float | None, float | None] = (None, None, None)
    if undefined < len(counted):
        known = (agreed / len(counted), *interval([(one.pair.group, one.agrees) for one in counted]))
    return PairAgreement(
        *known,
        len(counted),
        len({one.pair.group for one in counted}),
        agreed,
        ties,
        undefined,
        len(scored) - len(counted),
        next(iter(ranked(reasons)), "") or None,
    )


def interval(hits: Sequence[tuple[str, bool]]) -> tuple[float, float]:
    """The 95 % interval of a share of hits, at least one (group, whether it is one); see `PairAgreement.low`."""
    groups: dict[str, list[bool]] = defaultdict(list)
    for group, hit in hits:
        groups[group].append(hit)
    shares = {sum(some) / len(some) for some in groups.values()}
    if len(shares) == 1:
        return wilson_interval(round(shares.pop() * len(groups)) / len(groups), len(groups))
    found = ClusterBootstrap([group for group, _ in hits]).estimate(
        share(np.array([hit for _, hit in hits], dtype=np.float64))
    )
    return found.low or 0.0, 1.0 if found.high is None else found.high


def version_key(case: Case) -> Any:
    """What makes two versions the same."""
    return case.query, case.known_sources, case.response, case.history


OWN_PAIRS = Path(__file__).parent / "table1_pairs.jsonl"
"""The pairs that come with the package, written for it."""
_TABLE = tomllib.loads((Path(__file__).parent / "table1.toml").read_text(encoding="utf-8"))
MODELS: tuple[str, ...] = tuple(_TABLE["models"])
"""The language models of the paper's table, in its order."""
PUBLISHED: Mapping[str, Mapping[str, Sequence[float]]] = _TABLE["published"]
"""Short name of a metric → `thelma` and `ragas` → the paper's figures, one a model."""
RAGAS_FOR: Mapping[str, str] = _TABLE["ragas_for"]
"""A metric → the one of RAGAs that the paper holds against it."""
FURTHER: Mapping[str, tuple[str, ...]] = {name: (ragas,) for name, ragas in RAGAS_FOR.items()}
"""A metric → by which others its pairs are scored, too: see `score_pairs`."""


@dataclass(frozen=True, slots=True)
class Table1Row:
    """One column of the paper's table, as one row."""

    short: str
    """The paper's short name."""
    ours: PairAgreement
    ragas: PairAgreement
    length: float | None
    """What length alone would have got, in [0, 1]."""
    overlap: float | None
    """What word overlap alone would have got, in [0, 1]."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines."""
        metric, published = SHORT[self.short], PUBLISHED[self.short]
        return {
            "metric": metric,
            "ours": as_builtins(self.ours),
            "ragas": {"metric": RAGAS_FOR[metric], **as_builtins(self.ragas)},
            "length": self.length,
            "overlap": self.overlap,
            "paper": {name: dict(zip(MODELS, figures, strict=True)) for name, figures in published.items()},
        }


def read_table1(data: str | Path = OWN_PAIRS) -> tuple[list[LabelledPair], list[Rejected]]:
    """The pairs of a file, or of every `.jsonl` and `.jsonl.gz` of a folder, and the rows that can't be used."""
    path = Path(data)
    files = sorted(file for file in path.glob("*.jsonl*") if file.is_file()) if path.is_dir() else [path]
    if not files:
        raise InputError(
            f"{path}: there is no .jsonl or .jsonl.gz in this folder: name the folder that holds the pairs"
        )
    read = [read_pairs(str(file)) for file in files]
    pairs = [pair for some, _ in read for pair in some]
    for pair in pairs:
        if pair.metric not in RAGAS_FOR:
            raise InputError(
                f"{path}: pair {pair.id!r} is about {pair.metric}, which table 1 doesn't have: take it out"
            )
    return pairs, [row for _, rejected in read for row in rejected]


def table1_rows(scored: Sequence[ScoredPair]) -> list[Table1Row]:
    """The table's rows, in the paper's order; a metric without pairs has none."""
    found = []
    for short, name in SHORT.items():
        ours, ragas = (
            [one for one in scored if one.pair.metric == name and one.metric == metric]
            for metric in (name, RAGAS_FOR[name])
        )
        if ours:
            pairs = [one.pair for one in ours]
            lexical = agreement_by_length(pairs), agreement_by_overlap(pairs)
            found.append(Table1Row(short, pair_agreement(ours), pair_agreement(ragas), *lexical))
    return found
