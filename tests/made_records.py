"""Records made by hand, so that every look and state occurs, and as many of them as a test needs."""

import random

from ragtriage.core.case import Case, Record, Source
from ragtriage.core.steps import Step
from ragtriage.core.verdicts import Cell, Component, Failure, Known, Missing, Verdict, Verdicts
from ragtriage.metrics import THELMA
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

YES = Verdict("yes", 0.9, 0.9, "it stands there")
NO = Verdict("no", 0.1, 0.9, "it isn't there")
CHECK = Verdict("no", 0.4, 0.6, "perhaps not", sure=False)
UNKNOWN = Verdict("unknown", 0.5, 0.5, "too close to call")
FAILED = Failure("the connection broke")

RESPONSE = (
    "The fee is 20 euros and it is due today. You can pay by card. The office is blue. "
    "Ships are big. Trains are slow. You may pay by card. The documents don't name a date."
)
"""Two claims in the first sentence, one a part of the other; the second and the sixth sentence say the same."""


def placed(text: str, within: str, source: int | None = None, *, remark: bool = False) -> Component:
    at = within.index(text)
    return Component(text, (at, at + len(text)), source, remark)


def columns(*cells: Cell) -> tuple[tuple[Cell, ...], ...]:
    return tuple((cell,) for cell in cells)


def record_of(case: Case, steps: dict[Step, Known]) -> Record:
    """A record with the scores that follow from these steps; a step that isn't given is missing."""
    texts = {str(step): known for step, known in steps.items()}
    for metric in THELMA:
        for step in metric.needs.values():
            texts.setdefault(str(step), Missing("not asked in this test", "query"))
    return Record(case, texts, {m.name: m(texts) for m in THELMA})


WORDS = "the fee for a ferry ticket to an island is refunded when weather stops all sailings before noon today".split()


def sentence(chance: random.Random, length: int) -> str:
    return " ".join(chance.choices(WORDS, k=length)).capitalize() + "."


def synthetic(chance: random.Random) -> Record:
    """A case of five sources of about 1,200 characters and a response of six sentences."""
    lines = [[sentence(chance, 16) for _ in range(13)] for _ in range(5)]
    sources = tuple(Source(" ".join(each), f"doc-{i}") for i, each in enumerate(lines))
    said = [sentence(chance, 12) for _ in range(6)]
    response = " ".join(said)
    asked = Component(f"What about {sentence(chance, 6)}")
    tags = {"topic": chance.choice(["fees", "ships"])}
    case = Case("case", asked.text, sources, response, tags=tags)
    claims = tuple(placed(text, response) for text in said)
    facts = tuple(placed(text, s.text, i) for i, s in enumerate(sources) for text in lines[i])
    wholes = tuple(Component(s.text, (0, len(s.text)), i) for i, s in enumerate(sources))
    good = chance.random()

    def drawn(n: int) -> list[Cell]:
        return [chance.choices((YES, NO, CHECK, UNKNOWN), (good, 1 - good, 0.1, 0.02))[0] for _ in range(n)]

    one = drawn(5)
    return record_of(
        case,
        {
            CLAIMS: claims,
            SENTENCES: claims,
            FACTS: facts,
            QUESTIONS: (asked,),
            SOURCES: wholes,
            groundedness.needs["support"]: Verdicts(claims, columns(*drawn(6))),
            response_precision.needs["needed"]: Verdicts(claims, columns(*drawn(6))),
            REPEATED: Verdicts(claims, columns(*[NO] * 6)),
            fact_precision.needs["needed"]: Verdicts(facts, columns(*drawn(len(facts)))),
            source_precision.needs["needed"]: Verdicts(wholes, columns(*drawn(5))),
            ANSWERED_BY_ONE: Verdicts((asked,), (tuple(one),)),
            ANSWERED_TOGETHER: Verdicts((asked,), ((None if YES in one else NO,),)),
            ANSWERED_BY_RESPONSE: Verdicts((asked,), columns(*drawn(1))),
        },
    )
