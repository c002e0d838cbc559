"""Word lists and patterns as data: each can be read, and each is used."""

import re
from pathlib import Path

import pytest

import ragtriage
from ragtriage.judges.embedded.silent_texts import _HOLDS
from ragtriage.text.lexicon import Lexicon

SRC = Path(ragtriage.__file__).parent
FILES = [*sorted((SRC / "text" / "data").glob("*.toml")), SRC / "judges" / "embedded" / "rules.toml"]
LEXICONS = [path for path in FILES if path.stem != "languages"]


@pytest.mark.parametrize("path", LEXICONS, ids=lambda path: path.stem)
def test_every_pattern_compiles(path: Path) -> None:
    lexicon, wrong = Lexicon(path), []
    for name, entry in lexicon.entries.items():
        for text in [entry] if isinstance(entry, str) else [row.get("pattern") or row["unit"] for row in entry]:
            try:
                re.compile(lexicon.filled(text))
            except (re.error, KeyError) as error:
                wrong.append(f"{name}: {error}")

    assert lexicon.entries
    assert wrong == []


def test_every_entry_is_used() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in SRC.rglob("*.py"))
    data = "\n".join(path.read_text(encoding="utf-8") for path in FILES)
    by_kind = {"asks_" + kind for kind in ("number", "when", "who", "where", "why", "how", "yesno")}
    by_kind |= {"asks_for_" + kind for kind in _HOLDS}

    names = [name for path in LEXICONS for name in Lexicon(path).entries]
    unused = [name for name in names if f'"{name}"' not in code and not re.search(rf"\{{{name}\|?\}}", data)]

    assert sorted(set(unused) - by_kind) == []


def test_line_breaks_do_not_count_and_pieces_are_filled_in(tmp_path: Path) -> None:
    path = tmp_path / "some.toml"
    path.write_text("animal = '(?:cat|dog)'\nsaid = '''\n  (?i){animal} (?:sleeps|\n  barks)'''\nwords = 'b a'\n")
    lexicon = Lexicon(path)

    assert lexicon["said"].pattern == "(?i)(?:cat|dog) (?:sleeps|barks)"
    assert lexicon["said"] is lexicon["said"]
    assert lexicon.words("words") == {"a", "b"}
    assert lexicon.ordered("words") == ("b", "a")


def test_a_list_may_hold_another_and_a_pattern_any_word_of_a_list(tmp_path: Path) -> None:
    path = tmp_path / "some.toml"
    path.write_text(
        "pets = 'cat dog'\nanimals = 'ant {pets} bee'\nsaid = '(?:{pets|}|cow) {article}'\narticle = '(?:a|an)'\n"
    )
    lexicon = Lexicon(path)

    assert lexicon.ordered("animals") == ("ant", "cat", "dog", "bee")
    assert lexicon.words("animals") == {"ant", "bee", "cat", "dog"}
    assert lexicon["said"].pattern == "(?:cat|dog|cow) (?:a|an)"
