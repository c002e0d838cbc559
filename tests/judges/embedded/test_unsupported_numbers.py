"""Numbers of a claim that nothing accounts for."""

import time

import pytest

from ragtriage.judges.embedded.unsupported_numbers import is_calculated, unsupported_numbers


@pytest.mark.parametrize(
    ("claim", "text", "foreign"),
    [
        ("It leaves at ten.", "The ferry leaves at nine.", ("10",)),
        ("The hotel has fifty rooms.", "The hotel has forty rooms.", ("50",)),
        ("Tickets cost 15 euros.", "Tickets cost 12 euros for adults and 8 for children.", ("15",)),
        ("It opened on 12 May 1901.", "It opened on 13 May 1901.", ("12",)),
        ("It opens at 10 pm.", "Open from 9:30.", ("10",)),
        ("In the 1990s it was sold.", "It was sold in 1987.", ("1990",)),
        # no words say that it was worked out, so what it can be worked out from is chance
        ("Users have 38 minutes.", "Users have 30 minutes, guests 8.", ("38",)),
        ("In 2014 the ship sank.", "It was built in 2009. Five people owned it.", ("2014",)),
        ("The limit is 60 days.", "The limit is 1 year.", ("60",)),
        ("The bonus is 500.", "The bonus is paid after 5 weeks.", ("500",)),
    ],
)
def test_an_altered_number_is_foreign(claim: str, text: str, foreign: tuple[str, ...]) -> None:
    assert unsupported_numbers(claim, (), [text]) == foreign


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("It takes 25 days.", "It takes twenty-five days."),
        ("The fee is 12.50.", "€12.5 each"),
        ("About 30 % agree.", "29.7 % of them agree."),
        ("It opens at 3 pm.", "Open from 15:00."),
        ("It lasts 90 minutes.", "It lasts 1.5 hours."),
        ("It holds 1,500 people.", "It holds 1.5 thousand people."),
        ("The warranty lasts 24 months.", "The warranty lasts two years."),
        ("Files of up to 2 GB can be sent.", "Files of up to 2048 MB can be sent."),
        ("In the 1990s it was sold.", "It was sold in 1994."),
    ],
)
def test_another_way_of_writing_is_accounted_for(claim: str, text: str) -> None:
    assert unsupported_numbers(claim, (), [text]) == ()


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Together they cost 20 euros.", "A ticket is 12 euros, a seat 8."),
        ("It is 1,550 more than before.", "11,300 in 2026, 9,750 in 2025."),
        ("Twelve at 846 apiece are 10,152.", "A locker is 846, and you need 12."),
        ("It put out 6,460: 2,180, 3,260 and 1,020.", "Early 2,180; late 3,260; night 1,020."),
        ("Prices rose by 25 percent.", "80 last year, 100 now"),
    ],
)
def test_one_step_of_arithmetic_is_accounted_for(claim: str, text: str) -> None:
    assert unsupported_numbers(claim, (), [text]) == ()


@pytest.mark.parametrize(
    "claim", ["Passage 3 says so.", "1. The fee is due.", "The first of the two applies.", "Follow steps 7 and 8."]
)
def test_what_counts_or_points_states_no_number(claim: str) -> None:
    assert unsupported_numbers(claim, (), ["The fee is due."]) == ()


def test_what_was_read_before_isnt_looked_for() -> None:
    assert unsupported_numbers("It costs 15 euros.", {"15"}, ["It is free."]) == ()


@pytest.mark.parametrize(
    ("claim", "text", "response"),
    [
        ("28 × 3/5 = 16.8", "28 days a year for 5 days a week, in your case 3", ""),
        ("So it is cheaper by 102 euros.", "184 a month for 36 months; 268 for 24 months and a fee of 90",
         "36 × 184 = 6,624 euros. 24 × 268 + 90 fee = 6,522 euros. So it is cheaper by 102 euros."),
        ("€260 in total", "Adult €100, child (6–12) €60", "2 adults × €100 = €200, 1 child (6–12) × €60 = €60"),
        ("It takes four months, with an extension of two six in all.", "four months; two more", ""),
        ("You're 8 credits short of the 60.", "You have 52 credits; 60 are required.", ""),
    ],
)  # fmt: skip
def test_a_right_calculation_that_is_written_out_is_accounted_for(claim: str, text: str, response: str) -> None:
    assert unsupported_numbers(claim, (), [text], response) == ()


@pytest.mark.parametrize(
    ("claim", "text", "response", "foreign"),
    [
        ("28 × 3/5 = 18.8", "28 days a year for 5 days a week, in your case 3", "", ("18.8",)),
        ("36 × 190 = 6,900 euros", "184 a month for 36 months", "", ("190", "6900")),
        ("There are 8 rooms on floor 60.", "52 rooms, 60 floors", "", ("8",)),
    ],
)
def test_a_wrong_one_or_one_of_made_up_numbers_is_not(
    claim: str, text: str, response: str, foreign: tuple[str, ...]
) -> None:
    assert unsupported_numbers(claim, (), [text], response) == foreign


@pytest.mark.parametrize("unit", ["1", "1,", "1 + ", "1 a-", "(1) "])
def test_time_grows_with_the_response(unit: str) -> None:
    begin = time.process_time()
    unsupported_numbers("It takes 99 days.", (), ["It takes 25 days."], unit * (20_000 // len(unit)))

    assert time.process_time() - begin < 20, "less than a second on an idle machine"


@pytest.mark.parametrize("claim", ["So 1 + 1 = " + "9" * 400 + " days", "9" * 5000 + ":30", "It costs " + "9" * 400])
def test_numbers_of_any_length_are_read(claim: str) -> None:
    assert unsupported_numbers(claim, (), ["It costs 15 euros."])


@pytest.mark.parametrize(
    ("claim", "texts", "response", "value"),
    [
        ("It is due by 20 March.", ("Within 14 days.", "Sent on 6 March."), "", True),
        ("You save $240.", ("$10 a month, $96 a year", "a team of 10"),
         "10 × $10 × 12 = $1,200; 10 × $96 = $960; so 1,200 − 960 = $240.", True),
        ("You save $250.", ("$10 a month, $96 a year", "a team of 10"),
         "10 × $10 × 12 = $1,200; 10 × $96 = $960; so 1,200 − 960 = $240.", False),
        ("It costs 10 euros.", ("It costs 10 euros.",), "2 × 5 = 10", False),
        ("It is due by 6 March.", ("Within 14 days.", "Sent on 6 March."), "", False),
    ],
)  # fmt: skip
def test_what_stands_nowhere_and_is_worked_out_is_derived(
    claim: str, texts: tuple[str, ...], response: str, value: bool
) -> None:
    assert is_calculated(claim, texts, response) is value


def test_totals_over_long_tables_take_little_time() -> None:
    claim = "In total " + " ".join(f"{n}.123" for n in range(20))
    begin = time.process_time()
    unsupported_numbers(claim, (), [" ".join(str(100 + 3 * n) for n in range(3000)), "q"], "x")

    assert time.process_time() - begin < 20, "a second or two on an idle machine"
