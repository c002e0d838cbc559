"""The shapes of sources."""

import csv
import io
import json
from typing import Any

import pytest

from ragtriage.core.errors import InputError
from ragtriage.readers import RowLimits, open_cases

SHAPES: list[tuple[str, Any, list[tuple[str, str | None]]]] = [
    ("none retrieved", [], []),
    ("texts", ["a", "b"], [("a", None), ("b", None)]),
    ("blank text", ["a", " ", ""], [("a", None), (" ", None), ("", None)]),
    ("text key", [{"text": "a", "id": "1"}], [("a", "1")]),
    ("langchain", [{"page_content": "a", "metadata": {"source": "f.md"}}], [("a", "f.md")]),
    ("content", [{"content": "a", "doc_id": 3, "title": "T"}], [("a", "3")]),
    ("document", [{"document": "a", "chunk_id": "c", "source": "f"}], [("a", "c")]),
    ("body", [{"body": "a", "source": "f"}], [("a", "f")]),
    ("wrapped", [{"node": {"text": "a", "id": "n"}, "score": 0.5}], [("a", "n")]),
    ("wrapped document", [{"document": {"page_content": "a", "metadata": {"id": "n"}}}], [("a", "n")]),
    ("mixed", ["a", {"text": "b"}], [("a", None), ("b", None)]),
    ("id to text", {"d1": "a", "d2": "b"}, [("a", "d1"), ("b", "d2")]),
    ("one object", {"text": "a", "id": "d"}, [("a", "d")]),
    ("list of lists", [["a", "b"], ["c"]], [("a", None), ("b", None), ("c", None)]),
    ("one text", "just one", [("just one", None)]),
    ("reference mark", "[1] See above.", [("[1] See above.", None)]),
]


@pytest.mark.parametrize(("value", "expected"), [s[1:] for s in SHAPES], ids=[s[0] for s in SHAPES])
@pytest.mark.parametrize("form", ["jsonl", "text in jsonl", "python in csv"])
def test_shapes(read: Any, value: Any, expected: Any, form: str) -> None:
    if form == "jsonl":
        _, cases, rejected = read([{"query": "q", "sources": value}])
    elif form == "text in jsonl":
        _, cases, rejected = read([{"query": "q", "sources": value if isinstance(value, str) else json.dumps(value)}])
    else:
        _, cases, rejected = read(as_csv(["query", "sources"], ["q", str(value)]), "c.csv")
    assert not rejected
    assert [(s.text, s.id) for s in cases[0].sources] == expected


def as_csv(*rows: list[str], delimiter: str = ",") -> str:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter).writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('["a", "b"]', ["a", "b"]),
        ("['a', 'b']", ["a", "b"]),
        ("""['it\\'s', "x" ]""", ["it's", "x"]),
        ("['a' 'b'\n 'c']", ["a", "b", "c"]),
        ("""['a' "it's"]""", ["a", "it's"]),
        ("array(['a', 'b'], dtype=object)", ["a", "b"]),
        ("array(['a', 'b'],\n      dtype='<U1')", ["a", "b"]),
        ("[]", []),
        ("['say ''hi'' twice', 'b']", None),
        ("['\\d+', 'b']", ["\\d+", "b"]),
        ("['a', 'it was cut o", None),
        ("['a', __import__('os')]", None),
        ("[" * 5000 + "'a'" + "]" * 5000, None),
        ("{'a': " * 3000 + "'a'" + "}" * 3000, None),
    ],
)
def test_lists_written_as_text(read: Any, text: str, expected: list[str] | None) -> None:
    _, cases, rejected = read(as_csv(["query", "sources"], ["q", text]), "c.csv")
    if expected is None:
        assert [r.field for r in rejected] == ["sources"]
    else:
        assert [s.text for s in cases[0].sources] == expected


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (5, r"is a number \(5\)"),
        (True, "truth value"),
        ("", "empty text"),
        ("  \n", "empty text"),
        (["a", 3], r"source 2 is a number \(3\)"),
        ([["text", 0.9]], r"source 1 is a list of 2"),
        ([{"score": 1}], r"source 1 is an object with 'score'; its text was looked for under text, page_content"),
        ([{"para": "a b", "url": "x"}], r"--map 'sources=sources\[\*\]\.para' takes it"),
        ([{"text": 5}], "source 1 is an object"),
        ({"a": 1}, "is an object with 'a'"),
        ({}, "an object with no keys"),
        ('["a", "b', "was it cut off"),
    ],
)
def test_what_is_no_source(read: Any, value: Any, says: str) -> None:
    _, cases, [rejected] = read([{"query": "q", "sources": value}, {"query": "q", "sources": ["fine"]}])
    assert len(cases) == 1
    assert (rejected.row, rejected.field) == (1, "sources")
    with pytest.raises(AssertionError, match=says):
        raise AssertionError(rejected.reason)


