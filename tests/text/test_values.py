"""Values by type: what is read, and whether two of them say the same."""

from decimal import Decimal

import pytest

from ragtriage.text.value_relations import relation
from ragtriage.text.values import values


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # dates and times
        ("on 2025-03-04", "on 4 March 2025"),
        ("on March 4th, 2025", "on the 4th of March 2025"),
        ("on 04.03.2025", "on Mar. 4, 2025"),
        ("on 2025/03/04", "on 4 March 2025"),
        ("on 03/04/2025", "on 4 March 2025"),
        ("on 03/04/2025", "on 3 April 2025"),
        ("on Sept. 9, 2024", "on 2024-09-09"),
        ("at 18:30", "at 6:30 pm"),
        ("at 18:30", "at half past six"),
        ("at 19:15", "at quarter past seven in the evening"),
        ("at 06:50", "at ten to seven."),
        ("at 00:30", "at 12:30 am"),
        ("at noon", "at 12 pm"),
        ("at seven o'clock in the morning", "at 07:00"),
        ("at a quarter to midnight", "at 23:45"),
        ("at ten past noon", "at 12:10 pm"),
        ("at half past 6pm", "at 18:30"),
        ("on 9 May 2021", "2021-05-09T23:10:00Z door: opened"),
        ("no later than 9 May", "by 9 May at the latest"),
        # durations
        ("90 minutes", "1.5 hours"),
        ("takes 90 minutes", "takes an hour and a half"),
        ("90 minutes", "1 ½ hours"),
        ("two and a half hours", "2 hours and 30 minutes"),
        ("30 minutes", "half an hour"),
        ("45 minutes", "three quarters of an hour"),
        ("two weeks", "14 days"),
        ("24 months", "2 years"),
        # money
        ("1,200 €", "EUR 1200"),
        ("1.200,00 €", "€1,200"),
        ("1.200 €", "1 200 €"),
        ("$1.2m", "1,200,000 dollars"),
        ("£5", "5 pounds"),
        # shares, counts and measures
        ("5 %", "five percent"),
        ("a share of 0.05", "5 per cent"),
        ("two dozen eggs", "24 eggs"),
        ("half a million people", "500,000 people"),
        ("42 kg", "42,000 g"),
        ("It weighs 10 pounds", "160 ounces"),
        ("7.5 km", "7,500 metres"),
        ("1.200 kg", "1,200 g"),
        ("30 °C", "86 °F"),
        ("3 GB", "3,000 MB"),
        # bounds
        ("at most 120 people", "up to 120 people"),
        ("no more than 120 people", "a maximum of 120 people"),
        ("at least 21 years", "21 years or older"),
        ("at least 21 years", "≥ 21 years"),
        ("at most 21 years", "<= 21 years"),
        ("at least 21 years", "21+ years"),
        ("minus 5 °C", "-5 °C"),
        ("at least 21 years", "mustn't be younger than 21 years"),
        ("not exceed 5 kg", "at most 5,000 g"),
        ("over 20 kg", "more than 20 kg"),
        # rounded where it says so
        ("about two hours", "118 minutes"),
        ("nearly 150 members", "147 members"),
    ],
)  # fmt: skip
def test_the_same_in_another_notation(one: str, other: str) -> None:
    assert related(one, other) == "same"


@pytest.mark.parametrize(
    ("claimed", "told"),
    [
        ("on 3 April 2025", "on 2025-03-04"),
        ("on 5 March 2025", "on 03/04/2025"),
        ("in 1987", "in 1978"),
        ("at 8:30 pm", "at 18:30"),
        ("at half past midnight", "at midnight"),
        ("no earlier than 9 May", "no later than 9 May"),
        ("at 8 pm at the earliest", "not later than 8 pm"),
        ("no later than 12 May", "no later than 9 May"),
        ("on Tuesday", "on Thursdays"),
        ("42 grams", "42 kg"),
        ("6 weeks", "6 months"),
        ("60 dollars", "60 euros"),
        ("3 acres", "3 hectares"),
        ("80 m", "80 cm"),
        ("50 TB", "50 GB"),
        ("at least 120 people", "at most 120 people"),
        ("more than 512 MB", "less than 512 MB"),
        ("at least 4 hours", "at least 6 hours"),
        ("21 days", "up to 14 days"),
        ("12 days", "5 to 10 days"),
        ("on 8 March", "from 1 to 5 March"),
        ("about 42 grams", "42 kg"),
        ("5 °C", "minus 5 °C"),
        ("at most 21 years", ">= 21 years"),
        ("7 orders", "9 orders"),
    ],
)
def test_another_value(claimed: str, told: str) -> None:
    assert related(claimed, told) == "other"


@pytest.mark.parametrize(
    ("claimed", "told", "relation"),
    [
        # both may be true
        ("in May 1978", "on 9 May 1978", "within"),
        ("at 3 pm", "from 14:00 to 19:00", "within"),
        ("4 days", "3 to 5 days", "within"),
        ("on 3 March", "from 1 to 5 March", "within"),
        ("on 3 March 2025", "on March 1–5, 2025", "within"),
        ("3 kg", "up to 5 kg", "within"),
        ("within a month", "within 30 days", "within"),
        ("more than 100 people", "120 people", "within"),
        ("120 people", "at most 120 people", "within"),
        # a bound that isn't told, a rounding too coarse
        ("at least 120 people", "120 people", "unsure"),
        ("about 200 people", "230 people", "unsure"),
        # another thing
        ("120 people", "90 seats", ""),
        ("12 euros", "14 dollars", ""),
        ("14 days", "10 working days", ""),
        ("5 kg", "5 km", ""),
    ],
)
def test_what_may_be_true_beside_it_and_what_cant_be_compared(claimed: str, told: str, relation: str) -> None:
    assert related(claimed, told) == relation


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from 10 to 12 euros", ["10 euros", "12 euros"]),
        ("ten to twelve people", ["ten people", "twelve people"]),
        ("room 12, the 2nd floor, in version 5.4.1", []),
        ("the 2018–19 season", []),
        ("You may come twice a week.", []),
        ("Tuesday, 4 March, at 9 am", ["Tuesday", "4 March", "9 am"]),
    ],
)
def test_what_is_a_value(text: str, found: list[str]) -> None:
    assert [one.text for one in values(text)] == found


def related(claimed: str, told: str) -> str:
    """The nearest relation that a claimed value has to those that are told."""
    found = {relation(one, other) for one in values(claimed) for other in values(told)}
    return next(name for name in ("same", "within", "unsure", "other", "") if name in found)


@pytest.mark.parametrize("dose", ["5 µg", "5 \N{GREEK SMALL LETTER MU}g", "5 ΜG"])  # people type all three
def test_a_unit_is_known_by_each_way_of_writing_its_letters(dose: str) -> None:
    (one,) = values(f"Take {dose} a day.")

    assert (one.kind, one.readings[0].value) == ("mass", Decimal("0.000005"))
