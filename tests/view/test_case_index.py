"""The columns of a run select what a plain filter and sort over its rows select."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.core.case import Case, Record
from ragtriage.core.verdicts import Outcome, Score, Undefined
from ragtriage.diagnosis.rules import RULES, thresholds_with
from ragtriage.metrics import metrics_named
from ragtriage.runs.case_row import CaseHeading, CaseRow, Columns
from ragtriage.runs.compare.case_table import tag_text
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.run import Run
from ragtriage.view.case_index import KINDS, UNDEFINED, CaseIndex
from ragtriage.view.filters import INPUT, OWN, ScoreRange, Selection

METRICS = ("groundedness", "response_precision", "hallucination")
CONFIG = EvaluationConfig(metrics_named(list(METRICS)), thresholds_with({}))
RULE_NAMES = [rule.name for rule in RULES]
TAGS = {"tenant": ["a", "b", "", "ü\x00"], "day": [1, 2.5, True, None]}


class Rows:
    """A place that holds rows which are known."""

    def __init__(self, rows: Sequence[CaseRow]) -> None:
        self.rows = rows

    def read(self, what: Columns, positions: range | None = None) -> Iterator[CaseRow]:  # noqa: D102  # of `Place`
        return iter(self.rows)

    def scores(self, metric: str) -> Iterator[tuple[int, float | None, bool]]:  # noqa: D102  # of `Place`
        for row in self.rows:
            if (outcome := row.outcomes.get(metric)) is not None:
                failed = isinstance(outcome, Undefined) and outcome.failed
                yield row.position, getattr(outcome, "value", None), failed


values = st.one_of(
    st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0, 1), st.integers(0, 10**6).map(lambda n: n / 10**6)
)
undefined = [Undefined("it lacks sources"), Undefined("it broke", failed=True)]
outcomes = st.one_of(values.map(lambda value: Score(value, 3)), st.sampled_from(undefined))
headings = st.builds(
    CaseHeading,
    st.sampled_from(KINDS),
    st.sampled_from(["prompt or generator", "retriever", "none"]),
    st.lists(st.sampled_from(RULE_NAMES), max_size=3, unique=True).map(tuple),
    st.booleans(),
)
tags = st.fixed_dictionaries({}, optional={name: st.sampled_from(some) for name, some in TAGS.items()})


@st.composite
def runs_of_rows(draw: Any) -> list[CaseRow]:
    steps = draw(st.lists(st.integers(1, 3), max_size=25))
    rows, at = [], -1
    for step in steps:
        at += step
        found: dict[str, Outcome] = {m: draw(outcomes) for m in METRICS if draw(st.booleans())}
        record = Record(Case(f"case {at}", "What?", tags=draw(tags)), {}, found)
        rows.append(CaseRow.of(record, at, heading=draw(headings)))
    return rows


bounds = st.one_of(st.none(), values)
ranges = st.one_of(
    st.builds(ScoreRange, st.sampled_from(METRICS), bounds, bounds, st.booleans()),
    st.builds(ScoreRange, st.sampled_from(METRICS), undefined=st.just(value=True)),
)
selections = st.builds(
    Selection,
    rule=st.sampled_from(["", *RULE_NAMES]),
    component=st.sampled_from(["", "", "retriever", "nobody"]),
    kind=st.sampled_from(["", "", *KINDS]),
    sure=st.sampled_from([None, None, True, False]),
    ranges=st.lists(ranges, max_size=2).map(tuple),
    order=st.sampled_from([OWN, INPUT, *METRICS, *RULE_NAMES[:3]]),
    descending=st.booleans(),
)


def micro(row: CaseRow, metric: str) -> int | None:
    outcome = row.outcomes.get(metric)
    return round(outcome.value * 1e6) if isinstance(outcome, Score) else None


def in_range(value: int | None, wanted: ScoreRange) -> bool:
    """Whether a score is wanted; no address asks for undefined ones within bounds."""
    if value is None or wanted.undefined:
        return value is None and wanted.undefined
    high = math.inf if wanted.high is None else round(wanted.high * 1e6)
    return (wanted.low is None or value >= round(wanted.low * 1e6)) and (value < high + (not wanted.below))


def fits(row: CaseRow, wanted: Selection) -> bool:
    """A plain filter."""
    head = row.heading
    assert head
    if not all(in_range(micro(row, one.metric), one) for one in wanted.ranges):
        return False
    for name, text in wanted.tags:
        value = row.tags.get(name)
        if (text or None) != tag_text(value):
            return False
    return (
        (not wanted.rule or wanted.rule in head.rules)
        and (not wanted.component or wanted.component == head.component)
        and (not wanted.kind or wanted.kind == head.kind)
        and wanted.sure in (None, head.sure)
    )


def key(row: CaseRow, wanted: Selection, likely: dict[int, float] | None) -> float:
    """A plain order."""
    head = row.heading
    assert head
    if wanted.order == INPUT:
        return row.position
    if wanted.order == OWN:
        return 2 * KINDS.index(head.kind) + (not head.sure)
    if wanted.order in METRICS:
        value = micro(row, wanted.order)
        return math.inf if value is None else -value if wanted.descending else value
    if likely is not None:
        return -round(100 * likely[row.position])
    return 2 * (wanted.order not in head.rules) + (not head.sure)


def index_of(rows: Sequence[CaseRow], *, assessed: bool = False) -> CaseIndex:
    index = CaseIndex(Run(Rows(rows)), CONFIG, assessed=assessed)  # type: ignore[arg-type]  # what is asked of it is there
    index.read()
    assert index.error is None
    return index


def shown(index: CaseIndex, wanted: Selection) -> list[int]:
    return [int(index.positions[place]) for place in index.select(wanted)]


@given(runs_of_rows(), st.lists(selections, min_size=1, max_size=6))
def test_a_headed_index_selects_as_a_plain_filter_and_sort(rows: list[CaseRow], wanted: list[Selection]) -> None:
    index = index_of(rows)

    for one in wanted:
        expected = sorted((row for row in rows if fits(row, one)), key=lambda row: key(row, one, None))
        assert shown(index, one) == [row.position for row in expected]
        counts = index.counts(index.select(one))
        assert sum(counts["kind"].values()) == len(expected)
        for rule in RULE_NAMES:
            assert counts["rule"][rule] == sum(rule in row.heading.rules for row in expected if row.heading)


@given(runs_of_rows(), st.sampled_from(["tenant", "day"]))
def test_tags_are_filtered_by_their_texts(rows: list[CaseRow], name: str) -> None:
    index = index_of(rows)
    if name not in index.tags:
        return

    for text in (*index.tags[name], "", "nothing has this"):
        wanted = Selection(tags=((name, text),), order=INPUT)
        assert shown(index, wanted) == [row.position for row in rows if fits(row, wanted)]


@given(runs_of_rows(), st.lists(selections, min_size=1, max_size=4))
def test_an_assessed_index_orders_by_probability(rows: list[CaseRow], wanted: list[Selection]) -> None:
    index = index_of(rows, assessed=True)
    records = {row.position: row.record() for row in rows}
    assessed = {at: CONFIG.assess(record) for at, record in records.items()}
    headed = [CaseRow.of(record, at, heading=CONFIG.heading(record, assessed[at])) for at, record in records.items()]

    for one in wanted:
        likely = None
        if one.order in RULE_NAMES:
            likely = {at: found.probabilities.get(one.order, 0.0) for at, found in assessed.items()}
        expected = sorted((row for row in headed if fits(row, one)), key=lambda row: key(row, one, likely))
        assert shown(index, one) == [row.position for row in expected]


@given(runs_of_rows(), st.integers(-5, 90))
def test_the_nearest_case_is_the_nearest(rows: list[CaseRow], position: int) -> None:
    index = index_of(rows)
    positions = [row.position for row in rows]

    found = index.nearest(position)

    assert (found is None) == (not rows)
    if found is not None:
        assert abs(found - position) == min(abs(one - position) for one in positions)
    assert (index.place_of(position) is not None) == (position in positions)


def test_what_is_not_read_yet_or_unknown_is_a_key_that_is_not_there() -> None:
    index = index_of([])

    assert len(index.select(Selection(order="groundedness"))) == 0
    with pytest.raises(KeyError):
        index.select(Selection(words="ferry"))
    with pytest.raises(KeyError):
        index.select(Selection(tags=(("tenant", "a"),)))
    assert UNDEFINED < 0
