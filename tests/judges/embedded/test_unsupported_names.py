"""Names, months and days of a claim that nothing in its evidence accounts for."""

from __future__ import annotations

import time

import pytest

from ragtriage.judges.embedded.readings import read, read_sentence
from ragtriage.judges.embedded.unsupported_names import unsupported_names


def foreign(claim: str, text: str, query: str = "") -> tuple[str, ...]:
    reading = read(text)
    return unsupported_names(read_sentence(claim), reading.sentences, reading.stems, (text, query))


@pytest.mark.parametrize(
    ("claim", "text", "names"),
    [
        ("The bridge was designed by Agnes Varley.", "The bridge was designed by Tom Hale.", ("Agnes Varley",)),
        ("It opened in March 1908.", "It opened on 4 June 1908.", ("March",)),
        ("The office is closed on Fridays.", "The office is closed on Mondays.", ("Fridays",)),
        ("It is open in May.", "It may open in June.", ("May",)),
        # a single name, where a sentence that says the same has another one
        ("The tram line ends in Lindmoor.", "The tram line ends in Brackwell.", ("Lindmoor",)),
    ],
)
def test_a_name_that_stands_nowhere_is_foreign(claim: str, text: str, names: tuple[str, ...]) -> None:
    assert foreign(claim, text) == names


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("It opened on 1 April 2023.", "Opened: 2023-04-01"),
        ("It opened on 4 June 1908.", "It opened on Jun 4, 1908."),
        ("On Saturdays it is dearer.", "It is dearer at weekends."),
        ("Open on Tuesday.", "Open Mon-Tue."),
        ("It is open in July.", "Open from mid-May to the end of September."),
        ("It isn't open on Wednesdays.", "It is open on Tuesdays and Fridays."),
        ("The shop is closed on Sundays.", "The shop is open Monday to Saturday."),
        ("The report came out in May 2023.", "The report came out 5/2023."),
        ("The United States signed the treaty.", "The U.S. signed the treaty with Canada."),
        ("Under Privacy Rule 4 you can object.", "You can object. GDPR applies."),
        ("Black Friday deals start soon.", "The deals start soon."),
        ("That leaves you until about August.", "You have three months from 1 May."),
        ("The Irish company answers.", "Your contract is with a company in Ireland."),
        ("It is sold in Germany.", "German shops sell it."),
        ("It is traded on the New York Stock Exchange.", "It is traded on the NYSE."),
        ("Mr Hale designed it.", "Tom Hale designed it."),
        ("Use GitHub for it.", "Use git hub for it."),
        ("A GPS shows the way.", "A satellite receiver shows the way."),
        # the application's own product, which no sentence calls otherwise
        ("With Acmera you can export it.", "You can export it as a file."),
        ("**Key Benefits:** it is quick.", "It is quick."),
        ("Click Save and it is there.", "Click “Save”. It is there."),
        ("See docs/Agnes/Varley.md or @AgnesVarley.", "See the docs."),
    ],
)
def test_what_stands_there_in_another_way_is_accounted_for(claim: str, text: str) -> None:
    assert foreign(claim, text) == ()


def test_the_query_counts_as_evidence() -> None:
    assert foreign("Agnes Varley gets 30 days.", "Staff get 30 days.", "How many days does Agnes Varley get?") == ()


def test_a_text_full_of_names_takes_no_longer_than_others() -> None:
    claim = "Abc " * 20_000 + "("
    start = time.perf_counter()
    foreign(claim, "It opened.")
    assert time.perf_counter() - start < 5
