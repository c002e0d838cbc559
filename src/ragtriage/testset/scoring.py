"""A file of answered questions in numbers: clusters, their comparison, and the same on a balanced sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragtriage.core.errors import ConfigError
from ragtriage.judges.protocol import Judge
from ragtriage.testset.answered_rows import Row
from ragtriage.testset.cluster_comparison import Comparison, balanced, compare
from ragtriage.testset.correctness import Decision, decide
from ragtriage.testset.groups import Scope, tag_rows
from ragtriage.testset.matching import TOLERANCE
from ragtriage.testset.modular import METRICS, Average, ClusterScores, Policy, score_cluster


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
    comparison: Comparison | None
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
    """Score rows of which it is known which are right.

    Args:
        rows: of any clusters.
        decisions: one a row, see `decide`.
        terms: what is counted, and how; the defaults if None.

    Raises:
        ConfigError: a cluster is to be compared that no row has.
    """
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
    """The same on as many rows of both clusters from every group, see `balanced`; tags are those of what is left.

    Raises:
        ConfigError: there aren't two clusters to balance, or no group has rows in both.
    """
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
    """Decide which rows are right, and score them.

    Args:
        rows: as `read_rows` gives them.
        judge: makes the judge that decides what the typed match can't tell; None leaves that undecided.
        terms: what is counted, and how; the defaults if None.
        tolerance: for numbers, see `typed_match`.

    Raises:
        ConfigError: a cluster is to be compared that no row has.
        JudgeError: the judge can't work at all.
    """
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
