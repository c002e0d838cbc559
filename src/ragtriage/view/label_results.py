"""What the labels of a run say: of the judge, of the people who gave them, and of the run's means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from ragtriage.report.words import full_title, share_text
from ragtriage.runs.case_row import digest
from ragtriage.runs.codec import DELETED
from ragtriage.runs.run import Run
from ragtriage.trust.agreement import people_agreement
from ragtriage.trust.chance_fits import FEWEST_LABELS, CurvePoint, reliability_curve
from ragtriage.trust.corrected_mean import MetricMean, corrected_means, join_labels
from ragtriage.trust.label_files import Label
from ragtriage.trust.label_session import JudgeComparison, compare_with_judge
from ragtriage.view.labelling import LabelRequest, asked_of, labels_of, names_of
from ragtriage.view.opened_runs import PATIENCE, OpenedRuns, version_of
from ragtriage.view.pages import Pages

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

MOST_LISTED = 200
"""Items that are listed where people and judge, or two people, differ."""
MOST_PAIRS = 20
"""Pairs of people that are shown."""
SIDE = 220
"""Of the square of a reliability curve, in its own units."""


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """Labels of one person for one metric beside the judge's verdicts."""

    by: str
    title: str
    found: JudgeComparison

    @property
    def shown(self) -> str:
        """`17 of 20 (64–95 %)`."""
        return share_text(self.found.agree, self.found.of, self.found.share)


@dataclass(frozen=True, slots=True)
class DifferentItem:
    """An item of which somebody says something else than the judge."""

    case: str
    link: str
    title: str
    text: str
    """Empty where the run doesn't hold the case's texts any more: a label repeats them, and stays."""
    said: tuple[tuple[str, str], ...]
    """(who, yes or no), the judge last."""


@dataclass(frozen=True, slots=True)
class MetricCurve:
    """A metric's reliability curve."""

    title: str
    points: tuple[CurvePoint, ...]
    why: str
    """Why there is none."""


@dataclass(frozen=True, slots=True)
class LabelledRun:
    """What labels say of a run as a whole."""

    means: tuple[MetricMean, ...]
    curves: tuple[MetricCurve, ...]
    unused: Mapping[str, int]
    """Reason → how many labels weren't used."""


class LabelResults:
    """The page of what labels say; their file is only read."""

    def __init__(self, runs: OpenedRuns, pages: Pages, file: Path) -> None:
        self._runs, self._pages, self._file = runs, pages, file

    def result(self, request: Request) -> Response:
        """All labels of a run: agreement with the judge, of every two people, corrected means, the judge's curves."""
        key = request.path_params["key"]
        run = self._runs.source.run(key)
        config = self._runs.config(run)
        labels = labels_of(self._file, run.info)
        base = f"/runs/{quote(key)}"

        def title(name: str) -> str:
            return full_title(name, config.metrics)

        differ = list(_different(labels, f"{base}/cases", title))
        people = people_agreement(labels)
        query = request.url.query
        return self._pages.page(
            request, "label_result.html.j2", key=key, info=run.info, file=str(self._file), labels=len(labels),
            rows=list(_rows(labels, title)), differ=[_while_held(run, one) for one in differ[:MOST_LISTED]],
            differ_left=max(0, len(differ) - MOST_LISTED),
            people=people[:MOST_PAIRS], people_left=max(0, len(people) - MOST_PAIRS), share_text=share_text,
            run=self._labelled(key, run, labels) if labels else None, side=SIDE, min_labels=FEWEST_LABELS,
            more=f"{base}/label{'?' + query if query else ''}" if self._pages.writing else "",
            left="n" in request.query_params and _is_left(asked_of(request, run.info), labels),
            stored=not run.info.address,
        )  # fmt: skip

    def _labelled(self, key: str, run: Run, labels: Sequence[Label]) -> LabelledRun:
        self._runs.require_texts(run, "labels can't be held against its verdicts")
        config = self._runs.config(run)

        def found() -> LabelledRun:
            joined = join_labels(names_of(run.info), config.metrics, run.records(), labels)
            curves = tuple(_curve(one.metric.title, reliability_curve(one), one.labels) for one in joined.metrics)
            return LabelledRun(corrected_means(joined), curves, joined.unused)

        what = "labels", key, hash(tuple(labels))
        known: LabelledRun = self._runs.result(what, version_of(run), found, PATIENCE)
        return known


def _is_left(asked: LabelRequest, labels: Sequence[Label]) -> bool:
    return sum(one.by == asked.by and one.metric in asked.metrics for one in labels) < asked.n


def _rows(labels: Sequence[Label], title: Callable[[str], str]) -> Iterator[AgreementRow]:
    parts: dict[tuple[str, str], list[Label]] = {}
    for one in labels:
        if one.chance is not None:  # others weren't drawn at random: no estimate of how often the judge is right
            parts.setdefault((one.by, one.metric), []).append(one)
    for (by, metric), own in sorted(parts.items(), key=lambda part: part[0]):
        yield AgreementRow(by, title(metric), compare_with_judge(own))


def _different(labels: Sequence[Label], base: str, title: Callable[[str], str]) -> Iterator[DifferentItem]:
    """Each item once, with what everybody said who labelled it."""
    items: dict[Any, list[Label]] = {}
    for one in labels:
        if one.label is not None:
            items.setdefault((one.case, one.metric, one.component, one.text), []).append(one)
    for own in items.values():
        if compare_with_judge(own).disagreements:
            last = own[-1]
            judge = last.verdict if last.score is None else f"{last.verdict} ({last.score:.2f})"
            said = [(one.by or "no name", "yes" if one.label else "no") for one in own]
            link = f"{base}?{urlencode({'id': last.case})}"
            yield DifferentItem(last.case, link, title(last.metric), last.text, (*said, ("the judge", judge)))


def _while_held(run: Run, one: DifferentItem) -> DifferentItem:
    at = run.place.position(digest(one.case))
    record = None if at is None else next(run.records(range(at, at + 1)), None)
    held = record is not None and DELETED not in (record.case.query, record.case.response)
    return one if held else replace(one, text="")


def _curve(title: str, points: tuple[CurvePoint, ...], labels: int) -> MetricCurve:
    why = f"{labels} of its components are labelled; a curve takes {FEWEST_LABELS} with a probability by the judge"
    return MetricCurve(title, points, "" if points else why)
