"""Records made by hand, so that every look and state occurs, and as many of them as a test needs."""

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from shown import THRESHOLDS, Found, Many

from made_records import CHECK, FAILED, NO, RESPONSE, UNKNOWN, YES, columns, placed, record_of, synthetic
from ragtriage.core.case import Case, Record, Source
from ragtriage.core.verdicts import Component, Verdicts
from ragtriage.diagnosis.findings import diagnose
from ragtriage.metrics.aggregate import CLAIMS, FACTS, QUESTIONS, SENTENCES, SOURCES
from ragtriage.metrics.thelma import (
    ANSWERED_BY_ONE,
    ANSWERED_BY_RESPONSE,
    ANSWERED_TOGETHER,
    REPEATED,
    fact_precision,
    groundedness,
    response_precision,
    source_precision,
)


@pytest.fixture(scope="session")
def rich_record() -> Record:
    """One case in which every look of a claim and every state of the matrix occurs."""
    sources = (
        Source("The fee is 20 euros. Cards are accepted. The sea is deep.", "fees-1"),
        Source("Nothing of use stands here.", None),
    )
    case = Case("case/1", "What is the fee, when is it due, and who pays?", sources, RESPONSE, tags={"topic": "fees"})
    claims = (
        placed("The fee is 20 euros and it is due today.", RESPONSE),
        placed("it is due today", RESPONSE),
        placed("You can pay by card.", RESPONSE),
        placed("The office is blue.", RESPONSE),
        placed("Ships are big.", RESPONSE),
        placed("Trains are slow.", RESPONSE),
        Component("A claim without a place."),
        placed("The documents don't name a date.", RESPONSE, remark=True),
    )
    judged = claims[:-1]
    sentences = tuple(
        placed(t, RESPONSE) for t in ("You can pay by card.", "The office is blue.", "You may pay by card.")
    )
    facts = (
        placed("The fee is 20 euros.", sources[0].text, 0),
        placed("The sea is deep.", sources[0].text, 0),
        placed("Nothing of use stands here.", sources[1].text, 1),
    )
    questions = (Component("What is the fee?"), Component("When is it due?"), Component("Who pays?"))
    wholes = tuple(Component(s.text, (0, len(s.text)), i) for i, s in enumerate(sources))
    return record_of(
        case,
        {
            CLAIMS: claims,
            SENTENCES: sentences,
            FACTS: facts,
            QUESTIONS: questions,
            SOURCES: wholes,
            groundedness.needs["support"]: Verdicts(judged, columns(YES, NO, YES, CHECK, YES, UNKNOWN, NO)),
            response_precision.needs["needed"]: Verdicts(judged, columns(YES, YES, YES, NO, NO, YES, YES)),
            REPEATED: Verdicts(sentences, columns(YES, NO, YES)),
            fact_precision.needs["needed"]: Verdicts(facts, columns(YES, NO, NO)),
            source_precision.needs["needed"]: Verdicts(wholes, columns(YES, NO)),
            ANSWERED_BY_ONE: Verdicts(questions, ((YES, NO), (NO, CHECK), (UNKNOWN, NO))),
            ANSWERED_TOGETHER: Verdicts(questions, columns(None, NO, FAILED)),
            ANSWERED_BY_RESPONSE: Verdicts(questions, columns(YES, YES, NO)),
        },
    )


@pytest.fixture(scope="session")
def many() -> Many:
    """Realistic records in any number, the same every time, made as they are asked for."""
    chance = random.Random(7)  # made-up texts, no secret
    made = [synthetic(chance) for _ in range(40)]
    pool = [(record, diagnose(record, THRESHOLDS)) for record in made]

    def records(count: int) -> Iterator[Found]:
        for number in range(count):
            record, findings = pool[number % len(pool)]
            case = replace(record.case, id=f"case-{number:05}", query=f"Question {number}: {record.case.query}")
            yield replace(record, case=case), findings

    return records
