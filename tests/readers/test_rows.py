"""One row: what is kept, what is rejected, and how it is said."""

import json
from typing import Any

import pytest

from ragtriage.core.case import Source
from ragtriage.core.errors import ConfigError
from ragtriage.readers import RowLimits, open_cases

GOOD = {"query": "q", "sources": ["s"], "response": "r"}


@pytest.mark.parametrize(
    ("row", "field", "says"),
    [
        ({"query": 5}, "query", "is a number (5), not a text"),
        ({"query": None}, "query", "null or empty"),
        ({"query": True}, "query", "truth value"),
        ({"query": ["a", "b"]}, "query", "messages with roles"),
        ({"query": [{"role": "system", "content": "x"}]}, "query", "none of which is the user's"),
        ({"query": []}, "query", "an empty list"),
        ({"query": {"a": 1}}, "query", "an object with 'a'"),
        ({"response": 5}, "response", "is a number (5)"),
        ({"response": ["r"]}, "response", "a list of 1"),
        ({"response": {"text": "r"}}, "response", "--map response=response.text"),
        ({"reference": 5}, "reference", "a number"),
        ({"reference": ["a", 1]}, "reference", "answer 2 is a number"),
        ({"id": 1.5}, "id", "a number (1.5)"),
        ({"id": True}, "id", "truth value"),
        ({"history": [5]}, "history", "message 1 is a number"),
        ({"samples": "x"}, "samples", "list of texts"),
        ({"relevant_ids": "a, b"}, "relevant_ids", "JSON list"),
        ({"relevant_ids": [None]}, "relevant_ids", "empty id"),
        ({"weight": 0}, "weight", "above 0"),
        ({"weight": -1}, "weight", "above 0"),
        ({"weight": "heavy"}, "weight", "above 0"),
        ({"weight": 1e308}, "weight", "is a number (1e+308): write a number from 1e-09 to 1e+09"),
        ({"weight": 1e-320}, "weight", "write a number from 1e-09 to 1e+09"),
        ({"trace_id": [1]}, "trace_id", "a list of 1"),
    ],
)
def test_wrong_types_are_rejected(read: Any, row: dict[str, Any], field: str, says: str) -> None:
    usable = GOOD | {
        "reference": "x",
        "history": [{"role": "user", "content": "x"}],
        "samples": ["x"],
        "relevant_ids": ["x"],
        "weight": 1,
        "trace_id": "t",
        "id": "first",
    }
    file, cases, [rejected] = read([usable, usable | {"id": "second"} | row, usable | {"id": "third"}])
    assert [case.id for case in cases] == ["first", "third"]
    assert (rejected.row, rejected.line, rejected.field) == (2, 2, field)
    assert says in rejected.reason
    assert str(rejected) == f"{file.path}, row 2, field '{field}': {rejected.reason}"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"query": "q", ', "broken JSON at line 8, column 17"),
        ('{"query": "q"} x', "broken JSON at line 8, column 15: Extra data"),
        ("nonsense", "broken JSON at line 8, column 1"),
        ('["a"]', "is a list of 1, not a JSON object"),
        ("null", "is null, not a JSON object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"query": ' + "9" * 5000 + "}", "too many digits"),
    ],
)
def test_broken_row_seven(read: Any, line: str, says: str) -> None:
    rows = [json.dumps(GOOD | {"id": n}) for n in range(1, 10)]
    rows[6] = line
    rows.insert(2, "  ")  # a blank line is no row, but a line
    _, cases, [rejected] = read("\n".join(rows))
    assert len(cases) == 8
    assert (rejected.row, rejected.line) == (7, 8)
    assert says in rejected.reason
    assert ", row 7 (line 8): " in str(rejected)
    assert not rejected.ends


def test_a_line_that_is_not_utf8_costs_only_itself(read: Any) -> None:
    good = json.dumps(GOOD).encode()
    _, cases, [rejected] = read(good + b"\n" + '{"query": "ä"}'.encode("latin-1") + b"\n" + good[:-1] + b', "id": 1}')
    assert len(cases) == 2
    assert "byte 12 of the line (0xe4) is not UTF-8" in str(rejected)


