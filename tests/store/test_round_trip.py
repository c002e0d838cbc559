"""What is read is what was kept."""

import json
import zlib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stored_cases import FULL, NAMES, answer, case, evaluated, fails, identity_of, written

from postgresql_server import new_schema
from ragtriage.core.amount import Amount
from ragtriage.core.case import Case, Record, Source, Turn
from ragtriage.core.errors import StoreError
from ragtriage.core.verdicts import Component, Failure, Missing, Score, Undefined, Verdict, Verdicts, with_chance
from ragtriage.diagnosis.findings import assess
from ragtriage.diagnosis.rules import thresholds_with
from ragtriage.judges.fake import FakeJudge
from ragtriage.metrics import CITATIONS
from ragtriage.metrics.aggregate import SEGMENTS
from ragtriage.runs.case_row import content_hash
from ragtriage.runs.codec import DELETED, decode_answer, decode_steps, encode_answer, encode_steps, without_texts
from ragtriage.runs.manifest import RunIdentity
from ragtriage.runs.run import RejectedRow
from ragtriage.store import open_store

CASES = [
    case(0),
    FULL,
    case(1, response=None),
    case(2, sources=()),
    case(3),
    case(4, response=""),
    case(5, query="", sources=None),
    case(6, relevant_ids=()),
]


@pytest.fixture
def store(place):
    with open_store(place) as opened:
        yield opened


def kept(store, records, names=NAMES, **changes):
    with store.begin(identity_of(CASES, names=names), input="a.jsonl", rows=len(CASES), judge="fake", **changes) as run:
        for record in records:
            run.keep(record)
        run.finish()
    return store.run(run.number)


@pytest.mark.parametrize("judge", [answer, fails], ids=["sound", "with a failure"])
def test_records_come_back_as_they_were_in_the_order_of_the_input(store, judge):
    records = {}
    with store.begin(identity_of(CASES), input="a.jsonl", rows=len(CASES), judge="fake") as run:
        for record in evaluated(run.todo(CASES), FakeJudge(judge, shuffled=1)):
            records[record.case.id] = record
            run.keep(record)
        run.finish()
    stored = store.run()
    found = list(stored.records())
    assert [record.case.id for record in found] == [one.id for one in CASES]
    for record in found:
        assert record == records[record.case.id] == stored.record(record.case.id)
        assert list(record.steps) == list(records[record.case.id].steps)
    assert any(part for record in found for o in record.outcomes.values() if isinstance(o, Score) for part in o.parts)
    failed = int(judge is fails)
    assert (stored.info.done, stored.info.failed, stored.info.complete) == (len(CASES) - failed, failed, not failed)


def test_an_unknown_metric_comes_back_without_parts(store):
    record = Record(case(1), {}, {NAMES[0]: Score(0.5, 2, 1, ()), "own_metric": Score(1.0, 1)})
    assert kept(store, [record], (NAMES[0], "own_metric")).record("case 1") == record


def test_keeping_twice_is_harmless_and_the_last_counts(store):
    first, second = (
        [record for one in (case(3), case(4)) for record in evaluated([one], FakeJudge(judge))]
        for judge in (fails, answer)
    )
    stored = kept(store, [*first, *second, *first, *second])
    assert list(stored.records()) == second
    _, *others = first[0].outcomes
    fewer = replace(first[0], outcomes={other: first[0].outcomes[other] for other in others})
    with store.resume(stored.number) as run:
        run.keep(fewer)
        run.finish()
    assert list(store.run().records()) == [fewer, second[1]]


def test_scores_and_rows_are_read_without_texts(store):
    records = {record.case.id: record for record in evaluated(CASES)}
    stored = kept(store, records.values())
    rows = {row.id: row for row in stored.rows()}
    assert rows.keys() == records.keys()
    assert (rows["full"].texts, rows["full"].steps) == ((), b"")
    assert rows["full"].tags == FULL.tags
    assert rows["full"].weight == 2.5
    for case_id, record in records.items():
        whole = record.outcomes["groundedness"]
        if isinstance(whole, Score):
            whole = Score(whole.value, whole.judged, whole.unknown)
        assert rows[case_id].outcomes["groundedness"] == whole


def test_scores_can_be_aggregated_in_plain_sql(store, place):
    kept(store, evaluated(CASES))
    found = dict(place.sql("select metric, count(value) from scores group by metric"))
    assert found.keys() == set(NAMES)
    assert found["groundedness"] > 0


def test_what_a_run_is_comes_back(store):
    stored = kept(store, [], configuration={"thresholds": {"groundedness": 0.7}, "flags": ["--any-language"]})
    info = stored.info
    assert info.number == 1
    assert (info.input, info.judge, info.metrics, info.rows) == ("a.jsonl", "fake", NAMES, len(CASES))
    assert info.configuration == {"thresholds": {"groundedness": 0.7}, "flags": ["--any-language"]}
    assert info.fingerprints == {"claims": "1"}
    assert info.identity == identity_of(CASES).hexdigest()
    assert {"ragtriage", "python"} <= info.versions.keys()
    assert info.state == "finished"
    assert info.created.endswith("+00:00")
    assert info.finished is not None
    assert info.finished >= info.created


