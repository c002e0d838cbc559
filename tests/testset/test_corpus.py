"""Is the answer of a gap group in the corpus? In every form in which it is written, and with doubt shown as doubt."""

from pathlib import Path
from typing import Any

import pytest

from examples import examples
from ragtriage import InputError
from ragtriage.testset.answered_rows import Row
from ragtriage.testset.corpus import Corpus, GapLookup, look_up_gaps, read_corpus

REPORT = """# Old Pier: final report

The pier was opened on March 3, 2019, and cost 1.24 million euros. Its manager is Ada Finch.

Another paragraph names Bruno Vale.
"""


def found(answer: Any, text: str = REPORT, query: str = "", about: str = "Old Pier", retrieved: str = "") -> GapLookup:
    """What a corpus of one document says of the answer to a question about something."""
    columns = {"parameters": {"project.name": about}} if about else {}
    row = Row("1", "g", query=query, answer=answer, retrieved=(retrieved,), columns=columns)
    return look_up_gaps([row], ["g"], Corpus({"d": text}, 0))[0]


@pytest.mark.parametrize("row", examples("corpus"))
def test_whether_an_answer_stands_beside_what_it_is_about(row: dict[str, Any]) -> None:
    answer = tuple(row["answer"]) if isinstance(row["answer"], list) else row["answer"]
    asked = {name: row[name] for name in ("text", "query", "about") if name in row}

    one = found(answer, **asked)

    assert one.presence == row["presence"]
    assert row.get("why", "") in one.why


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_a_groups_phrasings_does_not_matter(order: int) -> None:
    queries = ("manager of Old Pier", "Yesterday Mark asked me: who is the manager of Old Pier?")
    rows = [Row(str(at), "g", query=query, answer="Ada Finch") for at, query in enumerate(queries)]
    corpus = Corpus({"d": "# Old Pier\n\nThe manager is Ada Finch."}, 0)

    (one,) = look_up_gaps(rows[::order], ["g"], corpus)

    assert (one.presence, one.question) == ("found", queries[0])


def test_it_is_told_whether_the_document_was_retrieved() -> None:
    assert found("Ada Finch", retrieved="d").retrieved
    assert not found("Ada Finch", retrieved="other").retrieved


def test_a_folder_is_read_by_names_and_what_is_unreadable_is_counted(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no document"):
        read_corpus(tmp_path)
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
