"""Which column is taken for what, and what is said about it."""

import itertools
from typing import Any

import pytest

from ragtriage.core.errors import ConfigError, InputError
from ragtriage.readers import open_cases
from ragtriage.readers.field_values import ALIASES, field_named

GOOD = {"query": "q", "sources": ["s"], "response": "r"}


@pytest.mark.parametrize(
    ("query", "response", "sources"),
    list(itertools.zip_longest(*(ALIASES[f] for f in ("query", "response", "sources")), fillvalue=None)),
)
def test_every_alias_is_found(read: Any, query: str | None, response: str | None, sources: str | None) -> None:
    names = {"query": query or "query", "response": response or "response", "sources": sources or "sources"}
    file, [case], _ = read([{names["query"]: "q", names["sources"]: ["s"], names["response"]: "r"}])
    assert file.mapping == names
    assert (case.query, case.response, [s.text for s in case.sources], case.tags) == ("q", "r", ["s"], {})


@pytest.mark.parametrize("name", ["userInput", "User Input", "user-input", "USER_INPUT", " user_input ", "UserInput"])
def test_spellings(name: str) -> None:
    assert field_named(name) == "query"


@pytest.mark.parametrize("name", ["context", "source", "gold", "retrieval", ""])
def test_not_ours(name: str) -> None:
    assert field_named(name) is None


def test_all_optional_fields(read: Any) -> None:
    row = GOOD | {
        "reference": "true",
        "id": 7,
        "history": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}],
        "samples": ["a", "b"],
        "relevant_ids": ["x", 2],
        "time": "2026-01-02T03:04:05Z",
        "trace_id": "t",
        "weight": 2,
        "lang": "en",
        "nested": {"a": [1, None]},
    }
    file, [case], _ = read([row])
    assert case.id == "7"
    assert [(t.role, t.text) for t in case.history] == [("user", "hi"), ("assistant", "hello")]
    assert case.samples == ("a", "b")
    assert case.relevant_ids == ("x", "2")
    assert (case.time, case.trace_id, case.weight, case.reference) == ("2026-01-02T03:04:05Z", "t", 2.0, "true")
    assert case.tags == {"lang": "en", "nested": {"a": [1, None]}}
    assert file.tags == ("lang", "nested")
    assert file.notes == ()


def test_the_earlier_alias_wins_and_it_is_said(read: Any) -> None:
    file, [case], _ = read([{"answer": "a", "response": "b", "input": "i", "question": "q", "contexts": ["c"]}])
    assert (case.query, case.response) == ("q", "b")
    assert case.tags == {"answer": "a", "input": "i"}
    assert any("'answer' became a tag" in note and "--map reference=answer" in note for note in file.notes)
    assert any("'input' became a tag" in note for note in file.notes)


def test_an_alias_that_cannot_be_it_becomes_a_tag(read: Any) -> None:
    row = {
        "query": {"id": 1},
        "prompt": "q",
        "documents": 3,
        "passages": ["p"],
        "response": "r",
        "conversation": "c-17",
        "weight": "kg",
        "time": 3.2,
        "samples": 4,
        "id": {"a": 1},
    }
    file, [case], _ = read([row])
    assert (case.query, [s.text for s in case.sources]) == ("q", ["p"])
    assert set(case.tags) == {"query", "documents", "conversation", "weight", "time", "samples", "id"}
    assert len(file.notes) == 7


def test_map_overrides_also_by_a_dotted_path(read: Any) -> None:
    rows = [{"query": "x", "asked": "q", "output": {"text": "r", "hits": [{"content": "s"}]}, "msgs": [{"c": "m"}]}]
    mapping = {"query": "asked", "response": "output.text", "sources": "output.hits", "reference": "msgs.0.c"}
    file, [case], _ = read(rows, mapping=mapping)
    assert (case.query, case.response, case.sources[0].text, case.reference) == ("q", "r", "s", "m")
    assert file.mapping == mapping
    assert set(case.tags) == {"query", "output", "msgs"}


def test_a_column_with_a_dot_in_its_name(read: Any) -> None:
    _, [case], _ = read([{"in.q": "q", "sources": []}], mapping={"query": "in.q"})
    assert (case.query, case.tags) == ("q", {})


def test_map_to_nothing_switches_a_field_off(read: Any) -> None:
    file, [case], _ = read([GOOD | {"reference": "x"}], mapping={"reference": "", "response": ""})
    assert case.reference is None
    assert case.response is None
    assert case.tags == {"reference": "x", "response": "r"}
    assert any("no column holds the response" in note for note in file.notes)


def test_map_to_a_column_that_is_not_there(make: Any) -> None:
    with pytest.raises(InputError, match=r"no column 'questoin'.*Close: 'question'.*Columns: question, contexts"):
        open_cases(make([{"question": "q", "contexts": []}]), mapping={"query": "questoin"})


