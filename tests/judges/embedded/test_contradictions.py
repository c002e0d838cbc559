"""What contradicts a claim in one detail, and what doesn't."""

import pytest

from ragtriage.judges.embedded.contradictions import contradicting_sentence
from ragtriage.judges.embedded.readings import pieces, read_sentence


def against(claim: str, text: str) -> str:
    return contradicting_sentence(read_sentence(claim), [read_sentence(piece) for piece in pieces(text)])


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        # a "not" more or less, beside further words
        (
            "Members can't cancel their annual subscription online.",
            "Since the spring release, members can cancel their annual subscription online with two clicks.",
        ),
        (
            "Cards must require accurate billing information.",
            "Cards must not require accurate billing information of the merchant's customers.",
        ),
        # an opposite
        ("Smoking is allowed on the upper deck of the ferry.", "Smoking is prohibited on the upper deck of the ferry."),
        ("The maximum stay in the cabins is five nights.", "In July the minimum stay in the cabins is five nights."),
    ],
)  # fmt: skip
def test_one_detail_that_a_sentence_says_otherwise_contradicts(claim: str, text: str) -> None:
    assert against(claim, text)


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        # another sentence agrees
        (
            "Members can cancel their annual subscription online.",
            "Members can cancel an annual subscription online. On trial, they can't cancel an annual subscription.",
        ),
        ("Smoking is allowed on the upper deck.", "Smoking is prohibited below, and on the upper deck it is allowed."),
        # the day, number or name is what matters
        ("The harbour pool isn't open on Mondays.", "The harbour pool is open on Sundays."),
        ("The new rule isn't valid for Austria yet.", "The new rule is valid for Germany."),
        # both, a condition, a question
        ("The castle is open to visitors in winter.", "The castle is open to visitors in summer and closed in winter."),
        ("Guests can bring their own food along.", "Guests can't bring their own food along unless they ask."),
        ("The staff car park is closed at night.", "Is the staff car park open at night?"),
        # another plan has another value
        (
            "The Basic plan allows up to 5 projects per workspace.",
            "The Pro plan allows up to 50 projects per workspace. On Basic, that limit is 5.",
        ),
        # turned round, or the same side
        ("Acme sold the factory to Globex in 2019.", "Globex bought the factory from Acme in 2019."),
        ("The harbour lies east of the old town.", "The old town lies west of the harbour."),
        ("The fee is paid annually by all members.", "The fee is paid yearly by all members."),
        ("The tenant must give notice in writing.", "The landlord must give notice in writing. Tenants: same."),
        # comparisons turn round
        ("The red line is slower than the blue line.", "The blue line is faster than the red line."),
        # another thing, or the same value in other words
        ("The first form is due after 30 days.", "The second form is due after 14 days. The first form: 30 days."),
        ("It costs 38 million in 2023 and 72 million in 2024.", "It costs 72 million in 2024, 38 million in 2023."),
        ("Two days later the committee met again.", "Five days later the committee met again."),
        ("The trip takes 90 minutes by ferry.", "The trip by ferry takes 1.5 hours, and 40 minutes by boat."),
    ],
)  # fmt: skip
def test_what_may_be_true_beside_it_doesnt_contradict(claim: str, text: str) -> None:
    assert against(claim, text) == ""
