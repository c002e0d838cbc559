"""What a test set reveals, in the terminal: a table like table 2 of GRAMMAR, and one like its table 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ragtriage.core.statistics import IntervalEstimate
from ragtriage.report.plain import one_line
from ragtriage.report.terminal_style import heading, say, signs_of, table
from ragtriage.report.words import plural, two_places
from ragtriage.testset.comparison import Comparison, Difference
from ragtriage.testset.correctness import Decision, MatcherCheck
from ragtriage.testset.groups import RULES, TAGS, Rule
from ragtriage.testset.modular import METRICS, Average, ClusterScores, Metric
from ragtriage.testset.reliability import Reliability
from ragtriage.testset.scoring import ModularScores, Terms

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_LONGEST = 12
"""Characters of a cluster's name in the head of a column."""
OTHER_AVERAGE: dict[Average, Average] = {"rows": "groups", "groups": "rows"}
"""What is shown beside the average that was chosen."""


def print_scores(
    console: Console, scores: ModularScores, even: ModularScores | None, decisions: Sequence[Decision], file: str
) -> None:
    """Print the clusters' accuracy and robustness, their difference, and what their groups are.

    Args:
        console: where to; its width and colours decide the look.
        scores: of the rows as they are given.
        even: of a balanced sample of them; None if there is none, or the rows are balanced.
        decisions: one a row.
        file: what was scored.
    """
    clusters = list(scores.clusters.values())
    say(console, Text(f"{plural(len(decisions), 'answer')} of {one_line(file, 120)}", style="bold"), 0, 2)
    for line in terms_of(scores.terms, decisions, clusters):
        say(console, Text(line, style="dim"), 0, 2)
    if len(clusters) > 2:
        _print_clusters(console, clusters, scores.terms.average)
    if scores.comparison:
        pair = [scores.clusters[name] for name in (scores.comparison.first, scores.comparison.second)]
        _print_pair(console, scores, even, pair)
    elif len(clusters) < 3:
        _print_pair(console, scores, None, clusters)
    _print_groups(console, clusters)
    reasons = {f"{one_line(c.name, 40)}: {why}" for c in clusters for why in c.undefined.values()}
    for reason in sorted(reasons):
        say(console, Text(f"Undefined for {reason}."), 0, 2)
    if scores.comparison is None and len(clusters) > 2:
        say(console, Text("No two clusters were compared: name them, as in --clusters short,long."), 0, 2)


def print_matcher(console: Console, check: MatcherCheck) -> None:
    """Print how often the typed match says what the labels say."""
    heading(console, f"The typed match against {plural(check.rows, 'label')}")
    grid = table()
    grid.add_column("label", no_wrap=True)
    for said in ("right", "wrong", "can't tell"):
        grid.add_column(said, justify="right", no_wrap=True)
    for label, name in ((True, "right"), (False, "wrong")):
        grid.add_row(name, *(f"{check.counts[label, said]:,}" for said in ("yes", "no", "unknown")))
    console.print(grid)


def print_reliability(console: Console, found: Sequence[Reliability], interval: str) -> None:
    """Print a line a score: precision and recall with their intervals."""
    grid = table()
    grid.add_column("score", max_width=28, overflow="ellipsis", no_wrap=True)
    grid.add_column("from", justify="right", no_wrap=True)
    for name in ("precision", "recall"):
        grid.add_column(name, no_wrap=True)
    for one in found:
        grid.add_row(
            Text(one_line(one.score, 40)), f"{one.threshold:g}", *(_share(s) for s in (one.precision, one.recall))
        )
    console.print(grid)
    for note in (
        "precision: of the answers that pass, those that are right; low: it is optimistic",
        "recall: of the right answers, those that pass; low: it is cynical",
        f"in brackets: the 95 % interval ({interval.capitalize()}) and what it is a share of",
    ):
        say(console, Text(note, style="dim"), 0, 2)
    for one in found:
        if one.left_out:
            left = f"{one_line(one.score, 40)}: {plural(one.left_out, 'row')} left out, undecided or without it"
            say(console, Text(left), 0, 2)


def _share(share: IntervalEstimate) -> str:
    if share.value is None or share.low is None or share.high is None:
        return "undefined (of 0)"
    return f"{100 * share.value:.0f} % [{100 * share.low:.0f}, {100 * share.high:.0f}; {share.n:,}]"


def terms_of(terms: Terms, decisions: Sequence[Decision], clusters: Sequence[ClusterScores]) -> list[str]:
    """What was counted, and how, in sentences."""
    by = Counter(decision.by for decision in decisions if decision.correct is not None)
    decided = ", ".join(f"{count:,} by {'the ' if who != 'the file' else ''}{who}" for who, count in by.most_common())
    undecided = len(decisions) - by.total()
    lines = [f"decided: {decided or 'none'}" + (f"; {undecided:,} undecided" if undecided else "")]
    scope = "pooled over the clusters" if terms.scope == "pooled" else "of one cluster each"
    lines.append(f"groups: {scope}; numbers: averaged over {terms.average}")
    policy = "counted as correct" if terms.lm_errors == "correct" else "dropped"
    lines.append(f"without LM errors: wrong answers blamed on the language model are {policy}")
    rules: Counter[Rule] = Counter()
    for cluster in clusters:
        rules.update(cluster.rules)
    for rule, count in rules.most_common():
        lines.append(f"blamed by {rule} ({count:,}): on the language model if {RULES[rule]}")
    return lines


