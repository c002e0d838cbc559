"""A yes or no alone, and what it states of its question."""

import pytest

from ragtriage.text.short_answers import is_yes, stated


@pytest.mark.parametrize(
    ("said", "yes"),
    [
        ("Yes.", True), ("Yes, they are.", True), ("Yes, of course!", True), ("It does.", True), ("Correct", True),
        ("No.", False), ("No, we don't.", False), ("No, unfortunately not.", False), ("They aren’t.", False),
        ("Not at all.", False), ("No, you cannot, sorry.", False), ("Yes, we ship to islands.", None),
        ("No, it costs 5 euros.", None), ("No way.", None), ("Right now it is open.", None), ("", None),
    ],
)  # fmt: skip
def test_whether_a_reply_is_a_yes_or_no_and_nothing_else(said: str, yes: bool | None) -> None:
    assert is_yes(said) is yes


@pytest.mark.parametrize(
    ("query", "yes", "no"),
    [
        ("Is smoking allowed here?", "Smoking is allowed here.", "Smoking is not allowed here."),
        ("Do you ship to islands?", "You ship to islands.", "You do not ship to islands."),
        ("Does the Firo kettle switch off by itself?", "The Firo kettle switches off by itself.",
         "The Firo kettle does not switch off by itself."),
        ("Can I get a refund?", "I can get a refund.", "I cannot get a refund."),
        ("Has the bridge been repaired?", "The bridge has been repaired.", "The bridge has not been repaired."),
        ("Are children under six admitted free?", "Children under six are admitted free.",
         "Children under six are not admitted free."),
        ("Is the museum in Marrow?", "The museum is in Marrow.", "The museum is not in Marrow."),
        ("Is Brelox a painkiller?", "Brelox is a painkiller.", "Brelox is not a painkiller."),
        ("Isn't the pool heated?", "The pool is heated.", "The pool is not heated."),
        ("Will Korvel waive the fee?", "Korvel will waive the fee.", "Korvel will not waive the fee."),
        ("Did the council approve it?", "The council did approve it.", "The council did not approve it."),
        ("When does it open?", "", ""),
        ("Is it open? And is it free?", "", ""),
        ("The library is open.", "", ""),
    ],
)  # fmt: skip
def test_what_it_states(query: str, yes: str, no: str) -> None:
    assert (stated(query, yes=True), stated(query, yes=False)) == (yes, no)
