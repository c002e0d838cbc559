"""Values from outside become typed values, or one sentence that names the field and says what to write."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest
from annotated_types import Ge

from ragtriage.core.validation import STRICT, Invalid, as_builtins, near_files, near_names, validated


@dataclass(frozen=True, slots=True)
class Inner:
    """What stands inside another value."""

    __pydantic_config__: ClassVar[Any] = STRICT
    name: str
    kind: Literal["a", "b"] = "a"
    count: Annotated[int, Ge(1)] = 1


@dataclass(frozen=True, slots=True)
class Outer:
    """A value with every kind of field."""

    __pydantic_config__: ClassVar[Any] = STRICT
    rules: tuple[Inner, ...] = ()
    one: Inner | None = None
    by: Mapping[str, Inner] = field(default_factory=dict)
    share: float = 0.0
    path: Path | None = None
    flag: bool = False
    words: tuple[str, ...] = ()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            {"rules": [{"name": "x", "kind": "c", "count": 0}]},
            "rules[1].kind is 'c': use 'a' or 'b'; rules[1].count is 0: give at least 1",
        ),
        (
            {"rules": [{"nam": "x"}]},
            "rules[1] lacks 'name'; rules[1]: no setting is called 'nam': did you mean 'name'?",
        ),
        ({"by": {"q": {"name": 1}}}, "by.q.name must be a text, not 1"),
        ({"by": {"q": {"name": "x", "nn": 2}}}, "by.q: no setting is called 'nn': there are: name, kind, count"),
        ({"one": {"nmae": "x"}}, "one lacks 'name'; one: no setting is called 'nmae': did you mean 'name'?"),
        ({"share": True}, "share must be a number, not True"),
        ({"share": "3"}, "share must be a number, not '3'"),
        ({"words": "x"}, "words must be a list, not 'x'"),
        ({"flags": True}, "no setting is called 'flags': did you mean 'flag'?"),
        (3, "it must be a table, not 3"),
    ],
)
def test_what_does_not_fit_is_told_by_field(value: object, said: str) -> None:
    with pytest.raises(Invalid) as raised:
        validated(Outer, value, "setting")

    assert str(raised.value) == said


def test_a_fitting_value_comes_back_typed_and_can_be_written_again() -> None:
    value = {"rules": [{"name": "x"}], "share": 1, "path": "a/b", "words": ["v"]}
    found = validated(Outer, value)

    assert found == Outer((Inner("x"),), share=1.0, path=Path("a/b"), words=("v",))
    assert validated(Outer, as_builtins(found)) == found
    with pytest.raises(Invalid, match="half of a surrogate pair"):
        validated(dict[str, str], {"text": "\ud800"})


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


def test_each_name_is_suggested_once_the_nearest_first_and_the_ending_of_a_file_makes_no_likeness() -> None:
    names = ["citation_groundedness", "groundedness", "groundedness", "Groundedness", "recall"]
    assert near_names("groundednes", names, 3) == ["groundedness", "citation_groundedness"]

    files = ["broken.jsonl", "rows.jsonl", "answers.jsonl", "answers.json"]
    near = {"row.jsonl": ["rows.jsonl"], "rows": ["rows.jsonl"], "nothere.jsonl": []}
    for name, expected in (near | {"answer.csv": ["answers.jsonl", "answers.json"]}).items():
        assert near_files(name, files) == expected
