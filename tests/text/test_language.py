"""A case's language is decided on its whole text."""

import pytest

from ragtriage import Case, Source
from ragtriage.text.language import language_of

GERMAN = (
    "Der Antrag auf Erstattung muss innerhalb von 28 Tagen gestellt werden. "
    "Bei Absage durch das Unternehmen wird der volle Preis erstattet, auch für Spartarife."
)
ENGLISH = "The claim has to be made within 28 days. If the company cancels, the full price is refunded."


@pytest.mark.parametrize(
    ("query", "source", "response", "language"),
    [
        ("How long do I have?", ENGLISH, "You have 28 days.", "en"),
        ("refund EU", ENGLISH, "28 days", "en"),
        ("refund policy", GERMAN, "28 Tage.", "de"),
        ("Wie lange habe ich Zeit?", GERMAN, "28 Tage.", "de"),
        ("退款需要多长时间", "退款申请必须在28天内提交。", "28天", "zh"),
        ("كم من الوقت يستغرق استرداد المبلغ", "يجب تقديم الطلب خلال 28 يوما", "28", "ar"),
        ("how much", "| A | 3 EUR |\n| B | 5 EUR |\n| C | 7 EUR |", "3 EUR", "en"),
        ("Müller GmbH", "Müller GmbH, Köln", "Köln", "en"),
        ("", "", "", "en"),
        ("42?", "1 2 3 \x00 4", "42", "en"),
    ],
)
def test_the_whole_text_decides(query: str, source: str, response: str, language: str) -> None:
    assert language_of(Case("c", query, (Source(source),), response)) == language


LONG = f"{GERMAN} Gruppen ab zehn Personen zahlen den halben Preis, Kinder fahren frei."


@pytest.mark.parametrize(
    ("query", "source", "response", "language"),
    [
        ("How long do I have to make a claim?", LONG, "You have to make it within 28 days of the cancellation.", "de"),
        ("Wie lange habe ich Zeit, den Antrag zu stellen?", ENGLISH * 3, LONG, "de"),
        ("How long do I have to claim?", "退款申请必须在28天内提交。" * 3, "You have 28 days from that day on.", "zh"),
        ("How long do I have?", "Frist: 28 Tage", "You have 28 days.", "en"),
        ("Who is on the list?", "Anna Lindqvist, Jörg Müller, Chloé Dubois, Paweł Nowak, Giulia Rossi, Ana Sousa, " * 3,
         "Anna Lindqvist and Jörg Müller are.", "en"),
    ],
)  # fmt: skip
def test_sources_or_an_exchange_in_another_language_than_the_rest_decide(
    query: str, source: str, response: str, language: str
) -> None:
    assert language_of(Case("c", query, (Source(source),), response)) == language
