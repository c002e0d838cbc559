"""Values of a claim that the evidence writes otherwise, or tells otherwise; rows of tables; results of queries."""

import asyncio

import pytest

from ragtriage import Verdict
from ragtriage.core.questions import supported
from ragtriage.core.verdicts import NOT_SUPPORTED
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.embedded.readings import read
from ragtriage.judges.embedded.table_rows import (
    OTHER,
    UNSURE,
    in_told_notation,
    named_result,
    other_value,
    row_with_other_value,
)

ROOMS = "| Room | Seats | Price per day |\n|---|---|---|\n| Alder | 40 | 120 € |\n| Birch | 25 | 85 € |"
GOALS = " name | team   | goals \n------+--------+-------\n Ada  | Rovers |    17\n Brit | United |    11"
MARKS = " swimmer  crawl  diving\n      12      B       C\n      13      C       B\n      14      A       C"
SHIPS = "port,month,ships\nSkell,May,31\nSkell,June,44\nSelby,June,52"
BERTHS = "[('north quay', 7), ('south quay', 12)]"
SALES = "[('2024-Q1', 'north', 1800), ('2024-Q1', 'south', 950), ('2024-Q2', 'north', 2100)]"


@pytest.mark.parametrize(
    ("claim", "text", "written"),
    [
        ("The fair opens on 4 March 2025.", "It opens on 2025-03-04.", "The fair opens on 2025-03-04."),
        ("The ferry leaves at 6:30 pm.", "The ferry leaves at 18:30.", "The ferry leaves at 18:30."),
        ("It takes an hour and a half.", "It takes 90 minutes.", "It takes 90 minutes."),
        ("A crate holds 24 eggs.", "A crate holds two dozen eggs.", "A crate holds two dozen eggs."),
        ("Up to 8 people may ride.", "It carries no more than 8 people.", "no more than 8 people may ride."),
        ("The film runs for about two hours.", "It runs for 118 minutes.", "The film runs for 118 minutes."),
        # as it stands, or another value
        ("An 8-day pass is valid in May.", "The pass of 8 days is valid.", "An 8-day pass is valid in May."),
        ("It closes at 5 pm.", "It closes at 5 pm, on Fridays at 17:00.", "It closes at 5 pm."),
        ("It weighs 42 grams.", "It weighs 42 kg.", "It weighs 42 grams."),
        ("Everybody may come.", "It weighs 42 kg.", "Everybody may come."),
    ],
)
def test_a_value_is_written_as_in_the_evidence(claim: str, text: str, written: str) -> None:
    assert in_told_notation(claim, [text]) == written


@pytest.mark.parametrize(
    ("claim", "text", "chance"),
    [
        ("The boiler weighs 42 grams.", "The Hollin boiler weighs 42 kg.", OTHER),
        ("The filter is replaced every 6 weeks.", "The filter is replaced every 6 months.", OTHER),
        ("The fine for parking here is 60 dollars.", "The fine for parking here is 60 euros.", OTHER),
        ("The hall holds at least 120 people.", "The hall of the canteen holds at most 120 people.", OTHER),
        ("The hall holds at least 120 people.", "The hall of the canteen holds 120 people.", UNSURE),
        ("The dam was finished in 1987.", "The Ardal dam was finished in 1978.", OTHER),
        ("The sale starts on 17 March.", "The spring sale starts on 3 March and ends on 17 March.", OTHER),
        ("The pharmacy closes at 10 am.", "The pharmacy opens at 10 am and closes at 1 pm.", OTHER),
        ("Tickets can be returned within 30 days.", "Tickets can be returned within 14 days. Shoes: 30 days.", OTHER),
        ("The committee was founded in 1912.", "The committee was founded in 1921. A war began in 1912.", OTHER),
    ],
)
def test_another_value_of_the_same_thing_is_found(claim: str, text: str, chance: float) -> None:
    found = other_value(claim, read(text).sentences)

    assert found
    assert found.chance == chance


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The fair opens on 3 April 2025.", "The fair opens on 03/04/2025."),
        ("The sale ends on 17 March.", "The spring sale starts on 3 March and ends on 17 March."),
        ("The pharmacy is open until 1 pm.", "The pharmacy opens at 10 am and closes at 1 pm."),
        ("The concert is on 4 March 2025.", "The concert is on 03/04/2025."),
        ("The fair is open on 3 March.", "The fair is open from 1 to 5 March."),
        ("The weight of a man is 80 kg.", "Is the weight of a man 90 kg?"),
        ("Visitors are let in at 3 pm.", "Visitors are let in from 14:00 to 19:00."),
        ("Delivery of a parcel takes 4 days.", "Delivery of a parcel takes 3 to 5 days."),
        ("Two tickets to the zoo cost 28 euros.", "A ticket to the zoo costs 14 euros."),
        ("A child's ticket to the zoo costs 7 euros.", "Tickets to the zoo cost 14 euros, children half."),
        ("The county paid 40% of the bill.", "The state paid 60 percent of the bill, the county the rest."),
        ("The centre isn't open on Wednesdays.", "The centre is open on Tuesdays and Fridays."),
        ("The Basic plan has 5 projects.", "The Pro plan has 50 projects. On the Basic plan there are 5 projects."),
        ("Parking a car costs 20 euros.", "Parking a car costs 12 euros or 15 euros."),
        ("The hall seats 120 people.", "The hall seats 90 chairs."),
        ("The cup was won in 2019.", "The cup was won this year, after the defeat of 2018."),
    ],
)
def test_what_may_be_right_beside_it_is_no_other_value(claim: str, text: str) -> None:
    assert other_value(claim, read(text).sentences) is None