def test_map_of_a_field_that_is_not_there(make: Any) -> None:
    with pytest.raises(ConfigError, match=r"no field 'qury'.*Did you mean 'query'"):
        open_cases(make([GOOD]), mapping={"qury": "question"})


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (
            {"text": "q", "contexts": []},
            r"no column holds the query.*Columns: text, contexts.*user_input.*--map query=",
        ),
        ({"query": "q", "hits": []}, r"no column holds the sources.*Columns: query, hits.*retrieved_contexts"),
        ({"query": "q", "context": ["ideal"]}, r"'context' may be the ideal.*--map sources=context"),
        ({"query": "q", "source": "http://x"}, r"'source' mostly tells where.*--map sources=source"),
    ],
)
def test_a_needed_column_is_missing(make: Any, row: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        open_cases(make([row]))


ASKED, SAID, TEXTS = "Which bulb fits the lamp?", "It takes an E14 bulb.", ["The lamp takes E14 bulbs."]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (
            {"question": ASKED, "excerpts": TEXTS, "answer": SAID},
            "no column holds the sources. .*--map sources=excerpts",
        ),
        (
            {"demande": ASKED, "preuves": TEXTS, "texte": SAID, "lang": "fr", "gold_answer": "An E14 bulb, I think."},
            "holds the query or the sources. .*--map query=demande --map response=texte --map sources=preuves",
        ),
        (
            {"run": {"user": {"said": ASKED}, "bot": {"reply": SAID, "hits": [{"id": "a b", "para": TEXTS[0]}]}}},
            r"--map query=run.user.said --map response=run.bot.reply --map 'sources=run.bot.hits\[\*\].para'",
        ),
        ({"query": ASKED, "gold_contexts": TEXTS, "result": SAID}, "Say which one it is: --map sources=COLUMN"),
    ],
)
def test_all_that_is_missing_is_told_with_the_place_that_is_likely_meant(
    make: Any, row: dict[str, Any], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        open_cases(make([row, row]))


def test_an_object_for_the_query_names_the_text_in_it(make: Any) -> None:
    with pytest.raises(InputError, match=r"the keys lang, question: name the text in it, --map query=inputs\.question"):
        open_cases(make([{"inputs": {"lang": "en", "question": ASKED}, "sources": []}]), mapping={"query": "inputs"})


def test_a_text_that_is_left_over_is_named_as_the_likely_response(read: Any) -> None:
    notes = [
        read([{"question": ASKED, "contexts": TEXTS, **more}])[0].notes
        for more in ({"agent_text": SAID}, {"model": "small-1"}, {"reference_text": SAID})
    ]

    told = ["'agent_text' may hold it: --map response=agent_text" in " ".join(those) for those in notes]
    assert told == [True, False, False]


def test_ares_rows_hold_one_document(read: Any) -> None:
    _, [case], _ = read([{"Query": ASKED, "Document": TEXTS[0], "Answer": SAID, "query_id": 7}])
    assert (case.id, case.sources[0].text, case.response) == ("7", TEXTS[0], SAID)
    _, [case], _ = read([{"query": ASKED, "document": "a.pdf", "answer": SAID, "contexts": TEXTS}])
    assert (case.sources[0].text, case.tags) == (TEXTS[0], {"document": "a.pdf"})


def test_deepeval_context_is_not_the_retrieval_context(read: Any) -> None:
    file, [case], _ = read([{"input": "q", "actual_output": "r", "context": ["ideal"], "retrieval_context": ["got"]}])
    assert [s.text for s in case.sources] == ["got"]
    assert case.tags == {"context": ["ideal"]}
    assert any("DeepEval" in note for note in file.notes)


def test_context_can_be_mapped(read: Any) -> None:
    file, [case], _ = read([{"input": "q", "output": "r", "context": ["got"]}], mapping={"sources": "context"})
    assert [s.text for s in case.sources] == ["got"]
    assert file.notes == ()


def test_source_is_provenance(read: Any) -> None:
    _, [case], _ = read([GOOD | {"source": "manual.pdf"}])
    assert case.tags == {"source": "manual.pdf"}


def test_a_file_without_responses(read: Any) -> None:
    file, [case], _ = read([{"query": "q", "sources": ["s"]}])
    assert case.response is None
    assert any("no column holds the response" in note for note in file.notes)


def test_a_field_that_comes_up_late(read: Any) -> None:
    rows: list[Any] = [{"query": f"q{n}", "sources": ["s"]} for n in range(150)]
    rows.append({"query": "q", "sources": ["s"], "answer": "late", "lang": "en"})
    _, cases, _ = read(rows)
    assert cases[-1].response == "late"
    assert cases[-1].tags == {"lang": "en"}


def test_rows_that_name_a_field_otherwise_are_rejected(read: Any) -> None:
    rows = [GOOD, {"query": "q", "sources": [], "answer": "a"}, {"question": "q", "sources": [], "response": "r"}]
    _, cases, rejected = read(rows)
    assert len(cases) == 1
    assert [(r.row, r.field) for r in rejected] == [(2, "response"), (3, "query")]
    assert "name the response alike" in str(rejected[0])


def test_a_tag_named_like_a_field_beside_it_is_no_other_name(read: Any) -> None:
    rows = [GOOD | {"answer": "true"}, {"query": "q", "sources": [], "answer": "true"}]
    _, cases, rejected = read(rows)
    assert not rejected
    assert cases[1].response is None


def test_describe(read: Any) -> None:
    rows = [
        {"user_input": "What?\x1b[2J", "retrieved_contexts": ["a"] * n, "answer": "r", "id": n, "lang": "en"}
        for n in (1, 2)
    ]
    file, _, _ = read([*rows, {"user_input": 3}])
    text = "\n".join(file.describe())
    assert "query ← user_input" in text
    assert "sources ← retrieved_contexts (list of texts, 1 to 2 a row in all 3 rows)" in text
    assert "tags: lang" in text
    assert "unusable: 1 of all 3 rows, the first: " in text
    assert "“What?" in text
    assert "\x1b" not in text
    assert file.first is not None
    assert set(file.first) == {"query", "response", "sources", "id"}
