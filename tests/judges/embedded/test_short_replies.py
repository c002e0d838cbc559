"""Short replies: "In 1912." answers a question without a word of it."""

import asyncio

import pytest

from ragtriage.core import questions as ask
from ragtriage.core.case import Case, Source
from ragtriage.core.verdicts import Answer, Score, Verdict
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.embedded.claimed_text import asserted_text, is_short_reply
from ragtriage.metrics import metrics_named


@pytest.mark.parametrize(
    ("question", "claims"),
    [
        ("When did the footbridge reopen?", "March 4, 2021."),
        ("When did the footbridge reopen?", "In spring"),
        ("When is the harbour free of ice?", "Always."),
        ("When is the office closed?", "On Mondays"),
        ("How many vacation days do I get?", "Thirty days a year."),
        ("How long may I keep it?", "Until Friday"),
        ("Who approves travel?", "Your line manager."),
        ("Who wrote Middlemarch?", "George Eliot"),
        ("Where is the head office?", "10 Downing Street"),
        ("Is parking free on Sundays?", "Yes."),
        ("Is parking free on Sundays?", "Only after 6 p.m."),
        ("What command lists the branches?", "`git branch`"),
        ("Why was the flight cancelled?", "Fog."),
        ("Why does the lift stop?", "Because of dust on the rails, worn brakes and a sensor that goes blind in rain"),
        ("How many stations have a lift?", "Four of the seven: Quayside, Arsenal and two more.\nA fifth will follow."),
        ("Is it free, and since when?", "Yes, since 2019"),
    ],
)  # fmt: skip
def test_a_short_reply_answers(question: str, claims: str) -> None:
    assert is_short_reply(question, question, claims)


@pytest.mark.parametrize(
    ("question", "claims"),
    [
        ("Who approves travel?", "Travel is important."),
        ("When did the footbridge reopen?", "Near the old mill"),
        ("How many vacation days do I get?", "Berlin"),
        ("Who wrote Middlemarch?", "1871"),
        ("Where is the head office?", "30 days"),
        (
            "What is the deadline?",
            "The handbook was written by three teams that work in different places and time zones",
        ),
        ("What is the deadline?", "Overview\nThe office is open from nine to five."),
        ("What is the deadline?", ""),
        ("What is the deadline, and what is the address?", "Next week"),
    ],
)
def test_what_is_of_another_kind_or_a_sentence_of_its_own_is_left_to_the_models(question: str, claims: str) -> None:
    assert not is_short_reply(question, question, claims)


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("Yes.", "Is parking free?"),
        ("Yes, it is.", "Is parking free?"),
        ("No.", ""),
        ("No, not all of them.", ""),
        ("Yes, on Sundays", "Yes, on Sundays"),
        ("No parking", "No parking"),
        ("Right of way applies", "Right of way applies"),
    ],
)
def test_a_bare_yes_asserts_what_was_asked_and_a_bare_no_nothing(claim: str, said: str) -> None:
    assert asserted_text("Is parking free?", claim) == said


def test_a_bare_yes_to_several_questions_asserts_nothing() -> None:
    assert asserted_text("Is parking free? Is there a lift?", "Yes.") == ""


def test_short_answers_cover_what_was_asked_and_nobody_is_blamed_for_them(embedded: EmbeddedJudge) -> None:
    told = (
        "The footbridge over the Sill was closed in September 2020.",
        "It reopened to the public on 4 March 2021. Parking at the bridge is free on Sundays.",
    )
    cases = [
        Case("date", "When did the footbridge reopen?", tuple(map(Source, told)), "March 4, 2021."),
        Case("yes", "Is parking at the bridge free on Sundays?", tuple(map(Source, told)), "Yes."),
    ]

    records = evaluate_sync(cases, embedded, metrics=metrics_named(["response_query_coverage", "groundedness"]))

    for record in records:
        for name in ("response_query_coverage", "groundedness"):
            outcome = record.outcomes[name]
            assert isinstance(outcome, Score)
            assert [part.good for part in outcome.parts] == [True], (record.case.id, name)
            assert outcome.value > 0.8, (record.case.id, name)


def test_a_yes_or_no_is_judged_as_what_it_states(embedded: EmbeddedJudge) -> None:
    free, closed = "Parking is free on Sundays.", "The library is closed on Sundays."
    lamp = "The Hollin lamp doesn't come with a bulb. It can be dimmed."
    told = [
        ("No.", "Is parking free on Sundays?", free, "no"),
        ("Yes, it is.", "Is parking free on Sundays?", free, "yes"),
        ("No, it isn't.", "Is the library open on Sundays?", closed, "yes"),
        ("Yes.", "Is the library open on Sundays?", closed, "no"),
        ("No.", "And on Sundays?", free, "unknown"),  # nobody can tell what it denies
        ("Yes.", "Can the Hollin lamp be dimmed?", lamp, "yes"),
        ("No.", "Can the Hollin lamp be dimmed?", lamp, "no"),
    ]
    questions = [ask.supported(said, [source], query=query, context=said) for said, query, source, _ in told]

    async def answers() -> dict[int, Answer]:
        return {place: answer async for place, answer in embedded.ask(questions)}

    found = asyncio.run(answers())
    values = [one.value for place in range(len(told)) if isinstance(one := found[place], Verdict)]
    assert values == [value for *_, value in told]