def test_a_row_without_the_column(read: Any) -> None:
    _, _, [rejected] = read([{"query": "q", "sources": []}, {"query": "r"}])
    assert "'sources' is missing: write []" in str(rejected)


def test_one_long_text_is_pointed_at(read: Any) -> None:
    file, [case], _ = read([{"query": "q", "sources": "a\n\nb"}])
    assert len(case.sources) == 1
    assert any("--split-sources" in note and "1 row" in note for note in file.notes)


@pytest.mark.parametrize("separator", ["\n\n", r"\n\n"])
def test_split(read: Any, separator: str) -> None:
    file, [case], _ = read([{"query": "q", "sources": "a\n\nb\n\n\n\nc\n"}], split_sources=separator)
    assert [s.text for s in case.sources] == ["a", "b", "c"]
    assert any("split by" in note for note in file.notes)


def test_split_leaves_lists_alone_and_says_so(read: Any) -> None:
    file, [case], _ = read([{"query": "q", "sources": ["a\n\nb"]}], split_sources=r"\n\n")
    assert len(case.sources) == 1
    assert any("left it alone" in note for note in file.notes)


def test_nested_lists_are_said(read: Any) -> None:
    file, _, _ = read([{"query": "q", "sources": [["a"]]}])
    assert any("list of lists" in note for note in file.notes)


def test_limits(read: Any) -> None:
    rows = [
        {"query": "q", "sources": ["x" * 11]},
        {"query": "q", "sources": ["x"] * 4},
        {"query": "q", "sources": [], "response": "x" * 11},
        {"query": "q", "sources": ["x" * 10] * 3},
    ]
    _, cases, rejected = read(rows, limits=RowLimits(max_text=10, max_sources=3))
    assert len(cases) == 1
    assert "source 1 has 11 characters, more than 10" in str(rejected[0])
    assert "--max-text" in str(rejected[0])
    assert "4 sources, more than 3" in str(rejected[1])
    assert rejected[2].field == "response"


def test_ten_thousand_sources_are_fine_if_they_are_wanted(read: Any) -> None:
    rows = [{"query": "q", "sources": [f"s{n}" for n in range(10_000)]}]
    _, _, [rejected] = read(rows)
    _, [case], _ = read(rows, limits=RowLimits(max_sources=10_000))

    assert "has 10,000 sources" in str(rejected)
    assert len(case.sources) == 10_000


def test_ten_megabytes_of_response_are_refused_by_default(read: Any) -> None:
    _, _, [rejected] = read([{"query": "q", "sources": [], "response": "x" * 10_000_000}])
    assert "10,000,000 characters" in str(rejected)


IDS = {"query": "q", "retrieved_contexts": ["a", "b"], "reference_context_ids": ["2"]}


@pytest.mark.parametrize("column", ["source_ids", "retrieved_context_ids", "context_ids"])
def test_ids_in_a_column_of_their_own(read: Any, column: str) -> None:
    file, [case], _ = read([IDS | {column: ["1", 2]}])
    assert [(s.text, s.id) for s in case.sources] == [("a", "1"), ("b", "2")]
    assert (case.relevant_ids, case.tags) == (("2",), {})
    assert "  source_ids: 1, 2" in file.describe()


def test_ids_in_a_cell(read: Any) -> None:
    rows = as_csv(["query", "contexts", "context_ids"], ["q", "['a', 'b']", "['1', None]"], ["p", "['a']", ""])
    _, cases, _ = read(rows, "c.csv")
    assert [[s.id for s in case.sources] for case in cases] == [["1", None], [None]]


def test_an_id_of_the_column_stands_for_the_sources_own(read: Any) -> None:
    row = {"query": "q", "sources": [{"text": "a", "id": "x"}, {"text": "b", "id": "y"}], "source_ids": ["1", None]}
    _, [case], _ = read([row])
    assert [s.id for s in case.sources] == ["1", "y"]


def test_ids_that_are_not_one_a_source_are_a_problem(read: Any) -> None:
    _, cases, [rejected] = read([IDS | {"context_ids": ["1", "2"]}, IDS | {"context_ids": ["1"]}])
    assert len(cases) == 1
    assert rejected.field == "source_ids"
    assert "the number of ids is 1, that of sources 2" in rejected.reason


def test_ids_alone_are_no_sources(make: Any) -> None:
    with pytest.raises(InputError, match=r"'retrieved_context_ids' holds only their ids; .* an empty 'text'"):
        open_cases(make([{"query": "q", "retrieved_context_ids": ["1"]}]))
    file = open_cases(make([{"query": "q", "sources": [{"id": "1", "text": ""}]}]))
    assert [[s.id for s in case.sources] for case in file.rows()] == [["1"]]  # type: ignore[union-attr]
