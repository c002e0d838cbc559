"""Texts that name what is asked about and state nothing answer nothing; terse ones that state it do."""

import asyncio

import pytest

from ragtriage import Verdict
from ragtriage.core.questions import answered, supported
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.embedded.silent_texts import is_prose, lacks_what_is_asked, state_nothing, telling_texts

SILENT = [
    ("What does parking at Tolland Arena cost?", "Home | Events | Tickets | Parking | Contact | Login"),
    (
        "How do I return a damaged Kobalt lamp?",
        "Home > Lamps > Kobalt. Sort by: price, newest. Showing 1 to 24 of 310 results.",
    ),
    ("How long is the warranty?", "We value your privacy. We store and access information on your device. Accept all."),
    (
        "How many vacation days are there?",
        "404 - Page not found. The page you are looking for doesn't exist. Go to the home page.",
    ),
    ("What is the deductible?", "Page 4 of 12. This page intentionally left blank. © Aurora Ltd. All rights reserved."),
    ("Where is the registration office?", "lorem ipsum dolor sit amet consectetur adipiscing elit"),
    ("When was the bridge built?", "endobj 14 0 obj << /Type /Font >> endobj"),
    ("What is the maximum load of the shelf?", "t1tan sh3lf m@x lo4d of the cab1net ||||"),
    ("What is the refund policy of Lumen Books?", "Refund policy"),
    ("How do I apply for a parking permit?", "Chapter 3: How to apply for a parking permit"),
    ("Who can join the rowing club?", "Who can join the rowing club?"),
    ("How is the air filter cleaned?", "1 Safety ........ 3\n2 Cleaning the air filter ........ 12"),
]
TELLING = [
    ("When is the pharmacy open?", "Open Mon–Fri 9–17"),
    ("Where do I find dark mode?", "Settings > Display > Dark mode"),
    ("How do I export my data?", "Account > Privacy > Export data > Download"),
    ("Which page explains the filter?", "1 Safety ........ 3\n2 Cleaning the filter ........ 12"),
    ("Can I return sale items?", "Can I return sale items? No."),
    ("Is the sauna open in August?", "Sauna open in August"),
    ("Does the website use cookies?", "This website uses cookies to measure visits."),
    ("What does error 403 mean?", "Error 403: Forbidden."),
    ("How many customers are from Brack?", "[(37,)]"),
    ("What does a pizza cost?", "| Pizza | small |\n|---|---|\n| Margherita | 7.50 |"),
    ("Which commits fixed it?", "a3f9c2e b81d0f4 c9e27aa"),
    ("Who is the contact?", "Contact: Lene Hofer"),
    ("What is the refund policy?", "Refund policy: none"),
]


@pytest.mark.parametrize(("question", "text"), SILENT)
def test_what_stands_around_the_content_of_a_page_tells_nothing(question: str, text: str) -> None:
    assert telling_texts(question, [text]) == ()


@pytest.mark.parametrize(("question", "text"), TELLING)
def test_terse_texts_that_state_something_tell(question: str, text: str) -> None:
    assert telling_texts(question, [text]) == (text,)
    assert not lacks_what_is_asked(question, [text])


LACKING = [
    ("What does a season ticket cost?", "The pool has a 25-metre basin. Season tickets are sold at the counter."),
    ("How much does the tour cost?", "The tour lasts 2 hours and starts at 10:00."),
    (
        "What interest does the Junior account pay?",
        "The account is for customers under 18 years. It is credited on 31 December.",
    ),
    ("How many employees does Quarrel have?", "Its employees wear green uniforms."),
    ("How long does delivery to Norway take?", "Pelisse delivers to Norway. Delivery is made by parcel."),
    ("In which year was the mill restored?", "The mill grinds flour for three bakeries."),
    ("When does the shop open?", "The shop sells 40 kinds of tea."),
]
HOLDING = [
    ("What does a season ticket cost?", "Season tickets are free."),
    ("What does a season ticket cost?", "Season ticket: 95"),
    ("How much does the tour cost?", "Twelve euros."),
    ("What is the price of the course?", "The price depends on the number of lessons."),
    ("What interest does the account pay?", "1.5 % p.a."),
    ("What interest does the account pay?", "Account | Interest\nJunior | 2"),
    ("How many employees does Quarrel have?", "Quarrel employs a dozen people."),
    ("How many stations are step-free?", "Quayside, Fishmarket and Arsenal, Ferry Dock count as step-free."),
    ("How often is the lift inspected?", "The lift is inspected annually."),
    ("In which year was the mill restored?", "It was restored in 1998."),
    ("When does the shop open?", "The shop opens after the market."),
    ("When is rubbish collected?", "On every other Tuesday."),
    ("When was it?", "'98"),
    ("Who founded the choir?", "The choir sings on Sundays."),
    ("Why was it postponed?", "The singer is ill."),
]


@pytest.mark.parametrize(("question", "text"), LACKING)
def test_without_any_amount_rate_number_or_time_a_text_cannot_say_it(question: str, text: str) -> None:
    assert lacks_what_is_asked(question, [text])


@pytest.mark.parametrize(("question", "text"), HOLDING)
def test_where_one_may_stand_nothing_is_concluded(question: str, text: str) -> None:
    assert not lacks_what_is_asked(question, [text])
    assert not lacks_what_is_asked(question, ["Nothing of it.", text])


def test_furniture_supports_no_claim_but_one_about_it() -> None:
    page = ["Page 4 of 12", "This page intentionally left blank."]

    assert state_nothing("What is the notice period?", "Three months.", page)
    assert not state_nothing("What is the notice period?", "Three months.", [*page, "Notice period: three months"])
    assert not state_nothing("What does page 4 say?", "Page 4 is blank.", page)


def test_prose_is_told_from_fields_and_notices() -> None:
    assert is_prose(["The key must be returned on the same day.", "Its loss must be reported at once."])
    assert not is_prose(["Model: Ferro F20", "Weight: 1.6 kg", "It is delivered in a case of steel."])
    assert not is_prose([])


ANSWERED = [
    (
        "What is the notice period of Almira Housing?",
        ["%%EOF xref 0 6 trailer", "Page 4 of 12. Copyright Almira Housing."],
        "no",
    ),
    (
        "What interest does the Junior account pay?",
        [
            "Mill Bank has three accounts: Junior, Classic and Home.",
            "The Junior account is for customers under 18 years.",
        ],
        "no",
    ),
    (
        "Why was my order cancelled?",
        [
            "The pharmacy can be reached from nine to six.",
            "[image] [image] Figure. Form",
            "Every member of an expedition is examined by the ship's doctor.",
        ],
        "no",
    ),
    ("What does a season ticket for the Brook pool cost?", ["Brook pool", "Season ticket Brook pool: 95 euros"], "yes"),
    (
        "In which country was the founder of the Ashby choir born?",
        ["The Ashby choir was founded by Martha Quill.", "Martha Quill was born in Norrin."],
        "yes",
    ),
]


def test_verdicts_on_sources_one_by_one_and_together() -> None:
    asked = [answered(question, texts, question) for question, texts, _ in ANSWERED]
    asked.append(supported("Three months.", ["This page intentionally left blank."], "What is the notice period?"))

    async def ask() -> dict[int, object]:
        return {place: answer async for place, answer in EmbeddedJudge().ask(asked)}

    found = asyncio.run(ask())

    values = [found[place].value for place in range(len(asked)) if isinstance(found[place], Verdict)]
    assert values == [*(value for *_, value in ANSWERED), "no"]
