"""What an explanation quotes is read back whole."""

import pytest

from ragtriage.adapters.run_view import quotes_in


@pytest.mark.parametrize(
    ("explanation", "quotes"),
    [
        ("closest passage: “The fee is 5 euros.”", ["The fee is 5 euros."]),
        ("closest passage: “… of 5 euros …”, 6 ≠ 5; most in doubt: “6 euros”", ["of 5 euros", "6 euros"]),
        ("closest passage: “The sign says “Mind the step” in red.”", ["The sign says “Mind the step” in red."]),
        ("closest passage: “The sign says “Mind …”", ["The sign says “Mind"]),
        ("no passage is about it", []),
    ],
)
def test_quotes_are_read_back(explanation: str, quotes: list[str]) -> None:
    assert list(quotes_in(explanation)) == quotes
