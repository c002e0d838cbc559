"""Is the answer of a gap group in the corpus? In every form in which it is written, and with doubt shown as doubt."""

from pathlib import Path
from typing import Any

import pytest

from ragtriage import InputError
from ragtriage.testset.answered_rows import Row
from ragtriage.testset.corpus import Corpus, CorpusDocument, GapLookup, look_up_gaps, read_corpus

REPORT = """# Old Pier: final report

The pier was opened on March 3, 2019, and cost 1.24 million euros. Its manager is Ada Finch.

Another paragraph names Bruno Vale.
"""


def found(answer: Any, *texts: str, query: str = "", about: str = "Old Pier", retrieved: str = "") -> GapLookup:
    columns = {"parameters": {"project.name": about}} if about else {}
    row = Row("1", "g", query=query, answer=answer, retrieved=(retrieved,), columns=columns)
    corpus = Corpus(tuple(CorpusDocument(f"d{at}", text) for at, text in enumerate(texts)), 0)
    return look_up_gaps([row], ["g"], corpus)[0]


@pytest.mark.parametrize("answer", ["2019-03-03", 1_240_000, "1240000", "Ada Finch", ("Ada Finch", "2019-03-03")])
def test_a_value_is_found_in_every_form_in_which_it_is_written(answer: Any) -> None:
    assert found(answer, REPORT).presence == "found"


@pytest.mark.parametrize("answer", ["2019-03-04", 1_250_000, "Ada Finchley", "Dora Ash", ("Ada Finch", "Dora Ash")])
def test_another_value_is_absent(answer: Any) -> None:
    assert found(answer, REPORT).presence == "absent"


@pytest.mark.parametrize(
    ("text", "presence"),
    [
        ("# Old Pier\n\nIt opened on 3 March 2019 at 10:30 am.", "found"),
        ("# Old Pier\n\nIt opened on 3 March 2019 at 11:30.", "absent"),
        ("# Old Pier\n\nIt opened on 3 March 2019.", "absent"),
    ],
)
def test_a_date_with_a_time_of_day_is_found_with_it(text: str, presence: str) -> None:
    assert found("2019-03-03 10:30:00", text).presence == presence


def test_a_value_beside_something_else_is_absent() -> None:
    assert found("Ada Finch", "# New Quay\n\nThe manager is Ada Finch.").presence == "absent"


def test_a_value_apart_from_what_is_asked_about_is_doubtful() -> None:
    apart = "# Review\n\nOld Pier was opened.\n\nAda Finch won a prize."
    listed = "# Managers\n\n- Old Pier: Bruno Vale\n- New Quay: Ada Finch"

    for text in (apart, listed):
        one = found("Ada Finch", text)
        assert one.presence == "unknown"
        assert "not beside it" in one.why


def test_the_title_counts_for_every_paragraph() -> None:
    assert found("Bruno Vale", REPORT).presence == "found"
    assert found("Old Pier", "# People of Old Pier\n\n- Ada Finch", about="Ada Finch").presence == "found"


@pytest.mark.parametrize(
    ("answer", "about", "why"),
    [
        (True, "Old Pier", "yes or no"),
        ("no", "Old Pier", "yes or no"),
        ((), "Old Pier", "isn't known"),
        (None, "Old Pier", "isn't known"),
        ("Ada Finch", "", "nothing tells"),
        (3, "Old Pier", "small number"),
    ],
)
def test_what_cannot_be_looked_for_is_unknown_with_the_reason(answer: Any, about: str, why: str) -> None:
    one = found(answer, REPORT, query="who is it?", about=about)

    assert one.presence == "unknown"
    assert why in one.why


def test_without_parameters_the_names_of_the_query_say_what_it_is_about() -> None:
    assert found("Ada Finch", REPORT, query="Who manages the Old Pier?", about="").presence == "found"
    assert found("Ada Finch", REPORT, query="Who manages New Quay?", about="").presence == "absent"


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_a_groups_phrasings_does_not_matter(order: int) -> None:
    queries = ("manager of Old Pier", "Yesterday Mark asked me: who is the manager of Old Pier?")
    rows = [Row(str(at), "g", query=query, answer="Ada Finch") for at, query in enumerate(queries)]
    corpus = Corpus((CorpusDocument("d", "# Old Pier\n\nThe manager is Ada Finch."),), 0)

    (one,) = look_up_gaps(rows[::order], ["g"], corpus)

    assert (one.presence, one.question) == ("found", queries[0])


def test_it_is_told_whether_the_document_was_retrieved() -> None:
    assert found("Ada Finch", REPORT, retrieved="d0").retrieved
    assert not found("Ada Finch", REPORT, retrieved="other").retrieved


def test_a_folder_is_read_by_names_and_what_is_unreadable_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "pier.md").write_text(REPORT, encoding="utf-8")
    (tmp_path / "a" / "twice.txt").write_text("one", encoding="utf-8")
    (tmp_path / "twice.md").write_text("two", encoding="utf-8")
    (tmp_path / "broken.md").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "picture.png").write_bytes(b"")

    corpus = read_corpus(tmp_path)
    assert sorted(corpus.texts) == ["a/twice", "pier", "twice"]
    assert corpus.skipped == 1


def test_a_file_of_rows_is_read_and_what_is_no_document_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": 1, "text": "one"}\n{"id": "2"}\nnot json\n', encoding="utf-8")

    corpus = read_corpus(path)
    assert corpus.texts == {"1": "one"}
    assert corpus.skipped == 2


def test_an_empty_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no document"):
        read_corpus(tmp_path)