def test_a_missing_response_is_not_an_empty_one(read: Any) -> None:
    base = {"query": "q", "sources": ["s"]}
    file, cases, _ = read([base | {"response": ""}, base | {"response": None}, base | {"id": 1}])
    assert [case.response for case in cases] == ["", None, None]
    assert any(note.startswith("2 rows without a response") for note in file.notes)


def test_nulls_among_sources_are_left_out_and_a_null_list_was_not_recorded(read: Any) -> None:
    lists = [["s", None, {"text": "t", "id": "b"}], [None], [], None]
    file, cases, _ = read([{"query": f"q{i}", "sources": some} for i, some in enumerate(lists)])
    assert [case.sources for case in cases] == [(Source("s"), Source("t", "b")), (), (), None]
    assert [note for note in file.notes if "null" in note] == [
        "2 rows: a source is null, left out",
        "1 row: the sources are null, taken as not recorded (write [] if nothing was retrieved)",
    ]
    _, [named], _ = read([GOOD | {"sources": [None, "s"], "source_ids": ["a", "b"]}])
    assert named.sources == (Source("s", "b"),)


def test_thoughts_are_counted(read: Any) -> None:
    file, cases, _ = read([GOOD | {"response": f"<think>So.</think>{i}"} for i in range(3)] + [GOOD])
    assert len(cases) == 4
    assert "3 rows: the response holds a <think> block, which isn't judged" in file.notes


def test_an_empty_query_is_a_query(read: Any) -> None:
    _, [case], _ = read([GOOD | {"query": ""}])
    assert case.query == ""


def test_a_missing_id_is_made_from_the_content(read: Any) -> None:
    other = GOOD | {"response": "other"}
    _, [a, b], _ = read([GOOD, other])
    _, [b2, a2], _ = read([other | {"lang": "en"}, GOOD | {"id": None}])
    assert (a.id, b.id) == (a2.id, b2.id)
    assert a.id != b.id
    assert len(a.id) == 16


def test_the_same_row_twice(read: Any) -> None:
    _, cases, [rejected] = read([GOOD, GOOD | {"query": "x"}, GOOD])
    assert len(cases) == 2
    assert "row 3" in str(rejected)
    assert "same content as row 1" in str(rejected)


def test_the_same_id_twice(read: Any) -> None:
    rows = [GOOD | {"id": "a"}, {"id": "a", "query": 5, "sources": []}, GOOD | {"id": "a", "query": "x"}]
    _, cases, rejected = read(rows)
    assert len(cases) == 1
    assert [(r.row, r.field) for r in rejected] == [(2, "query"), (3, "id")]
    assert "'a' is the id of row 1 too" in str(rejected[1])


def test_the_id_of_a_rejected_row_is_free(read: Any) -> None:
    _, cases, _ = read([GOOD | {"id": "a", "query": 5}, GOOD | {"id": "a"}])
    assert len(cases) == 1


@pytest.mark.parametrize(("value", "expected"), [(7, "7"), (7.0, "7"), ("x", "x"), (-1, "-1"), ("é", "é")])
def test_ids(read: Any, value: Any, expected: str) -> None:
    _, [case], _ = read([GOOD | {"id": value}])
    assert case.id == expected


def test_several_references(read: Any) -> None:
    file, cases, _ = read([GOOD | {"ground_truths": ["a", "b"], "id": 1}, GOOD | {"ground_truths": ["c"], "id": 2}])
    assert [case.reference for case in cases] == ["a", "c"]
    assert cases[0].tags == {"ground_truths": ["a", "b"]}
    assert cases[1].tags == {}
    assert any("several reference answers" in note for note in file.notes)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-01-02", "2026-01-02"),
        ("2026-01-02T03:04:05+01:00", "2026-01-02T03:04:05+01:00"),
        (1_767_323_045, "2026-01-02T03:04:05+00:00"),
        (1_767_323_045_000, "2026-01-02T03:04:05+00:00"),
        (1_767_323_045_000_000_000, "2026-01-02T03:04:05+00:00"),
    ],
)
def test_times(read: Any, value: Any, expected: str) -> None:
    _, [case], _ = read([GOOD | {"timestamp": value}])
    assert case.time == expected