def test_rejected_rows_come_back_once_each(store):
    complaints = [RejectedRow(7, "sources", "it is no list"), RejectedRow(2, None, "it is no object")]
    with store.begin(identity_of(CASES), input="a", rows=1, judge="fake") as run:
        for _ in range(2):
            run.reject(*complaints)
            run.flush()
    assert store.run().rejected() == complaints[::-1]
    assert store.run().info.rejected == 2


def test_cost_time_requests_and_tokens_add_up_over_continuations(store):
    with store.begin(identity_of(CASES), input="a", rows=1, judge="fake") as run:
        run.count_spending(Amount(0.25, 3, 4000))
        run.flush()
        assert store.run().info.requests == 3
    before = store.run().info.seconds
    with store.resume(run.number) as run:
        assert run.spent == Amount(0.25, 3, 4000)
        run.count_spending(Amount(0.5, 2, tokens_out=50))
    info = store.run().info
    assert (info.requests, info.tokens_in, info.tokens_out, info.cost) == (5, 4000, 50, 0.75)
    assert info.seconds >= before > 0


def test_repetitions_are_runs_of_their_own_that_know_the_first(store):
    first, again = identity_of(CASES), replace(identity_of(CASES), trial=1)
    # an identity without repetitions is the one that it always was
    assert RunIdentity("r", ("a", "b"), {"claims": "1"}).hexdigest() == "24946e684a8a83199c183124903385fa"
    store.begin(first, input="a", rows=1, judge="fake").finish()
    assert store.unfinished(again) is None
    store.begin(again, input="a", rows=1, judge="fake", repeats=1).interrupt()
    assert [(info.trial, info.repeats) for info in store.runs()] == [(1, 1), (0, None)]
    assert (store.unfinished(again), store.unfinished(first)) == (2, None)


def test_texts_are_stored_once(store, place):
    kept(store, evaluated([case(1), case(2), case(2, id="again")]))
    assert place.sql("select count(*) from texts") == [(7,)]
    assert place.sql("select count(*) from texts where text like '%dogs travel%'") == [(1,)]


TEXT = st.text(st.characters(exclude_categories=()), max_size=8)
COMPONENT = st.builds(
    Component,
    TEXT,
    st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)),
    st.none() | st.integers(0, 3),
    st.booleans(),
)
PROBABILITY = st.none() | st.floats(0, 1)
VERDICT = st.builds(
    Verdict,
    st.sampled_from(["yes", "no", "unknown"]),
    st.none() | st.floats(-1, 1),
    PROBABILITY,
    TEXT,
    st.booleans(),
    TEXT,
    st.booleans(),
    PROBABILITY,
)
CELL = st.none() | VERDICT | st.builds(Failure, TEXT)


@st.composite
def grids(draw):
    components = tuple(draw(st.lists(COMPONENT, max_size=4)))
    width = draw(st.integers(0, 3))
    return Verdicts(components, tuple(tuple(draw(CELL) for _ in range(width)) for _ in components))


KNOWN = st.lists(COMPONENT, max_size=4).map(tuple) | grids() | st.builds(Missing, TEXT, TEXT, st.booleans())
CASE = st.builds(
    Case,
    TEXT,
    TEXT,
    st.lists(st.builds(Source, TEXT, st.none() | TEXT), max_size=3).map(tuple),
    st.none() | TEXT,
    st.none() | TEXT,
    st.lists(st.builds(Turn, TEXT, TEXT), max_size=2).map(tuple),
    st.lists(TEXT, max_size=2).map(tuple),
    st.none() | st.lists(TEXT, max_size=2).map(tuple),
    st.dictionaries(TEXT, st.none() | TEXT | st.integers() | st.floats(allow_nan=False), max_size=2),
    st.floats(0, 10),
    st.none() | TEXT,
    st.none() | TEXT,
)
OUTCOME = st.builds(Score, st.floats(0, 1), st.integers(0, 9), st.integers(0, 9)) | st.builds(
    Undefined, TEXT, st.booleans()
)
RECORD = st.builds(
    Record,
    CASE,
    st.dictionaries(TEXT, KNOWN, max_size=3),
    st.dictionaries(st.sampled_from(NAMES), OUTCOME, max_size=3),
    st.sampled_from(["en", "de"]),
    st.floats(0, 10),
)


@given(CASE, st.dictionaries(TEXT, KNOWN, max_size=4))
def test_any_steps_come_back(one, steps):
    assert decode_steps(one, encode_steps(one, steps)) == steps


