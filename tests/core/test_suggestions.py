"""What a misspelt name may have meant."""

import pytest

from ragtriage.core.validation import near_files, near_names


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("evalaute", ["evaluate", "export", "plan"], ["evaluate"]),
        ("Chanel", ["channel", "topic"], ["channel"]),
        ("TOPIC", ["channel", "topic"], ["topic"]),
        ("colour", ["channel", "topic"], []),
        ("", ["channel", "topic"], []),
        ("channel", [], []),
    ],
)
def test_only_a_name_that_is_like_it_is_suggested(name: str, known: list[str], expected: list[str]) -> None:
    assert near_names(name, known) == expected


def test_each_name_is_suggested_once_the_nearest_first() -> None:
    known = ["citation_groundedness", "groundedness", "groundedness", "Groundedness", "recall"]

    assert near_names("groundednes", known, 3) == ["groundedness", "citation_groundedness"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("row.jsonl", ["rows.jsonl"]),
        ("rows.json", ["rows.jsonl"]),
        ("nothere.jsonl", []),
        ("rows", ["rows.jsonl"]),
        ("answer.csv", ["answers.jsonl", "answers.json"]),
    ],
)
def test_the_ending_of_a_file_makes_no_likeness(name: str, expected: list[str]) -> None:
    known = ["broken.jsonl", "rows.jsonl", "answers.jsonl", "answers.json"]

    assert near_files(name, known) == expected