@pytest.mark.parametrize(
    ("claim", "table", "row"),
    [
        ("Room Birch costs 120 € per day.", ROOMS, "Room: Birch; Seats: 25; Price per day: 85 €"),
        ("The Birch room has 30 seats.", ROOMS, "Room: Birch; Seats: 25; Price per day: 85 €"),
        ("Brit scored 17 goals.", GOALS, "name: Brit; team: United; goals: 11"),
        ("Brit plays for Rovers.", GOALS, "name: Brit; team: United; goals: 11"),
        ("In the south they sold 1800 in 2024-Q1.", SALES, "2024-Q1; south; 950"),
        ("Brit scored the most goals, 11.", GOALS, "name: Ada; team: Rovers; goals: 17"),
        ("Ada has the fewest goals.", GOALS, "name: Brit; team: United; goals: 11"),
        ("52 ships called at Skell in June.", SHIPS, "port: Skell; month: June; ships: 44"),
        ("Swimmer 13 has a B in crawl.", MARKS, "swimmer: 13; crawl: C; diving: B"),
    ],
)
def test_a_value_of_another_row_is_found(claim: str, table: str, row: str) -> None:
    assert row_with_other_value(claim, [s.text for s in read(table).sentences]) == row


@pytest.mark.parametrize(
    ("claim", "table"),
    [
        ("Room Birch costs 85 € per day.", ROOMS),
        ("Room Birch costs EUR 85 and seats 25 people.", ROOMS),
        ("Alder has 40 seats and Birch has 25.", ROOMS),
        ("Birch costs 35 € less than 120 €.", ROOMS),
        ("In total there are 65 seats.", ROOMS),
        ("Brit scored more than 10 goals.", GOALS),
        ("Brit and Ada play for different teams.", GOALS),
        ("The Rovers have 17 goals.", GOALS),
        ("In the south they sold 950 in 2024-Q1.", SALES),
        ("Birch is closed for 2 weeks.", ROOMS),
        ("Ada scored the most goals.", GOALS),
        ("Brit scored the most goals of United.", GOALS),
        ("Birch has at least 20 seats.", ROOMS),
        ("44 ships called at Skell in June.", SHIPS),
        ("Swimmer 13 has a B in diving, a C in crawl.", MARKS),
        ("Swimmer 14 has an A in crawl.", MARKS),
    ],
)
def test_the_own_row_several_rows_and_sums_are_left_alone(claim: str, table: str) -> None:
    assert row_with_other_value(claim, [s.text for s in read(table).sentences]) == ""


@pytest.mark.parametrize(
    ("text", "question", "told"),
    [
        (
            "[('Skell', 410), ('Selby', 388)]",
            "Which depot has most pallets?",
            "Which depot has most pallets: Skell; 410",
        ),
        ("[('Ines Falk',)]", "Who teaches welding?", "Who teaches welding: Ines Falk"),
        ("[('Skell', 410), ('Selby', 388)]", "Who founded the canteen?", "[('Skell', 410)"),
        ("[('Ines Falk',)]", "How many hours does it take?", "[('Ines Falk'"),
        ("The depot has 410 pallets [1].", "How many pallets?", "The depot"),
    ],
)
def test_the_result_of_a_query_is_read_with_the_question(text: str, question: str, told: str) -> None:
    assert named_result(text, question).removeprefix("- ").startswith(told)


@pytest.mark.parametrize(
    ("query", "source", "right", "wrong"),
    [
        ("When does it start?", "The regatta starts on 2026-10-12.", "12 October 2026", "10 December 2026"),
        ("How long?", "A full charge of the regatta boat takes 90 minutes.", "an hour and a half", "90 hours"),
        ("What does Birch cost?", ROOMS, "85 €", "120 €"),
    ],
)
def test_verdicts_hang_on_values(embedded: EmbeddedJudge, query: str, source: str, right: str, wrong: str) -> None:
    begins = {"W": "The regatta starts on {}.", "H": "A full charge of the boat takes {}."}
    claim = "Room Birch costs {} per day." if source == ROOMS else begins[query[0]]

    async def ask() -> dict[int, Verdict]:
        questions = [supported(claim.format(value), [source], query, claim) for value in (right, wrong)]
        return {at: answer async for at, answer in embedded.ask(questions) if isinstance(answer, Verdict)}

    found = asyncio.run(ask())

    assert (found[0].chance or 0) >= 0.8
    assert (found[1].chance or 1) <= NOT_SUPPORTED
    assert found[1].contradicted


def test_rows_of_a_result_without_names_of_columns_are_told_apart(embedded: EmbeddedJudge) -> None:
    query = "How many berths does the south quay have?"
    claims = [f"The south quay has {number} berths." for number in (12, 7)]

    async def ask() -> dict[int, Verdict]:
        questions = [supported(claim, [BERTHS], query, claim) for claim in claims]
        return {at: answer async for at, answer in embedded.ask(questions) if isinstance(answer, Verdict)}

    found = asyncio.run(ask())

    assert [found[at].value for at in range(2)] == ["yes", "no"]
