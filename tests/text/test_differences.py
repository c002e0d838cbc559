"""What a claim tells otherwise than a text that says nearly the same, and where nothing may be told."""

import pytest

from ragtriage.text.differences import differences, likely_place


@pytest.mark.parametrize(
    ("claim", "text", "told"),
    [
        ("Cancelling costs a fee of £53.", "Cancelling a policy costs a fee of £35.", "£53 ≠ £35"),
        ("You have 60 days to return the parcel.", "You have 28 days to return a parcel.", "60 days ≠ 28 days"),
        ("Payments abroad cost 2.25 percent.", "Payments made abroad cost 1.75 %.", "2.25 percent ≠ 1.75 %"),
        (
            "The permit was issued on 9 March 2024.",
            "The permit was issued on 9 April 2024.",
            "9 March 2024 ≠ 9 April 2024",
        ),
        ("The dam was opened in 1986.", "The dam was opened in 1968.", "1986 ≠ 1968"),
        ("The race is run in October.", "The race is run every year in September.", "October ≠ September"),
        ("The pool is closed on Tuesdays.", "The pool is closed on Mondays.", "Tuesdays ≠ Mondays"),
        ("The office closes at 6 pm on Fridays.", "The office closes at 17:00 on Fridays.", "6 pm ≠ 17:00"),
        (
            "The audit found 27 open issues.",
            "The audit found twenty-three open issues.",
            "27 open issues ≠ twenty-three open issues",
        ),
        ("Revenue rose to 1.92 billion euros.", "Revenue rose to €1.62 billion.", "1.92 billion euros ≠ €1.62 billion"),
        ("The tank of the pump holds two litres.", "The tank of the pump holds 2.6 l.", "two litres ≠ 2.6 l"),
        (
            "A grey bin of 240 litres costs 295 francs.",
            "A grey bin of 120 litres costs 148 francs, one of 240 litres 265 francs.",
            "295 francs ≠ 265 francs",
        ),
        (
            "Repairs are carried out by Brunner Technik in Olten.",
            "Repairs are carried out by Rüegg Service in Olten.",
            "Brunner Technik ≠ Rüegg Service",
        ),
        ("Complaints go to the ombudsman in Cork.", "Complaints go to the ombudsman in Dublin.", "Cork ≠ Dublin"),
        ("You must apply before 1 May.", "You must apply after 1 May.", "before ≠ after"),
        ("Photography is prohibited in Room 7.", "Photography is permitted in Room 7.", "prohibited ≠ permitted"),
        ("It must reach us at most 45 days ahead.", "It must reach us at least 45 days ahead.", "at most ≠ at least"),
        ("The costs are borne by the employer.", "The costs are borne by the employee.", "employer ≠ employee"),
        ("Tuesday and Wednesday are office days.", "Tuesday and Thursday are office days.", "Wednesday ≠ Thursday"),
        (
            "The stamp was sold for 7 dollars on 3 June.",
            "The stamp was sold for 9 dollars on 3 July.",
            "7 dollars ≠ 9 dollars, 3 June ≠ 3 July",
        ),
    ],
)
def test_the_detail_that_differs_is_told_with_its_counterpart(claim: str, text: str, told: str) -> None:
    found = differences(claim, text)

    assert ", ".join(map(str, found)) == told
    assert all(text[slice(*one.place)] == one.told for one in found)
    assert differences(text, text) == differences(claim, claim) == ()


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        # the same in another form
        ("A ticket costs 1,200 euros.", "A ticket costs €1200.00."),
        ("You have two weeks to return the parcel.", "You have 14 days to return the parcel."),
        ("It closes at 5 pm on Fridays.", "It closes at 17:00 on Fridays."),
        ("The terms are valid from March 2024.", "The terms are valid from 9 March 2024."),
        ("The folding chair weighs 2 kg.", "The folding chair weighs 2,000 g."),
        ("The city museum is open on Wednesdays.", "The city museum is open from Monday to Friday."),
        ("The city museum is open on Saturdays.", "The city museum is open daily."),
        ("The film of the crossing lasts about 140 minutes.", "The film of the crossing lasts 143 minutes."),
        # within a bound
        ("A trip of 20 days is insured.", "A trip of at least 14 days is insured."),
        ("Parcels of 3 kg are accepted.", "Parcels of up to 5 kg are accepted."),
        # worked out
        ("Tickets to the gallery cost 24 euros in total.", "Tickets to the gallery cost 8 euros."),
        ("The old Riserva costs 7 francs more.", "The old Riserva costs 31 francs."),
        ("Juniors pay a fee of 50 euros.", "Juniors pay 20 euros less than the fee of 70 euros."),
        ("Driving the van costs 19 euros.", "Driving the van costs 8 euros a day."),
        # another thing
        (
            "Her single to Fenholm would cost €10.65.",
            "A ten-trip booklet costs €79.00 to Ostrey and €119.00 to Fenholm.",
        ),
        ("Premium costs 49.90 pounds a month.", "Basic costs 29.90 pounds a month; Premium costs 44.90."),
        ("The museum was founded by Ida Rath.", "The trams are run by Tom Beck."),
        ("The canal was opened on 2 July 1803.", "The canal trust was founded in 1969."),
        # no counterpart of the kind, or several
        ("The deposit of the tenant is 30 euros.", "The deposit of the tenant is kept for 20 days."),
        ("Parking a car costs 20 euros.", "Parking a car costs 12 euros or 15 euros."),
        ("The rental of a bike costs 9 euros.", "Does the rental of a bike cost 7 euros?"),
        # two negations
        ("The city museum is not open in winter.", "The city museum is closed in winter."),
    ],
)
def test_nothing_is_told_where_it_is_not_plain_that_something_differs(claim: str, text: str) -> None:
    assert differences(claim, text) == ()


@pytest.mark.parametrize(
    ("claim", "text", "told"),
    [
        ("Replaying messages isn't safe.", "Replaying messages is safe.", "isn't safe ≠ is safe"),
        ("The tax is included in the price.", "The tax is not included in the price.", "is included ≠ is not included"),
        ("Phones may not be used here.", "Phones may be used here.", "may not be used ≠ may be used"),
        ("The bike can be cleaned with it.", "Do not clean the bike with it.", "can be cleaned ≠ Do not clean"),
    ],
)
def test_a_denial_is_told_where_a_text_is_known_to_contradict(claim: str, text: str, told: str) -> None:
    assert ", ".join(map(str, differences(claim, text, contradicts=True))) == told
    assert differences(claim, text) == ()


def test_a_value_of_the_same_kind_may_be_looked_at_where_nothing_is_told() -> None:
    text = "Bicycles cost £3 and are carried on deck; cars up to 5 metres £68, motorhomes £95."

    assert differences("A car of 5 metres pays £78 for the return.", text) == ()
    place = likely_place("Cars of 5 metres pay £78 for the return.", text)
    assert place
    assert text[slice(*place)] == "£68"
    assert likely_place("Cars are carried for £3.", text) is None
