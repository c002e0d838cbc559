"""A file of answered questions in numbers: clusters, their comparison, and the same on a balanced sample.

Of one cluster: R = right / (all − those in gap groups) and Acc = right / all = R × (all − gap) / all are equations 1
and 2 of "GRAMMAR" (section 3.3). Rows of undecided groups are in neither numerator nor denominator.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np

from ragtriage.core.errors import ConfigError
from ragtriage.core.statistics import Numbers, percentile_interval
from ragtriage.judges.protocol import Judge
from ragtriage.testset.answered_rows import Row
from ragtriage.testset.correctness import TOLERANCE, Decision, decide
from ragtriage.testset.failure_analysis import TAGS, Blame, BlameRule, Scope, Tag, TaggedRow, tag_rows

GrammarMetric = Literal["accuracy", "accuracy_without_lm_errors", "robustness", "robustness_without_lm_errors"]
METRICS: tuple[GrammarMetric, ...] = get_args(GrammarMetric)
Average = Literal["rows", "groups"]
Policy = Literal["correct", "drop"]
"""What becomes of answers that are blamed on the language model: counted as correct, or dropped."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The decided rows of some groups in one cluster, a group at a time.

    Every array has shape (n_groups,). A metric is a ratio of two sums over groups (`ratios`), so a resampled or swapped
    set of groups needs sums only.
    """

    rows: Numbers
    right: Numbers
    lm: Numbers
    """Wrong answers that are blamed on the language model."""
    gap: Numbers
    """1 where the group is a gap group, else 0."""

    def parts(self, average: Average, policy: Policy) -> Numbers:
        """Numerator and denominator of every metric, group by group.

        Returns:
            Shape (n_groups, 4, 2), metrics in the order of METRICS. Their sums over groups, divided, are the metrics.
            Over groups each group's share of right answers counts once; a group without a row counts nowhere.
        """
        without = (self.right + self.lm, self.rows) if policy == "correct" else (self.right, self.rows - self.lm)
        found = []
        for right, rows in ((self.right, self.rows), without):
            there = rows > 0
            share = np.divide(right, rows, out=np.zeros_like(right), where=there)
            found.append(np.stack((share, there) if average == "groups" else (right, rows), axis=-1))
        known = (1.0 - self.gap)[:, None]
        return np.stack([*found, *(pair * known for pair in found)], axis=1)


def counts_of(tagged: Iterable[TaggedRow], groups: Sequence[str]) -> Counts:
    """Count the rows of one cluster by group, in the order of `groups`; undecided groups count as empty."""
    place = {name: i for i, name in enumerate(groups)}
    counted = np.zeros((4, len(groups)))
    for one in tagged:
        if one.tag != "undecided":
            at = place[one.row.group]
            counted[:3, at] += (1, bool(one.correct), one.blame == "LM")
            counted[3, at] = one.tag == "gap"
    return Counts(*counted)


def ratios(sums: Numbers) -> Numbers:
    """Sums of numerators and denominators, shape (…, 4, 2) → metrics, shape (…, 4); nan where undefined."""
    top, bottom = sums[..., 0], sums[..., 1]
    return np.asarray(np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0))


@dataclass(frozen=True, slots=True)
class ClusterScores:
    """One cluster in numbers."""

    name: str
    rows: int
    undecided_rows: int
    """Rows whose own answer is undecided."""
    left_out_rows: int
    """Rows of undecided groups, which no metric counts."""
    tags: Mapping[Tag, int]
    """How many groups with a row of this cluster have each tag."""
    blame: Mapping[Blame, int]
    """Wrong answers of non-robust groups by the module at fault."""
    rules: Mapping[BlameRule, int]
    """By which rule they were blamed."""
    values: Mapping[Average, Mapping[GrammarMetric, float | None]]
    """Each metric in [0, 1], averaged over rows and over groups; None where it is undefined."""
    undefined: Mapping[GrammarMetric, str]
    """Metric → why it is undefined."""


def score_cluster(name: str, tagged: Sequence[TaggedRow], policy: Policy = "correct") -> ClusterScores:
    """The numbers of one cluster.

    Undefined: accuracy if no group is decided, robustness also if all are gap groups, and what is without errors of
    the language model also if there are wrong answers to blame and no row of the cluster says what was retrieved. The
    rows are tagged by `tag_rows` together with those of the other clusters.
    """
    groups = sorted({one.row.group for one in tagged})
    counts = counts_of(tagged, groups)
    tag_of: dict[str, Tag] = {one.row.group: one.tag for one in tagged}
    number = Counter(tag_of.values())
    undefined = _undefined(tagged, counts, policy)
    values: dict[Average, dict[GrammarMetric, float | None]] = defaultdict(dict)
    for average in ("rows", "groups"):
        found = ratios(counts.parts(average, policy).sum(axis=0))
        for metric, value in zip(METRICS, found, strict=True):
            values[average][metric] = None if metric in undefined else float(value)
    return ClusterScores(
        name=name,
        rows=len(tagged),
        undecided_rows=sum(one.correct is None for one in tagged),
        left_out_rows=sum(one.tag == "undecided" for one in tagged),
        tags={tag: number[tag] for tag in TAGS},
        blame=Counter(one.blame for one in tagged if one.blame),
        rules=Counter(one.rule for one in tagged if one.rule),
        values=dict(values),
        undefined=undefined,
    )


def _undefined(tagged: Sequence[TaggedRow], counts: Counts, policy: Policy) -> dict[GrammarMetric, str]:
    """Metric → why there is no number."""
    if not counts.rows.any():
        return dict.fromkeys(METRICS, "no group of it is decided")
    found: dict[GrammarMetric, str] = {}
    if {one.blame for one in tagged if one.blame} == {"unknown"} and all(one.row.retrieved is None for one in tagged):
        why = "no row of it says what was retrieved, so no wrong answer can be blamed on a module"
        found |= {"accuracy_without_lm_errors": why, "robustness_without_lm_errors": why}
    if policy == "drop" and counts.lm.sum() == counts.rows.sum():
        found["accuracy_without_lm_errors"] = "all its answers are errors of the language model"
    known = counts.gap == 0
    if not counts.rows[known].any():
        found |= dict.fromkeys(("robustness", "robustness_without_lm_errors"), "all its groups are gap groups")
    elif policy == "drop" and counts.lm.sum() == counts.rows[known].sum():
        found["robustness_without_lm_errors"] = "all its answers outside of gap groups are errors of the language model"
    return found


RESAMPLES = 2000
"""Bootstrap resamples of groups behind an interval."""
FLIPS = 10_000
"""Random sign flips behind a p-value; with few groups all flips are taken."""
_EXACT = 13
"""Up to so many groups all flips are taken: 2 ** 13 is fewer than FLIPS."""
_DETECTABLE = 1.959964 + 0.841621
"""Standard errors of a difference that a test at 5 % (two-sided) finds 80 times of 100."""
_ROUNDING = 1e-12
"""Numbers that are closer than this are the same but for rounding."""
_ALL_ALIKE = "no resample differs from another, so the smallest detectable difference can't be estimated"
_NO_PAIR = "no group has decided rows in both clusters, so there is no p-value"
_NO_PAIR_LEFT = "it is undefined on the groups that have rows in both clusters, so there is no p-value"
_AT_ONCE = 4_000_000
"""Cells of a matrix of resamples or flips that are held at once."""


@dataclass(frozen=True, slots=True)
class ClusterDifference:
    """One metric of two clusters."""

    difference: float | None
    """The first cluster's minus the second's, in [-1, 1]; None where one of them is undefined."""
    low: float | None
    """Lower end of the 95 % percentile bootstrap interval over groups."""
    high: float | None
    p: float | None
    """Two-sided, of the paired sign-flip test; None if no group has rows in both clusters."""
    detectable: float | None
    """The smallest true difference that these groups show with a probability of 80 % at p < 0.05; None if no resample
    differs from another."""
    paired_groups: int
    """Groups with rows in both clusters: what the p-value is about."""
    undefined: str | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True)
class ClusterComparison:
    """All metrics of two clusters."""

    first: str
    second: str
    metrics: dict[GrammarMetric, ClusterDifference]

    def as_json(self) -> dict[str, Any]:
        """Metric → its numbers, with the names of the clusters."""
        return {
            metric: {**asdict(found), "first": self.first, "second": self.second}
            for metric, found in self.metrics.items()
        }


def compare(
    tagged: Sequence[TaggedRow],
    first: ClusterScores,
    second: ClusterScores,
    average: Average = "rows",
    policy: Policy = "correct",
    seed: int = 0,
) -> ClusterComparison:
    """Compare two clusters by what they share: groups.

    The interval comes from drawing groups with replacement, each with its rows of both clusters. The p-value comes
    from swapping the clusters within groups: without an effect a group's rows could as well carry the other name.
    Only groups with decided rows in both take part in it. The smallest detectable difference is (1.96 + 0.84)
    standard errors, the error being the bootstrap's. Rows of other clusters are ignored; rows in another order give
    the same numbers.
    """
    own = [[one for one in tagged if one.row.cluster == scores.name] for scores in (first, second)]
    groups = sorted({one.row.group for rows in own for one in rows if one.tag != "undecided"})
    one, other = (counts_of(rows, groups) for rows in own)
    pair = (one.parts(average, policy), other.parts(average, policy))
    drawn = _drawn(pair, np.random.default_rng([seed, 1])) if groups else np.empty((0, len(METRICS)))
    p_values, paired = _flipped(one, other, pair, np.random.default_rng([seed, 2]))
    found: dict[GrammarMetric, ClusterDifference] = {}
    for at, metric in enumerate(METRICS):
        if missing := [f"{s.name}: {s.undefined[metric]}" for s in (first, second) if metric in s.undefined]:
            found[metric] = ClusterDifference(*(None,) * 5, paired, "; ".join(missing))
            continue
        values = [scores.values[average][metric] or 0.0 for scores in (first, second)]
        sample = drawn[:, at][~np.isnan(drawn[:, at])]
        low = high = detectable = None
        why = None if p_values[at] is not None else _NO_PAIR if not paired else _NO_PAIR_LEFT
        if len(groups) == 1:
            why = "one group has no interval"
        else:
            low, high = percentile_interval(sample)
            spread = float(np.std(sample, ddof=1))
            detectable = None if spread < _ROUNDING else _DETECTABLE * spread
            why = why or (_ALL_ALIKE if spread < _ROUNDING else None)
        found[metric] = ClusterDifference(values[0] - values[1], low, high, p_values[at], detectable, paired, why)
    return ClusterComparison(first.name, second.name, found)


def balanced(rows: Sequence[Row], first: str, second: str, seed: int = 0) -> list[Row]:
    """The rows of two clusters such that every group has equally many of both, in their order.

    Where a group has more rows in one cluster, as many as in the other are drawn from them; a group that only one
    cluster has is left out. The draw depends on the rows' ids, not on their order in the file.
    """
    members: dict[str, dict[str, list[int]]] = defaultdict(lambda: {first: [], second: []})
    for i, row in enumerate(rows):
        if row.cluster in {first, second}:
            members[row.group][row.cluster].append(i)
    generator = np.random.default_rng([seed, 3])
    kept: set[int] = set()
    for group in sorted(members):
        size = min(map(len, members[group].values()))
        for cluster in (first, second):
            places = sorted(members[group][cluster], key=lambda i: (rows[i].id, rows[i].query))
            kept.update(places[i] for i in generator.permutation(len(places))[:size])
    return [rows[i] for i in sorted(kept)]


def _drawn(pair: tuple[Numbers, Numbers], generator: np.random.Generator) -> Numbers:
    """Differences in bootstrap resamples of the groups; shape (RESAMPLES, 4), nan where undefined in one."""
    size = len(pair[0])
    found = []
    for count in _portions(RESAMPLES, size):
        weights = generator.multinomial(size, np.full(size, 1 / size), size=count).astype(np.float64)
        found.append(ratios(_weighted(weights, pair[0])) - ratios(_weighted(weights, pair[1])))
    return np.concatenate(found)


def _flipped(
    one: Counts, other: Counts, pair: tuple[Numbers, Numbers], generator: np.random.Generator
) -> tuple[list[float | None], int]:
    """The p-value of every metric, and how many groups have rows in both clusters."""
    both = (one.rows > 0) & (other.rows > 0)
    a, b = pair[0][both], pair[1][both]
    if not len(a):
        return [None] * len(METRICS), 0
    observed = ratios(a.sum(axis=0)) - ratios(b.sum(axis=0))
    unlike = np.flatnonzero((a != b).any(axis=(1, 2)))  # swapping the others changes nothing
    change = (b - a)[unlike]
    as_far, defined = np.zeros(len(METRICS)), np.zeros(len(METRICS))
    for swaps in _flips(len(unlike), generator):
        moved = _weighted(swaps, change)
        differences = ratios(a.sum(axis=0) + moved) - ratios(b.sum(axis=0) - moved)
        as_far += (np.abs(differences) >= np.abs(observed) - _ROUNDING).sum(axis=0)
        defined += (~np.isnan(differences)).sum(axis=0)
    itself = 0 if len(unlike) <= _EXACT else 1  # random flips: the observed one counts as one of them
    return [
        None if np.isnan(seen) else float((far + itself) / (number + itself))
        for seen, far, number in zip(observed, as_far, defined, strict=True)
    ], len(a)


def _flips(groups: int, generator: np.random.Generator) -> Iterator[Numbers]:
    """All of them where there are few, else random ones."""
    if groups <= _EXACT:
        yield ((np.arange(2**groups)[:, None] >> np.arange(groups)) & 1).astype(np.float64)
        return
    for count in _portions(FLIPS, groups):
        yield generator.integers(0, 2, size=(count, groups)).astype(np.float64)


def _weighted(weights: Numbers, parts: Numbers) -> Numbers:
    """Weighted sums over groups: (n, n_groups) and (n_groups, 4, 2) → (n, 4, 2)."""
    return np.asarray((weights @ parts.reshape(len(parts), 8)).reshape(len(weights), len(METRICS), 2))


def _portions(total: int, width: int) -> Iterator[int]:
    """`total` in portions of at most `_AT_ONCE` cells."""
    most = max(1, _AT_ONCE // max(1, width))
    for start in range(0, total, most):
        yield min(most, total - start)


@dataclass(frozen=True, slots=True)
class ScoringOptions:
    """What is counted, and how. The defaults are those that reproduce the paper's table 2."""

    scope: Scope = "pooled"
    """Whether a group holds the phrasings of all clusters or of one."""
    average: Average = "rows"
    lm_errors: Policy = "correct"
    """Without errors of the language model: are they counted as correct, or dropped?"""
    clusters: tuple[str, str] | None = None
    """Which two are compared, the first minus the second; None: the two that there are, in the order of their names."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class ModularScores:
    """What some rows amount to under some terms."""

    terms: ScoringOptions
    clusters: Mapping[str, ClusterScores]
    """By name, in the order of the names."""
    comparison: ClusterComparison | None
    """None unless there are two clusters, or two were named."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines: `clusters` by name, and the `comparison` by metric.

        The four metrics stand in each cluster, null where undefined, with the reason under `undefined`.
        """
        return {
            "clusters": {name: self._cluster(scores) for name, scores in self.clusters.items()},
            "comparison": self.comparison.as_json() if self.comparison else {},
        }

    def _cluster(self, scores: ClusterScores) -> dict[str, Any]:
        return {
            **{metric: scores.values[self.terms.average][metric] for metric in METRICS},
            "groups": dict(scores.tags),
            "undefined": dict(scores.undefined),
            "rows": scores.rows,
            "undecided_rows": scores.undecided_rows,
            "left_out_rows": scores.left_out_rows,
            "blame": {side: scores.blame.get(side, 0) for side in ("LM", "retrieval", "unknown")},
            "rules": dict(scores.rules),
            "scope": self.terms.scope,
            "average": self.terms.average,
            "lm_errors": self.terms.lm_errors,
            "over_rows": dict(scores.values["rows"]),
            "over_groups": dict(scores.values["groups"]),
        }


def score_decided(
    rows: Sequence[Row], decisions: Sequence[Decision], terms: ScoringOptions | None = None
) -> ModularScores:
    """Score rows of which it is known which are right."""
    terms = terms or ScoringOptions()
    tagged = tag_rows(rows, decisions, terms.scope)
    names = sorted({row.cluster for row in rows})
    clusters = {
        name: score_cluster(name, [one for one in tagged if one.row.cluster == name], terms.lm_errors) for name in names
    }
    pair = _pair(names, terms)
    found = None
    if pair:
        found = compare(tagged, clusters[pair[0]], clusters[pair[1]], terms.average, terms.lm_errors, terms.seed)
    return ModularScores(terms, clusters, found)


def score_balanced(
    rows: Sequence[Row], decisions: Sequence[Decision], terms: ScoringOptions | None = None
) -> ModularScores:
    """The same on as many rows of both clusters from every group, see `balanced`; tags are those of what is left."""
    terms = terms or ScoringOptions()
    pair = _pair(sorted({row.cluster for row in rows}), terms)
    if pair is None:
        raise ConfigError("two clusters are needed for a balanced sample: name them, as in --clusters short,long")
    kept = {id(row) for row in balanced(rows, *pair, terms.seed)}
    if not kept:
        raise ConfigError(f"no group has rows in both {pair[0]!r} and {pair[1]!r}: there is nothing to balance")
    left = [(row, decision) for row, decision in zip(rows, decisions, strict=True) if id(row) in kept]
    return score_decided([row for row, _ in left], [decision for _, decision in left], terms)


def score_rows(
    rows: Sequence[Row],
    judge: Callable[[], Judge] | None = None,
    terms: ScoringOptions | None = None,
    tolerance: float = TOLERANCE,
) -> ModularScores:
    """Decide which rows are right, and score them."""
    return score_decided(rows, decide(rows, judge, tolerance), terms)


def _pair(names: Sequence[str], terms: ScoringOptions) -> tuple[str, str] | None:
    """The two clusters that are compared."""
    if terms.clusters is None:
        return (names[0], names[1]) if len(names) == 2 else None
    missing = [name for name in terms.clusters if name not in names]
    if missing:
        raise ConfigError(f"no row has the cluster {missing[0]!r}: there are {', '.join(map(repr, names))}")
    if terms.clusters[0] == terms.clusters[1]:
        raise ConfigError(f"{terms.clusters[0]!r} can't be compared with itself: name two clusters")
    return terms.clusters