@pytest.mark.parametrize("value", ["yesterday", 12.5, [1], 10**30, -(10**12)])
def test_a_time_that_is_none_is_kept_as_a_tag(read: Any, value: Any) -> None:
    file, cases, _ = read([GOOD | {"time": "2026-01-02"}, GOOD | {"id": "x", "time": value}])
    assert cases[1].time is None
    assert cases[1].tags == {"time": value}
    assert any("time can't be read" in note for note in file.notes)


def test_nul_and_lone_surrogates_are_replaced(read: Any) -> None:
    line = r'{"query": "a\u0000b", "sources": ["\ud800x"], "response": "\ud83d\ude00", "t\u0000": ["\udfff"]}'
    file, [case], _ = read(line)
    assert (case.query, case.sources[0].text, case.response) == ("a\ufffdb", "\ufffdx", "😀")
    assert case.tags == {"t\ufffd": ["\ufffd"]}
    assert any("1 row: NUL" in note for note in file.notes)
    "\n".join(file.describe()).encode()


def test_nan_and_infinity(read: Any) -> None:
    line = '{"query": "q", "sources": [], "response": NaN, "a": NaN, "b": [-Infinity, 1e999], "c": 1.5}'
    _, [case], _ = read(line)
    assert case.response is None
    assert case.tags == {"a": None, "b": [None, None], "c": 1.5}


def test_right_to_left_and_cjk(read: Any) -> None:
    _, [case], _ = read([{"query": "ما هي الرسوم؟", "sources": ["手数料は五百円です。"], "response": "כן"}])
    assert (case.query, case.sources[0].text, case.response) == ("ما هي الرسوم؟", "手数料は五百円です。", "כן")


def test_a_deep_tag_is_rejected(make: Any) -> None:
    deep = "[" * 200 + "]" * 200
    file = open_cases(make(f'{{"query": "q", "sources": [], "x": {deep}}}'))
    [rejected] = file.rows()
    assert "nested more than 64 levels" in str(rejected)


def test_a_row_that_is_too_long(read: Any) -> None:
    rows = [GOOD, GOOD | {"query": "x" * 500}, GOOD | {"id": 1}]
    _, cases, [rejected] = read(rows, limits=RowLimits(max_row=200))
    assert len(cases) == 2
    assert "row 2: is longer than 200 bytes" in str(rejected)


def test_notes_count_the_head_first(make: Any) -> None:
    rows = [{"query": f"q{n}", "sources": "one text", "response": "r"} for n in range(300)]
    file = open_cases(make(rows))
    assert any(note.startswith("in the first 100 rows, 100 rows: the sources are one text") for note in file.notes)
    assert "one text, 1 a row in the first 100 rows" in "\n".join(file.describe())
    list(file.rows())
    assert any(note.startswith("300 rows: the sources are one text") for note in file.notes)


def test_rows_can_be_read_again(make: Any) -> None:
    file = open_cases(make([GOOD, GOOD | {"id": 2}]))
    assert list(file.rows()) == list(file.rows())


def test_a_citation_mark_of_ones_own_goes_with_every_case(read: Any) -> None:
    _, cases, _ = read([{"query": "q", "sources": ["a"]}] * 1, citation_mark=r"\((\d+)\)")
    assert [case.citation_mark for case in cases] == [r"\((\d+)\)"]


@pytest.mark.parametrize("mark", ["(", "x*", ""])
def test_a_citation_mark_that_is_none_is_refused_before_anything_is_read(read: Any, mark: str) -> None:
    with pytest.raises(ConfigError, match="the citation mark"):
        read([{"query": "q", "sources": ["a"]}], citation_mark=mark)
