"""Sources that contradict each other about what is asked are found and quoted; others aren't."""

import pytest

from ragtriage import (
    RULES,
    Case,
    Component,
    FakeJudge,
    Source,
    Verdict,
    diagnose,
    evaluate_sync,
    metrics_named,
    needs_of,
    thresholds_with,
)
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import Answer
from ragtriage.diagnosis.findings import Finding

DISAGREE = [
    (
        "How long is the warranty on the Brandt kettle?",
        "The Brandt kettle comes with a warranty of two years.",
        "The warranty of the Brandt kettle is three years.",
    ),
    (
        "What does a day ticket for the Lido Park cost?",
        "A day ticket for the Lido Park costs 12 euros.",
        "Price list: a day ticket for the Lido Park costs 15 euros.",
    ),
    (
        "Are dogs allowed on the Vale beach?",
        "Dogs are allowed on the Vale beach.",
        "Dogs are not allowed on the Vale beach.",
    ),
    (
        "When does the Larkhill library close on Fridays?",
        "The Larkhill library closes at 18:00 on Fridays.",
        "On Fridays the Larkhill library closes at 20:00.",
    ),
    (
        "How many vacation days do employees of Sorrel get?",
        "Employees of Sorrel get 28 days of vacation a year.",
        "Handbook: employees of Sorrel get 30 days of vacation a year.",
    ),
    (
        "Is the Tolland pool open on public holidays?",
        "The Tolland pool is open on public holidays.",
        "The Tolland pool is closed on public holidays.",
    ),
    (
        "What is the maximum load of the Titan shelf?",
        "Maximum load of the Titan shelf: 120 kg",
        "The Titan shelf carries a load of 100 kg at most.",
    ),
    (
        "How much notice must tenants of Almira Housing give?",
        "Tenants of Almira Housing must give three months' notice.",
        "Tenants of Almira Housing must give one month's notice.",
    ),
    (
        "Is registration required for the Orbis workshop?",
        "Registration is required for the Orbis workshop.",
        "Registration is optional for the Orbis workshop.",
    ),
    (
        "When was the Merrin bridge built?",
        "The Merrin bridge was built in 1931.",
        "The Merrin bridge was built in 1936.",
    ),
    (
        "What is the deductible of the Aurora household policy?",
        "The Aurora household policy has a deductible of 200 euros.",
        "In the Aurora household policy the deductible is 300 euros.",
    ),
    (
        "Can I pay by card at the Ashby market?",
        "You can pay by card at the Ashby market.",
        "You cannot pay by card at the Ashby market.",
    ),
    (
        "At what temperature should Ferrolin be stored?",
        "Ferrolin should be stored at 25 degrees.",
        "Leaflet 2022: Ferrolin should be stored at 8 degrees.",
    ),
    (
        "How often is the Kelda boiler serviced?",
        "The Kelda boiler is serviced every 12 months.",
        "The Kelda boiler is serviced every 24 months.",
    ),
    (
        "What is the baggage limit of Norrin Air?",
        "Norrin Air, baggage rules 2023: each passenger may check one bag of up to 23 kg.",
        "Norrin Air, information for passengers: each passenger may check one bag of up to 20 kg.",
    ),
    (
        "Is the sauna of the Marrow pool open in August?",
        "The sauna of the Marrow pool is open all year round.",
        "Notice: the sauna of the Marrow pool is closed in August for repairs.",
    ),
]
AGREE = [
    ("What is the fee for the pool?", "In 2020 the fee for the pool was 5 euros.", "The fee for the pool is 6 euros."),
    (
        "What did a day ticket for the Lido Park cost?",
        "In 2023 a day ticket for the Lido Park cost 12 euros.",
        "In 2024 a day ticket for the Lido Park cost 15 euros.",
    ),
    (
        "What does a ticket for the Lido Park cost?",
        "A ticket for adults costs 12 euros at the Lido Park.",
        "A ticket for children costs 6 euros at the Lido Park.",
    ),
    (
        "How long may cars and lorries stand in the Quarry Street yard?",
        "In the Quarry Street yard cars may stand for 3 hours.",
        "In the Quarry Street yard lorries may stand for 1 hour.",
    ),
    ("How much does the Alpha drill weigh?", "The Alpha drill weighs 2 kg.", "The Beta drill weighs 3 kg."),
    (
        "When does the library close?",
        "The library in Northgate closes at 18:00.",
        "The library in Millside closes at 20:00.",
    ),
    ("How long is the warranty?", "The warranty on kettles is two years.", "The warranty on batteries is six months."),
    (
        "Are dogs allowed in the hotel?",
        "Dogs are allowed in the hotel.",
        "Dogs are not allowed in the restaurant of the hotel.",
    ),
    (
        "What is the baggage limit of Norrin Air?",
        "Economy class: each passenger may check one bag of up to 20 kg.",
        "Business class: each passenger may check one bag of up to 30 kg.",
    ),
    ("How long does delivery take?", "Delivery takes at least two days.", "Delivery takes at most five days."),
    ("What is the weight of the Ferro drill?", "The Ferro drill weighs 1.6 kg.", "The Ferro drill weighs 1600 g."),
    (
        "When does the box office open?",
        "The box office opens at 10:00 on Tuesdays.",
        "The box office opens at 14:00 on Sundays.",
    ),
    ("Is the sauna open?", "The sauna is open in winter.", "The sauna is closed in summer."),
    ("How much is the fee?", "The fee for members is 20 euros.", "The fee is 35 euros."),
    (
        "How many employees does Quarrel have?",
        "Quarrel has 1,200 employees.",
        "Quarrel has about 1,200 employees, of whom 300 work abroad.",
    ),
    (
        "Does the tariff include roaming?",
        "Roaming in the EU is included in the tariff.",
        "Roaming outside the EU is not included in the tariff.",
    ),
    (
        "What was revenue?",
        "Revenue was 5 million euros in the first quarter.",
        "Revenue was 7 million euros in the second quarter.",
    ),
    ("Can interns get a parking space?", "Employees can get a parking space.", "Interns cannot get a parking space."),
    ("How long may I borrow books?", "Books may be borrowed for four weeks.", "Films may be borrowed for one week."),
    ("What is the dose of Ferrolin?", "Adults take 20 ml of Ferrolin a day.", "Children take 10 ml of Ferrolin a day."),
    ("When does it begin?", "Begins: 6 October", "Begins: 20 October"),
    (
        "Which institution does the 2017 Texas Tech team represent?",
        "The 2017 Texas Tech team represents the university in the 2017 season.",
        "The 2016 Texas Tech team represents the university in the 2016 season.",
    ),
    (
        "Can I request a claim for family leave benefits?",
        "It is not necessary to request a claim for family leave benefits.",
        "Claim for family leave benefits",
    ),
]


