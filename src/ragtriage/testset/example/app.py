"""A small question-answering application over the folder `documents`: retrieval by keywords, answers by extraction.

It needs no model and no package. Ask it with

    ragtriage collect questions.jsonl --app app.py:answer -o cases.jsonl

`answer` retrieves the one document that shares most words with the question. `answer_by_model` does too, and lets a
language model answer: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, and OPENAI_MODEL.

Retrieval counts every word alike. So a long question, with its many words that say nothing about what is asked, finds
long documents.
"""

import json
import os
import re
import urllib.request
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "documents"
DECLINES = "I can't find that in our documents."

STOP_WORDS = frozenset(
    "a about all an and any are as at be been by can could did do does exactly for from give had has have i if in is "
    "it its just know let like look looking may me my named need of on or our please so tell that the their there they "
    "this to us want was we were what when where which who whom will with working would you your".split()
)
"""Words that a sentence isn't chosen by; retrieval knows nothing of them."""
SYNONYMS: Mapping[str, str] = {
    "began": "start",
    "begin": "start",
    "complet": "end",
    "finish": "end",
    "commission": "client",
    "appoint": "client",
    "led": "head",
    "manag": "manager",
    "director": "direct",
    "since": "join",
    "seat": "city",
    "site": "city",
    "stand": "city",
    "town": "city",
    "cost": "fee",
    "price": "fee",
    "sign": "job",
    "position": "job",
    "title": "job",
    "date": "",
    "project": "",
}
"""Stem → the one that stands for its meaning; empty for what means nothing here."""
MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
DATE = re.compile(rf"\d{{1,2}} {MONTH} \d{{4}}|{MONTH} \d{{1,2}}, \d{{4}}|\d{{4}}-\d\d-\d\d")
MONEY = re.compile(r"(?:€|EUR )[\d.,]*\d(?: million)?|[\d.]+ million euros")
YEAR = re.compile(r"\b(?:19|20)\d\d\b")
NAME = re.compile(r"[A-Z][\w'’]+(?: (?:and )?[A-Z][\w'’]+)*")
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
FORMS: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (re.compile(rf"\b(?:{words})\b", re.IGNORECASE), form)
    for words, form in (
        ("when|dates?|day|since", DATE),
        ("fees?|cost|price|much|money|euros", MONEY),
        ("founded|founding|year", YEAR),
        ("who|whom|whose|client|director|manager|supervisor|lead|specialist|reviewer|executive|head", NAME),
        ("headquarters|city|town|office|department|where", NAME),
    )
)
"""Words of a question, and the form of what it wants."""

NamedText = tuple[str, str]
"""Id and text."""


def answer(query: str, sources: Sequence[Any] | None = None) -> dict[str, Any]:
    """Answer from the document that shares most words with the question; or from `sources`, where they are given."""
    return extracted(query, given(sources) or retrieve(query))


def answer_by_model(
    query: str, sources: Sequence[Any] | None = None, temperature: float | None = None
) -> dict[str, Any]:
    """The same, with a language model that reads the document and writes the answer; `temperature` is for samples."""
    found = given(sources) or retrieve(query)
    context = "\n\n".join(text for _, text in found)
    order = f"Answer in a few words from these documents alone. If they don't say it, write: {DECLINES}"
    return reply(
        model_says(f"{order}\n\n<documents>\n{context}\n</documents>\n\nQuestion: {query}", temperature), found
    )


@cache
def documents() -> tuple[NamedText, ...]:
    """Every document of the folder, by id."""
    return tuple((path.stem, path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.md")))


@cache
def words_of(text: str) -> frozenset[str]:
    """The words of a text, in small letters."""
    return frozenset(re.findall(r"\w+", text.lower()))


def retrieve(query: str) -> list[NamedText]:
    """The document that has most words of the question; none if none has any."""
    shared = {document: len(words_of(query) & words_of(document[1])) for document in documents()}
    best = max(shared, key=lambda document: shared[document])
    return [best] if shared[best] else []


def given(sources: Sequence[Any] | None) -> list[NamedText]:
    """Sources that a caller hands over: texts, or mappings with text and id."""
    return [
        (str(one.get("id", at)), str(one["text"])) if isinstance(one, Mapping) else (str(at), str(one))
        for at, one in enumerate(sources or ())
    ]


def extracted(query: str, found: Sequence[NamedText]) -> dict[str, Any]:
    """The sentence, or the value in it, that fits the question best."""
    names = [name for name in NAME.findall(query) if keywords(name) and " " in name]
    asked = keywords(query) - keywords(" ".join(names))
    best, response = 0, DECLINES
    for _, text in found:
        title, _, body = text.partition("\n")
        for sentence in SENTENCE.split(body):
            told = asked & keywords(sentence)
            if names and not any(name in title or name in sentence for name in names):
                continue  # it speaks of something else
            if len(told) > best and (value := value_in(query, names, sentence, told)):
                best, response = len(told), value
    return reply(response, found)


def value_in(query: str, names: Sequence[str], sentence: str, told: frozenset[str]) -> str:
    """The sentence, if it holds a date, amount, year or name as the question wants; of several of them the nearest."""
    middle = query.find(names[0]) if names else len(query)
    signs = [(abs(sign.start() - middle), form) for words, form in FORMS for sign in words.finditer(query)]
    if not signs:
        return sentence.strip("- ")
    form = min(signs, key=lambda sign: sign[0])[1]  # in a long question the words around the name say what is asked
    values = [one for one in form.finditer(sentence) if keywords(one[0]) - told and one[0] not in query]
    places = [word.start() for word in re.finditer(r"\w+", sentence) if stem(word[0]) in told]
    if len(values) < 2:
        return sentence.strip("- ") if values else ""
    return min(values, key=lambda one: min((abs(one.start() - place) for place in places), default=0))[0]


def keywords(text: str) -> frozenset[str]:
    """The stems of a text's words, without those that carry no meaning."""
    words = words_of(text.replace("reports to", "has the manager"))
    return frozenset(stem(word) for word in words if word not in STOP_WORDS) - {""}


@cache
def stem(word: str) -> str:
    """A word without a common ending, or the word that stands for its meaning."""
    plain = word.lower()
    for ending in ("'s", "ing", "ed", "s"):
        if plain.endswith(ending) and len(plain) > len(ending) + 2:
            plain = plain.removesuffix(ending)
            break
    return SYNONYMS.get(plain, plain)


def reply(response: str, found: Sequence[NamedText]) -> dict[str, Any]:
    """What `ragtriage collect` reads."""
    return {"response": response, "sources": [{"id": name, "text": text} for name, text in found]}


def model_says(prompt: str, temperature: float | None = None) -> str:
    """What a model behind an OpenAI-compatible address answers; without a temperature, at its own."""
    key, address = os.environ.get("OPENAI_API_KEY"), os.environ.get("OPENAI_BASE_URL")
    if not key and not address:
        message = "answer_by_model needs OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own"
        raise RuntimeError(message)
    body = {
        "model": os.environ.get("OPENAI_MODEL", "gpt-5-mini"),
        "messages": [{"role": "user", "content": prompt}],
        **({} if temperature is None else {"temperature": temperature}),
    }
    request = urllib.request.Request(  # noqa: S310  # the address is the user's own
        (address or "https://api.openai.com/v1").rstrip("/") + "/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})},
    )
    with urllib.request.urlopen(request, timeout=120) as answered:  # noqa: S310  # see above
        return str(json.load(answered)["choices"][0]["message"]["content"])
