"""Phrases about the sources are taken off a claim, and nothing else is."""

import pytest

from ragtriage.judges.embedded.claimed_text import without_attribution


@pytest.mark.parametrize(
    ("claim", "left"),
    [
        ("Based on the provided passages, the fee is 5 euros.", "the fee is 5 euros."),
        ("The fee is 5 euros (Passage 2).", "The fee is 5 euros."),
        ("The fee is 5 euros (Passages 1 & 2).", "The fee is 5 euros."),
        ("The fee is 5 euros [1][3].", "The fee is 5 euros."),
        ("The fee is 5 euros 【1】.", "The fee is 5 euros."),
        ("According to source 2, the fee is 5 euros.", "the fee is 5 euros."),
        ("Therefore, based on the given passages, the fee is 5 euros.", "the fee is 5 euros."),
        ("As stated in the document, the fee is 5 euros.", "the fee is 5 euros."),
        ("According to the content, the fee is 5 euros.", "the fee is 5 euros."),
        ("The documents also state that the fee is 5 euros.", "the fee is 5 euros."),
    ],
)
def test_the_attribution_goes(claim: str, left: str) -> None:
    assert without_attribution(claim) == left


@pytest.mark.parametrize(
    "claim",
    [
        "The passage over the pass is closed (see 2024).",
        "According to Darwin, species change.",
        "Information is kept for 30 days (about a month).",
        "Based in Oslo, the company sells fish.",
        "The source of the river lies at 2,100 metres.",
        "[1]",
        "",
    ],
)
def test_everything_else_stays(claim: str) -> None:
    assert without_attribution(claim) == claim
