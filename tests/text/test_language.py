"""A case's language is decided on its whole text."""

from typing import Any

import pytest

from examples import examples
from ragtriage import Case, Source
from ragtriage.text.language import language_of


@pytest.mark.parametrize("row", examples("language"))
def test_the_whole_text_decides(row: dict[str, Any]) -> None:
    assert language_of(Case("c", row["query"], (Source(row["source"]),), row["response"])) == row["language"]
