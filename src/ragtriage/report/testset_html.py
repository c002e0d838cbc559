"""One self-contained HTML file for a scored test set: a table like table 2 of GRAMMAR, and every group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from ragtriage.report.templating import asset, environment, policy
from ragtriage.report.terminal_blame import PRESENCE_WORDS, SIDE_WORDS, VERDICT_WORDS, kind_of
from ragtriage.report.terminal_testset import OTHER_AVERAGE, difference_of, number_of, p_of, terms_of
from ragtriage.report.testset_view import BLAME_WORDS, TAG_LOOK, TAG_WORDS, GroupView, group_views
from ragtriage.testset.beyond import Beyond
from ragtriage.testset.both_blames import SIDES, VERDICTS, BothBlames
from ragtriage.testset.correctness import Decision
from ragtriage.testset.groups import Tagged
from ragtriage.testset.modular import METRICS, Metric
from ragtriage.testset.scoring import ModularScores

MOST_BYTES = 12_000_000
"""Of all groups together, so that a browser can open the file."""
_METRIC_WORDS: dict[Metric, str] = {
    "accuracy": "Accuracy",
    "accuracy_without_lm_errors": "Accuracy without LM errors",
    "robustness": "Robustness",
    "robustness_without_lm_errors": "Robustness without LM errors",
}


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One line of the table."""

    title: str
    sample: str
    cells: tuple[str, ...]
    """One a cluster."""
    difference: str
    p: str


def write_testset_report(
    path: Path,
    title: str,
    scores: ModularScores,
    even: ModularScores | None,
    tagged: Sequence[Tagged],
    decisions: Sequence[Decision],
    beyond: Beyond,
    *,
    most_bytes: int = MOST_BYTES,
) -> None:
    """Write the page; it loads nothing, and an older file is replaced only when the new one is complete.

    Args:
        path: where to.
        title: what was scored.
        scores: of the rows as they are given.
        even: of a balanced sample of them, if there is one.
        tagged: all answers.
        decisions: one an answer.
        beyond: what was found out beyond the scores.
        most_bytes: of all groups together; the rest is counted.

    Raises:
        OSError: the file can't be written.
    """
    views = group_views(tagged, decisions, beyond)
    clusters = list(scores.clusters.values())
    compared = scores.comparison
    shown = [scores.clusters[name] for name in (compared.first, compared.second)] if compared else clusters
    script, style = asset("testset.js"), asset("report.css") + "\n" + asset("testset.css")
    groups = _Groups(views, [cluster.name for cluster in clusters], most_bytes)
    stream = (
        environment()
        .get_template("testset.html.j2")
        .generate(
            title=title,
            answers=len(tagged),
            views=views,
            groups=groups,
            clusters=clusters,
            shown=shown,
            compared=compared,
            rows=list(_score_rows(scores, even, [cluster.name for cluster in shown])),
            terms=terms_of(scores.terms, decisions, clusters),
            shares=_shares(views),
            beyond=beyond,
            gaps=Counter(kind_of(gap) for gap in beyond.gaps or ()),
            cross=list(_cross(beyond.blames)) if beyond.blames else [],
            words={
                "tag": TAG_WORDS,
                "look": TAG_LOOK,
                "blame": BLAME_WORDS,
                "side": SIDE_WORDS,
                "presence": PRESENCE_WORDS,
            },
            sides=SIDES,
            script=Markup(script),  # noqa: S704  # our own file
            style=Markup(style),  # noqa: S704  # our own files
            policy=policy(script, style),
        )
    )
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            for chunk in stream:
                file.write(chunk)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


class _Groups:
    """The groups one by one, until the file is large enough."""

    def __init__(self, views: Sequence[GroupView], clusters: Sequence[str], most_bytes: int) -> None:
        self._views, self._clusters, self._most = views, list(clusters), most_bytes
        self._template = environment().get_template("testset_group.html.j2")
        self.shown = 0

    def html(self) -> Iterator[Markup]:
        """Each as an element of its own."""
        size = 0
        for view in self._views:
            places = sorted({self._clusters.index(one.cluster) for one in view.answers if one.look == "wrong"})
            html = self._template.render(group=view, places=places, tag=TAG_WORDS[view.tag])
            size += len(html.encode("utf-8", "replace"))
            if size > self._most:
                return
            self.shown += 1
            yield Markup(html)  # noqa: S704  # rendered by the template, which escapes


def _score_rows(scores: ModularScores, even: ModularScores | None, names: Sequence[str]) -> Iterator[ScoreRow]:
    """Every metric as given, balanced, and averaged the other way; the difference is that of the chosen average."""
    for metric in METRICS:
        for sample, found in (("as given", scores), ("balanced", even)):
            if found is None:
                continue
            cells = tuple(number_of(found.clusters[name].values[scores.terms.average][metric]) for name in names)
            difference = found.comparison.metrics[metric] if found.comparison else None
            told = difference_of(difference) if difference else ""
            yield ScoreRow(_METRIC_WORDS[metric], sample, cells, told, p_of(difference.p) if difference else "")
        other = OTHER_AVERAGE[scores.terms.average]
        cells = tuple(number_of(scores.clusters[name].values[other][metric]) for name in names)
        yield ScoreRow(_METRIC_WORDS[metric], f"over {other}", cells, "", "")


def _shares(views: Sequence[GroupView]) -> list[dict[str, object]]:
    """Parts of a bar of width 100: how many groups have each tag."""
    counts = Counter(view.tag for view in views)
    found, x = [], 0.0
    for tag, words in TAG_WORDS.items():
        width = 100 * counts[tag] / max(1, len(views))
        if counts[tag]:
            part = {"look": TAG_LOOK[tag], "words": words, "groups": counts[tag], "x": round(x, 3)}
            found.append(part | {"width": round(width, 3)})
        x += width
    return found


def _cross(blames: BothBlames) -> Iterator[tuple[str, list[tuple[int, bool]]]]:
    """Rows of the cross table: a name, and per side the count and whether both agree there."""
    for ours in VERDICTS:
        counts = [(blames.counts.get((ours, side), 0), ours == side) for side in SIDES]
        if any(count for count, _ in counts):
            yield VERDICT_WORDS[ours], counts