@given(VERDICT | st.lists(COMPONENT, max_size=4).map(tuple))
def test_any_answer_comes_back(given_answer):
    assert decode_answer(encode_answer(given_answer)) == given_answer


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ('["no",0.25,null,"because",false]', Verdict("no", 0.25, None, "because", sure=False)),  # before flags
        ('["no",0.25,0.75,"because",false,"no such quote",true]',  # before chances
         Verdict("no", 0.25, 0.75, "because", False, "no such quote", True)),
    ],
)  # fmt: skip
def test_answers_of_older_versions_are_read(body, verdict):
    assert decode_answer(body) == verdict


def grid_of(blob):
    return json.loads(zlib.decompress(blob))


def test_of_verdicts_and_citations_nothing_that_is_text_outlives_the_texts():
    cells = (
        Verdict("yes", flag="the quote 'secret' isn't there"),
        Verdict("no", 0.3, explanation="secret", chance=0.4),
    )
    blob = without_texts(encode_steps(CASES[0], {"step": Verdicts((Component("secret"),), (cells,))}))
    assert "secret" not in repr(grid_of(blob))
    first, second = decode_steps(CASES[0], blob)["step"].cells[0]
    assert first.flag
    assert second == Verdict("no", 0.3, chance=0.4)

    (record,) = evaluated([CITING], metrics=CITATIONS)
    blob = without_texts(encode_steps(CITING, record.steps))
    segments = decode_steps(replace(CITING, response=DELETED), blob)[str(SEGMENTS)]
    assert [(c.name, c.sources) for c in segments[0].citations] == [(DELETED, (0,)), (DELETED, ())]
    assert {s.text for s in segments} == {DELETED}


def test_a_failure_is_no_answer_to_keep():
    with pytest.raises(ValueError, match="never kept"):
        encode_answer(Failure("x"))


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def lasting(request, tmp_path_factory):
    place = new_schema()[0] if request.param == "postgresql" else tmp_path_factory.mktemp("lasting")
    with open_store(place) as opened:
        yield opened


@settings(max_examples=30, deadline=None)
@given(st.lists(RECORD, max_size=4, unique_by=lambda record: record.case.id))
def test_any_records_come_back(lasting, records):
    with lasting.begin(identity_of([]), input="a", rows=0, judge="fake") as run:
        for record in records:
            run.keep(record)
    assert list(lasting.run().records()) == records


@pytest.mark.parametrize("blob", [b"", b"nonsense"])
def test_damaged_steps_are_named(blob):
    with pytest.raises(StoreError, match="steps of case 'case 1' are damaged"):
        decode_steps(case(1), blob)


CITING = case(7, response="The price is six euros [1][9]. It is valid for the day [2].\n\nIn short, it is cheap.")


def test_segments_come_back_with_what_they_cite(store):
    (record,) = evaluated([CITING], metrics=CITATIONS)
    (found,) = kept(store, [record], tuple(record.outcomes)).records()
    assert found == record
    segments = found.steps[str(SEGMENTS)]
    assert [[(c.name, c.sources) for c in s.citations] for s in segments] == [
        [("1", (0,)), ("9", ())],
        [("2", (1,))],
        [],
    ]


def test_another_citation_mark_makes_another_row():
    assert content_hash(CITING) != content_hash(replace(CITING, citation_mark=r"\[(\d)\]"))


def test_nothing_more_is_written_than_there_is():
    def written(verdict):
        return grid_of(encode_steps(FULL, {"x": Verdicts((Component("a"),), ((verdict,),))}))[2]["x"]

    assert "contradicted" in repr(written(Verdict("no", contradicted=True)))
    assert "contradicted" not in repr(written(Verdict("no")))
    assert written(Verdict("yes", 0.75, chance=0.75))["chances"] is None  # they are the scores
    assert written(Verdict("yes", 0.75, chance=0.5))["chances"] == [0.5]
    assert "chances" not in written(Verdict("yes", 0.75))


def test_a_stored_case_has_the_probabilities_that_it_had_when_it_was_judged(store):
    def doubting(question):
        found = answer(question)
        return with_chance(found, len(question.subject) % 9 / 10) if isinstance(found, Verdict) else found

    records = list(evaluated([*CASES, case(8, sources=(Source("It is six euros."),))], FakeJudge(doubting)))
    stored = kept(store, records)

    def probabilities(record):
        return assess(record, thresholds_with({})).probabilities

    assert [*map(probabilities, stored.records())] == [*map(probabilities, records)]
    assert any(0 < p < 1 for record in records for p in probabilities(record).values())


def test_weights_that_no_reader_takes_any_more_count_as_the_nearest_that_it_takes(place):
    cases = [case(i) for i in range(3)]
    with open_store(place) as store:
        written(store, cases)
        for position, weight in enumerate((1e308, 1e308, 1e-320)):
            place.sql("UPDATE cases SET weight = ? WHERE position = ?", weight, position)
        scores = [row.outcomes["groundedness"].value for row in store.run().rows()]
        expected = sum(scores[:2]) / 2
        assert store.means([1])[1]["groundedness"] == pytest.approx(expected)
        assert [row.weight for row in store.run().rows()] == [1e9, 1e9, 1e-9]
        assert [row.weight for row in store.run().facts()] == [1e9, 1e9, 1e-9]
