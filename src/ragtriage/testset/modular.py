"""Accuracy and robustness of one cluster, over rows and over groups, with and without errors of the language model.

R = right / (all − those in gap groups) and Acc = right / all = R × (all − gap) / all are equations 1 and 2 of "GRAMMAR"
(section 3.3). Rows of undecided groups are in neither numerator nor denominator.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from ragtriage.testset.groups import TAGS, Blame, Rule, Tag, TaggedRow

Metric = Literal["accuracy", "accuracy_without_lm_errors", "robustness", "robustness_without_lm_errors"]
METRICS: tuple[Metric, ...] = get_args(Metric)
Average = Literal["rows", "groups"]
Policy = Literal["correct", "drop"]
"""What becomes of answers that are blamed on the language model: counted as correct, or dropped."""

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Counts:
    """The decided rows of some groups in one cluster, a group at a time.

    Every array has shape (n_groups,). A metric is a ratio of two sums over groups (`ratios`), so a resampled or swapped
    set of groups needs sums only.
    """

    rows: Array
    right: Array
    lm: Array
    """Wrong answers that are blamed on the language model."""
    gap: Array
    """1 where the group is a gap group, else 0."""

    def parts(self, average: Average, policy: Policy) -> Array:
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


def ratios(sums: Array) -> Array:
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
    rules: Mapping[Rule, int]
    """By which rule they were blamed."""
    values: Mapping[Average, Mapping[Metric, float | None]]
    """Each metric in [0, 1], averaged over rows and over groups; None where it is undefined."""
    undefined: Mapping[Metric, str]
    """Metric → why it is undefined."""


def score_cluster(name: str, tagged: Sequence[TaggedRow], policy: Policy = "correct") -> ClusterScores:
    """The numbers of one cluster.

    Undefined: accuracy if no group is decided, robustness also if all are gap groups, and what is without errors of the
    language model also if there are wrong answers to blame and no row of the cluster says what was retrieved.

    Args:
        name: the cluster's.
        tagged: its rows, tagged by `tag_rows` together with those of the other clusters.
        policy: what becomes of answers that are blamed on the language model.
    """
    groups = sorted({one.row.group for one in tagged})
    counts = counts_of(tagged, groups)
    tag_of: dict[str, Tag] = {one.row.group: one.tag for one in tagged}
    number = Counter(tag_of.values())
    undefined = _undefined(tagged, counts, policy)
    values: dict[Average, dict[Metric, float | None]] = defaultdict(dict)
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


def cannot_blame(tagged: Sequence[TaggedRow]) -> bool:
    """Whether there are answers to blame on a module, no row says what was retrieved, and none was asked again."""
    blamed = [one.blame for one in tagged if one.blame]
    return all(one.row.retrieved is None for one in tagged) and bool(blamed) and set(blamed) == {"unknown"}


def _undefined(tagged: Sequence[TaggedRow], counts: Counts, policy: Policy) -> dict[Metric, str]:
    """Metric → why there is no number."""
    if not counts.rows.any():
        return dict.fromkeys(METRICS, "no group of it is decided")
    found: dict[Metric, str] = {}
    if cannot_blame(tagged):
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
