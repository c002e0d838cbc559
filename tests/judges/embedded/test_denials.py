"""What counts as a plain denial of a claim, and what doesn't."""

import pytest

from ragtriage import Case, Source, Verdicts, evaluate_sync
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.embedded.contradictions import denying_sentence
from ragtriage.judges.embedded.readings import pieces, read_sentence
from ragtriage.metrics import metrics_named


def denied(claim: str, text: str) -> str:
    return denying_sentence(read_sentence(claim), [read_sentence(piece) for piece in pieces(text)])


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Pets are allowed in the cabins.", "Pets are not allowed in the cabins. Guide dogs are welcome."),
        ("Yes, pets are allowed in the cabins.", "Dogs bark. Pets aren’t allowed in the cabins."),
        ("You cannot use condensed milk here.", "You can use condensed milk here, with less sugar."),
        ("Refunds are given after 30 days.", "Refunds are never given after 30 days."),
        ("Single sign-on is supported on the Basic plan.", "Single sign-on isn't supported on the Basic plan."),
        ("There was no strike at the Oslo yard.", "On 4 June 2022, a strike began at the Oslo yard."),
        ("Yes, oil can replace butter.", "No, oil cannot replace butter."),
        ("Visitors need to book a table.", "Visitors don't need to book a table."),
    ],
)
def test_the_opposite_in_the_same_words_is_a_denial(claim: str, text: str) -> None:
    assert denied(claim, text)


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        # both, or the same
        ("Pets are allowed in tents.", "Pets are not allowed in cabins, but they are allowed in tents."),
        ("Pets are not allowed in cabins.", "Pets aren't allowed in cabins."),
        ("It does not require a licence.", "It requires no licence."),
        ("Pets are allowed.", "Pets are not allowed indoors. In tents, pets are allowed."),
        # the negation is of something else
        ("Guide dogs are allowed.", "Guide dogs are welcome although pets are not allowed."),
        ("Dogs are allowed.", "Dogs are welcome and cats are not allowed."),
        ("Tickets are sold at the gate.", "Tickets are sold at the gate, not online."),
        ("Loss comes from eating less sugar and fat, not from sweat.", "Loss comes from eating less sugar and fat."),
        # less than the whole is denied, or nothing
        ("The pass is valid on trains.", "The pass is not only valid on trains."),
        ("Orders are shipped by noon.", "Not all orders are shipped by noon."),
        # one word more or less is what matters
        ("Windows 10 is supported by the client.", "Windows 7 is not supported by the client."),
        ("Staff hired after 2020 are eligible.", "Staff hired before 2020 are not eligible."),
        ("The paid plan includes phone support.", "The free plan does not include phone support."),
        ("The feature is available in Europe.", "The feature was not available in Europe in 2023. It came in 2024."),
        # asked, told, planned, a field
        ("Pets are not allowed in the hotel.", "Are pets allowed in the hotel? No, we are sorry."),
        ("Vaccines do not cause autism.", "It is a myth that vaccines cause autism."),
        ("The firm was not sold in 2020.", "The firm was to be sold in 2020, but it fell through."),
        ("The ticket is not refundable.", "Refundable ticket: No"),
        ("Yes, breakfast is included.", "Yes. Breakfast is included. No, only breakfast is included."),
        ("No, it does not.", "Yes, the pool is open on Mondays."),
        # a "no" that denies nothing
        ("The prime minister lives at 10 Downing Street.", "The prime minister lives at No 10 Downing Street."),
        ("The first Bond film came out in 1962.", "The first Bond film Dr No came out in 1962."),
        ("Refunds take five days.", "Refunds do not take more than five days."),
        # a condition, or a negation without a "not"
        ("You can enter if you have no ticket.", "You can enter if you have a ticket."),
        ("Avoid letting the soil dry out.", "Don't let the soil dry out."),
        (
            "They have not gone beyond the last eight since 2010.",
            "They have failed to go beyond the last eight since 2010.",
        ),
        # too few words in common
        ("Pets are allowed in the cabins by the lake.", "Pets are not allowed in the restaurant."),
        ("It is not.", "It is."),
        ("", "It is not open."),
    ],
)
def test_what_is_no_plain_denial_is_none(claim: str, text: str) -> None:
    assert denied(claim, text) == ""


def test_a_denied_claim_is_never_supported_and_says_by_what(embedded: EmbeddedJudge) -> None:
    case = Case(
        "1", "Are pets allowed?", (Source("Pets are not allowed in the cabins."),), "Pets are allowed in the cabins."
    )
    record = next(iter(evaluate_sync([case], embedded, metrics=metrics_named(["groundedness"]))))
    known = record.steps["supported(claims(response), sources)"]
    assert isinstance(known, Verdicts)
    (verdict,) = known.best()
    assert (verdict.value, verdict.contradicted) == ("no", True)
    assert "a passage says otherwise: “Pets are not allowed in the cabins.”" in verdict.explanation
