"""One self-contained HTML file for a scored test set: a table like table 2 of GRAMMAR, and every group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragtriage.report.templating import environment, page_parts, pages, shares, write_page
from ragtriage.report.testset_document import (
    METRIC_WORDS,
    PRESENCE_WORDS,
    SIDE_WORDS,
    cross_rows,
    kind_of,
    score_rows,
    terms_of,
)
from ragtriage.report.testset_groups import BLAME_WORDS, MOST_IDS, TAG_LOOK, TAG_WORDS, GroupReport, group_reports
from ragtriage.testset.beyond import Beyond
from ragtriage.testset.both_blames import SIDES
from ragtriage.testset.correctness import Decision
from ragtriage.testset.groups import Tagged
from ragtriage.testset.scoring import ModularScores

if TYPE_CHECKING:
    from markupsafe import Markup

LONGEST = 1500
"""Characters of a response that are shown."""
MOST_BYTES = 12_000_000
"""Of all groups together, so that a browser can open the file."""


def write_testset_page(
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
    groups = group_reports(tagged, decisions, beyond)
    clusters, compared = list(scores.clusters.values()), scores.comparison
    names = [compared.first, compared.second] if compared else list(scores.clusters)
    stream = environment().get_template("testset.html.j2").generate(
        title=title,
        answers=len(tagged),
        groups=groups,
        body=_Body(groups, list(scores.clusters), most_bytes),
        clusters=clusters,
        shown=names,
        compared=compared,
        rows=list(score_rows(scores, even, names)),
        terms=terms_of(scores.terms, decisions, clusters),
        shares=shares(Counter(group.tag for group in groups), TAG_WORDS),
        beyond=beyond,
        gaps=Counter(map(kind_of, beyond.gaps or ())),
        cross=list(cross_rows(beyond.blames)) if beyond.blames else [],
        words={
            "tag": TAG_WORDS,
            "look": TAG_LOOK,
            "blame": BLAME_WORDS,
            "side": SIDE_WORDS,
            "presence": PRESENCE_WORDS,
            "metric": METRIC_WORDS,
        },
        sides=SIDES,
        **page_parts("testset.js", "report.css", "testset.css"),
    )  # fmt: skip
    write_page(path, stream)


class _Body:
    """The groups one by one, until the file is large enough."""

    def __init__(self, groups: Sequence[GroupReport], clusters: list[str], most_bytes: int) -> None:
        self._groups, self._clusters, self._most = groups, clusters, most_bytes
        self.shown = 0

    def html(self) -> Iterator[Markup]:
        """Each as an element of its own."""
        for html in pages(map(self._rendered, self._groups), self._most):
            self.shown += 1
            yield html

    def _rendered(self, group: GroupReport) -> str:
        places = sorted({self._clusters.index(one.row.cluster) for one in group.answers if one.look == "wrong"})
        template = environment().get_template("testset_group.html.j2")
        return template.render(group=group, places=places, tag=TAG_WORDS[group.tag], longest=LONGEST, most_ids=MOST_IDS)