def findings(query: str, sources: list[str], response: str = "Here you are.") -> dict[str, Finding]:
    """What is found where a judge says yes to all, but that the response declines."""

    def answer(question: Question) -> Answer:
        if question.kind in DECOMPOSITIONS:
            return (Component(question.subject, (0, len(question.subject))),)
        return Verdict("no" if question.kind == "declines" or "weather" in "".join(question.evidence) else "yes")

    case = Case("c", query, tuple(map(Source, sources)), response)
    (record,) = evaluate_sync([case], FakeJudge(answer), metrics=metrics_named(["thelma"]), also=needs_of(RULES))
    return {finding.rule: finding for finding in diagnose(record, thresholds_with({}))}


@pytest.mark.parametrize(("query", "one", "other"), DISAGREE)
def test_two_values_or_a_denial_are_found_and_both_sentences_quoted(query: str, one: str, other: str) -> None:
    found = findings(query, [one, "The weather was fine.", f"Welcome. {other}"])["sources_disagree"]

    assert (found.kind, found.component, found.sure) == ("quality", "source text", False)
    assert [(evidence.source, evidence.text) for evidence in found.evidence] == [(0, one), (2, other)]
    first, second = found.evidence
    assert first.explanation.startswith("source 3 says otherwise: ")
    assert second.explanation.startswith("source 1 says otherwise: ")
    assert first.fault == second.fault == "contradicted by another source"
    assert second.span == (9, 9 + len(other))


@pytest.mark.parametrize(("query", "one", "other"), AGREE)
def test_different_things_years_groups_places_and_notations_do_not_disagree(query: str, one: str, other: str) -> None:
    assert "sources_disagree" not in findings(query, [one, other])
    assert "sources_disagree" not in findings(query, [other, one])


def test_a_source_that_does_not_answer_and_one_text_given_twice_contradict_nothing() -> None:
    query, one, other = DISAGREE[0]

    assert "sources_disagree" not in findings(query, [one, f"{other} The weather was fine."])
    assert "sources_disagree" not in findings(query, [one, one])
    assert "sources_disagree" not in findings(query, [f"{one} {other}"])
    assert "sources_disagree" not in findings(query, [one, f"{other} {one}"])
