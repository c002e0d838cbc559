"""A data frame or a data set, as given, with its scores."""

from typing import Any

import pytest
from judged_rows import GOOD, QUERY, ROWS, SOURCES, assert_reasons, assert_scores, scripted

pandas = pytest.importorskip("pandas", reason="pandas isn't installed")

import ragtriage
import ragtriage.pandas
from ragtriage import InputError, open_store

METRICS = ["groundedness"]


pytestmark = pytest.mark.usefixtures("own_folder")


def evaluate(table: Any, **given: Any) -> Any:
    return ragtriage.pandas.evaluate(table, METRICS, judge=scripted(), **given)


def test_the_contract_of_evaluators() -> None:
    frame = pandas.DataFrame([*ROWS], index=[7, 3, 3, 1])

    scored = evaluate(frame)

    assert [*scored.index] == [7, 3, 3, 1]
    assert [*scored.columns] == [*frame.columns, "groundedness", "headline", "component", "reason"]
    assert "groundedness" not in frame.columns
    assert_scores([*scored["groundedness"]])
    claims = ragtriage.open_run("last").claims()
    bad = claims[(claims["value"] == "no") & (claims["relation"] == "supported")]
    assert_reasons(["", f"{bad['text'].iloc[0]} {bad['explanation'].iloc[0]}", *scored["reason"].iloc[2:]])
    assert scored["reason"].iloc[3].startswith("failed: ")
    assert scored["headline"].iloc[0] == "undetermined: no rule reads these scores"
    assert scored["component"].iloc[0] == "undetermined"


def test_a_data_set_stays_one() -> None:
    datasets = pytest.importorskip("datasets", reason="datasets isn't installed")

    scored = evaluate(datasets.Dataset.from_list([*ROWS]))

    assert isinstance(scored, datasets.Dataset)
    assert scored["groundedness"][:] == [1.0, 0.0, None, None]


def test_a_missing_text_is_no_response_and_never_nan() -> None:
    frame = pandas.DataFrame({"question": [QUERY, QUERY], "answer": [GOOD, None], "contexts": [[*SOURCES]] * 2})

    scored = evaluate(frame)

    assert "no response was given" in scored["reason"].iloc[1]
    with open_store(create=False) as store:
        assert [record.case.response for record in store.run(1).records()] == [GOOD, None]


def test_arrays_are_lists_and_a_written_index_is_no_tag() -> None:
    numpy = pytest.importorskip("numpy")
    frame = pandas.DataFrame({"question": [QUERY], "answer": [GOOD], "topic": ["mail"], "__index_level_0__": [4]})
    frame["contexts"] = pandas.Series([numpy.array(SOURCES, dtype=object)])

    scored = evaluate(frame)

    assert scored["groundedness"].iloc[0] == 1.0
    with open_store(create=False) as store:
        (record,) = store.run(1).records()
    assert [source.text for source in record.case.known_sources] == [*SOURCES]
    assert record.case.tags == {"topic": "mail"}


def test_rows_that_cannot_be_used_are_kept_with_the_reason() -> None:
    scored = evaluate(pandas.DataFrame([ROWS[0], {**ROWS[1], "question": None}]))
    assert len(scored) == 2
    assert scored["groundedness"].isna().tolist() == [False, True]
    assert "write what the user asked" in scored["reason"].iloc[1]

    rows = [{**ROWS[0], "id": "a"}, {**ROWS[1], "id": "a"}]
    scored = evaluate(pandas.DataFrame(rows))
    assert "'a' is the id of row 1 too" in scored["reason"].iloc[1]

    assert len(evaluate(pandas.DataFrame({"question": [], "answer": [], "contexts": []}))) == 0


def test_one_row_twice_is_judged_once_and_both_get_it() -> None:
    judge = scripted()
    scored = ragtriage.pandas.evaluate(pandas.DataFrame([ROWS[1], ROWS[0], ROWS[1]]), METRICS, judge=judge)

    assert [*scored["groundedness"]] == [0.0, 1.0, 0.0]
    assert [*scored["reason"]] == ["", "", ""]
    assert len(judge.asked) == len(set(judge.asked))
    with open_store(create=False) as store:
        assert (store.run(1).info.rows, store.run(1).info.complete) == (2, True)


def test_a_run_is_the_last_one_and_keeps_the_order_and_the_name() -> None:
    frame = pandas.DataFrame([{**row, "id": f"q{at}"} for at, row in enumerate(ROWS)])

    evaluate(frame, name="monday")

    run = ragtriage.open_run("last")
    assert run.stored.info.input == "pandas: monday"
    assert [record.case.id for record in run.stored.records()] == ["q0", "q1", "q2", "q3"]
    assert run.report("r.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (pandas.DataFrame([{"question": QUERY}]), "no column holds the sources"),
        (pandas.DataFrame([{**ROWS[0], "reason": "mine"}]), "column 'reason' already"),
        ([1, 2], "a list is no data frame"),
    ],
)
def test_a_table_that_cannot_be_used_is_told(frame: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        evaluate(frame)