def _print_pair(
    console: Console, scores: ModularScores, even: ModularScores | None, clusters: Sequence[ClusterScores]
) -> None:
    """Like the paper's table 2: the two metrics, as given and balanced, with and without errors of the model."""
    compared = scores.comparison is not None
    grid = table()
    grid.add_column("", no_wrap=True)
    for cluster in clusters:
        grid.add_column(_head(cluster.name), justify="right", no_wrap=True)
    if compared:
        grid.add_column("difference", no_wrap=True)
        grid.add_column("p", justify="right", no_wrap=True)
    blocks: tuple[tuple[str, tuple[Metric, Metric]], ...] = (
        ("Accuracy", ("accuracy", "accuracy_without_lm_errors")),
        ("Robustness", ("robustness", "robustness_without_lm_errors")),
    )
    for title, metrics in blocks:
        grid.add_row(Text(title, style="bold"))
        for name, found in (("as given", scores), ("balanced", even)):
            if found is not None:
                own = [found.clusters[cluster.name] for cluster in clusters]
                for metric, label in zip(metrics, (name, f"{name}, without LM errors"), strict=True):
                    _add(grid, label, metric, own, found, scores.terms.average)
        for metric, label in zip(metrics, ("", ", without LM errors"), strict=True):
            other = OTHER_AVERAGE[scores.terms.average]
            grid.add_row(f"  over {other}{label}", *(number_of(c.values[other][metric]) for c in clusters))
    console.print()
    console.print(grid)
    if compared:
        _print_notes(console, scores.comparison)


def _add(
    grid: Table, label: str, metric: Metric, clusters: Sequence[ClusterScores], scores: ModularScores, average: Average
) -> None:
    cells = [number_of(cluster.values[average][metric]) for cluster in clusters]
    if scores.comparison:
        difference = scores.comparison.metrics[metric]
        cells += [difference_of(difference), p_of(difference.p)]
    grid.add_row(f"  {label}", *cells)


def _print_notes(console: Console, comparison: Comparison | None) -> None:
    if comparison is None:
        return
    first, second = one_line(comparison.first, 30), one_line(comparison.second, 30)
    some = next(iter(comparison.metrics.values()))
    have = "has" if some.paired_groups == 1 else "have"
    notes = [
        f"difference: {first} minus {second}, with its 95 % interval (bootstrap over groups)",
        f"p: the clusters swapped in {plural(some.paired_groups, 'group')} that {have} answers in both",
    ]
    seen = {name: comparison.metrics[name].detectable for name in ("accuracy", "robustness")}
    told = [f"{value:.2f} in {name}" for name, value in seen.items() if value is not None]
    if told:
        notes.append(f"smallest difference that shows 80 times of 100: {', '.join(told)}")
    for note in notes:
        say(console, Text(note, style="dim"), 0, 2)


def _print_clusters(console: Console, clusters: Sequence[ClusterScores], average: Average) -> None:
    """One line a cluster, where there are more than two."""
    grid = table()
    grid.add_column("cluster", no_wrap=True, max_width=24, overflow="ellipsis")
    for name in ("answers", "accuracy", "w/o LM", "robustness", "w/o LM"):
        grid.add_column(name, justify="right", no_wrap=True)
    for cluster in clusters:
        cells = (number_of(cluster.values[average][metric]) for metric in METRICS)
        grid.add_row(Text(one_line(cluster.name, 40)), f"{cluster.rows:,}", *cells)
    console.print()
    console.print(grid)


def _print_groups(console: Console, clusters: Sequence[ClusterScores]) -> None:
    """How many groups have each tag, and who is to blame; a cluster a line."""
    heading(console, "Groups, and wrong answers of non-robust groups by the module at fault")
    grid = table(1)
    grid.add_column("cluster", no_wrap=True, max_width=16, overflow="ellipsis")
    for name in (*(tag.replace("_", "-") for tag in TAGS), "LM", "retrieval", "can't tell"):
        grid.add_column(name, justify="right", no_wrap=True)
    for cluster in clusters:
        blamed = (cluster.blame.get(side, 0) for side in ("LM", "retrieval", "unknown"))
        grid.add_row(
            Text(one_line(cluster.name, 40)), *(f"{n:,}" for n in (*(cluster.tags[tag] for tag in TAGS), *blamed))
        )
    console.print(grid)
    dot = signs_of(console).dot
    meaning = ("gap: all wrong", "robust: all right", "non-robust: some right", "undecided: some not decided")
    say(console, Text(f" {dot} ".join(meaning), style="dim"), 0, 2)


def _head(name: str) -> Text:
    return Text(one_line(name, _LONGEST))


def number_of(value: float | None) -> str:
    """A metric with two digits."""
    return "undef." if value is None else f"{value:.2f}"


def difference_of(found: Difference) -> str:
    """A difference with its sign and interval."""
    if found.difference is None:
        return ""
    ends = "" if found.low is None or found.high is None else f" [{_signed(found.low)}, {_signed(found.high)}]"
    return f"{_signed(found.difference)}{ends}"


def _signed(value: float) -> str:
    """With its sign; what rounds to nothing has none."""
    return f"{'+' if round(value, 2) > 0 else ''}{two_places(value)}"


def p_of(value: float | None) -> str:
    """A p-value with three digits."""
    if value is None:
        return ""
    return "<.001" if value < 0.001 else f"{value:.3f}"