def test_a_made_up_item_of_a_list_is_not_supported(embedded: EmbeddedJudge) -> None:
    lead, source = "The hotel offers:", "The hotel offers a sauna, a reading room and free bicycles."
    items = ["a sauna", "a rooftop pool", "a reading room", "free bicycles"]
    response = f"{lead}\n" + "\n".join(f"- {item}" for item in items)
    questions = [
        ask.supported(f"{lead} {item}", [source], query="What is offered?", context=response) for item in items
    ]

    async def answers() -> dict[int, Answer]:
        return {place: answer async for place, answer in embedded.ask(questions)}

    found = asyncio.run(answers())
    values = [one.value for place in range(len(items)) if isinstance(one := found[place], Verdict)]
    assert values == ["yes", "no", "yes", "yes"]


def test_an_item_beside_others_that_one_sentence_lists_is_surely_made_up(embedded: EmbeddedJudge) -> None:
    source = "Kit list of the Skell ferry crew: a life vest, a signal lamp and a hand pump. Ropes lie in the hold."
    items = ["a life vest", "a signal lamp", "a portable heater"]
    response = "Here's what to carry on the ferry:\n" + "\n".join(f"{n}. {one}" for n, one in enumerate(items, 1))
    questions = [
        ask.supported(f"To carry on the ferry: {item}", [source], query="What do crews carry?", context=response)
        for item in items
    ]

    async def answers() -> dict[int, Answer]:
        return {place: answer async for place, answer in embedded.ask(questions)}

    found = asyncio.run(answers())
    verdicts = [one for place in range(len(items)) if isinstance(one := found[place], Verdict)]
    assert [one.value for one in verdicts] == ["yes", "yes", "no"]
    assert (verdicts[2].chance or 1.0) < 0.1


def test_a_number_of_an_item_counts_in_words_too(embedded: EmbeddedJudge) -> None:
    source = "Members of the rowing club pay six euros for a boat, guests pay nine euros."
    response = "| Boat: members: six euros |\n| Boat: guests: eighty euros |\n"
    claims = ["Boat: members: six euros", "Boat: guests: eighty euros"]
    questions = [ask.supported(one, [source], query="What does a boat cost?", context=response) for one in claims]

    async def answers() -> dict[int, Answer]:
        return {place: answer async for place, answer in embedded.ask(questions)}

    found = asyncio.run(answers())
    assert [one.value for place in range(2) if isinstance(one := found[place], Verdict)] == ["yes", "no"]


def test_unknown_is_an_answer_where_a_source_says_so(embedded: EmbeddedJudge) -> None:
    told = (Source("The tapestry was woven around 1510. Its weaver is unknown."), Source("It hangs in the hall."))
    cases = [Case("weaver", "Who wove the tapestry?", told, "Unknown.")]

    (record,) = evaluate_sync(cases, embedded, metrics=metrics_named(["response_query_coverage"]))

    outcome = record.outcomes["response_query_coverage"]
    assert isinstance(outcome, Score)
    assert outcome.value > 0.8


@pytest.mark.parametrize(
    ("query", "response", "covered"),
    [
        ("Name the three tools in the kit.", "A rasp.", False),
        ("Who are the four trustees of the mill?", "Ada Voss and Ole Brandt are trustees.", False),
        ("Name the three tools in the kit.", "A rasp, a plane and a saw.", True),
        ("Name the three tools in the kit.", "Rasp / plane / saw", True),
        ("Name a tool in the kit.", "A rasp.", True),
        ("Which two tools in the kit cut wood?", "A plane and a saw.", True),
    ],
)
def test_some_of_so_many_things_cover_less(
    embedded: EmbeddedJudge, query: str, response: str, *, covered: bool
) -> None:
    told = (Source("The kit holds a rasp, a plane and a saw. Trustees: Ada Voss, Ole Brandt, Ina Roth and Per Dahl."),)
    (record,) = evaluate_sync(
        [Case("kit", query, told, response)], embedded, metrics=metrics_named(["response_query_coverage"])
    )

    outcome = record.outcomes["response_query_coverage"]
    assert isinstance(outcome, Score)
    assert outcome.value > 0.8 if covered else outcome.value < 0.3
