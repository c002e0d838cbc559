"""Records golden requests and replies again: `python tests/judges/decisions/record_golden_decisions.py`.

`golden_decisions.json` holds fixed questions with the bodies that they become, in words that stand for the project's
own, and fixed answers with the verdicts that are read from them. What changed is only written if `VERSION` of
`ragtriage.judges.decisions.judge` was raised, so that stored answers are asked again.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragtriage.core import questions as ask
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Failure, Verdict
from ragtriage.judges.decisions.asking import state_request, verdicts
from ragtriage.judges.decisions.judge import VERSION
from ragtriage.judges.decisions.models import DecisionWords, read_words
from ragtriage.judges.decisions.transport import PROTOCOLS, answers_in, body_of
from ragtriage.judges.llm.requests import group_questions

GOLDEN = Path(__file__).with_name("golden_decisions.json")
WORDS = DecisionWords(
    {
        name: {key: f"{name}: {'`{item}` `{evidence}` {text}?' if key == 'instructions' else key}" for key in table}
        for name, table in read_words().tables.items()
    }
)
"""In place of the project's own, whose digests are in the fingerprint."""
QUERY, RESPONSE = "What does a day pass cost, and are dogs free?", "It costs 12 euros. Dogs are free."
ONE, OTHER = "A day pass costs 12 euros.", "Dogs travel free on a lap."
GROUPS: dict[str, Sequence[Question]] = {
    "supported by two sources": [
        ask.supported("The day pass costs 12 euros.", (ONE, OTHER)),
        ask.supported("Dogs pay.", (OTHER, ONE)),
    ],
    "supported by one source": [ask.supported("The day pass costs 12 euros.", (ONE,))],
    "about one source": [
        ask.essential(QUERY, ONE),
        ask.relevant(QUERY, ONE),
        ask.essential(QUERY, "A pass costs 12 euros.", source=ONE),
        ask.answered("What does a day pass cost?", (ONE,)),
    ],
    "answered by all sources": [ask.answered("Are dogs free?", (ONE, OTHER))],
    "about the response": [
        ask.answered("Are dogs free?", (RESPONSE,), query=QUERY),
        ask.same_answer(QUERY, ("12 euros, and yes.", "12 euros."), RESPONSE),
        ask.declines(QUERY, RESPONSE),
        ask.relevant(QUERY, "It costs 12 euros.", RESPONSE),
        ask.essential(QUERY, "It costs 12 euros.", RESPONSE),
        ask.holds("It is polite.", RESPONSE, QUERY),
    ],
    "a drawn response": [ask.same_answer(QUERY, ("12 euros.",), RESPONSE, drawn=True)],
    "a criterion of a source": [ask.holds("It names a price.", ONE)],
    "what nobody sees": [ask.supported("Dogs\u200b pay \ud800.", (ONE, "Dogs pay.<|im_end|>"))],
}
REPLIES: dict[str, dict[str, Any]] = {
    "supported": {"q1": 0.9, "q2": 0.02, "q3": {"s1": 0.1, "s2": 0.85, "none": 0.05}},
    "contradicted": {"q1": 0.1, "q2": 0.8, "q3": {"s1": 0.4, "s2": 0.4, "none": 0.2}},
    "both": {"q1": 0.5, "q2": 0.5, "q3": {"s1": 0.1, "s2": 0.1, "none": 0.8}},
    "in doubt": {"q1": 0.17, "q2": 0.49, "q3": {"s1": 0.6, "s2": 0.6, "none": 0.2}},
    "ends": {"q1": 0, "q2": 1, "q3": {"s1": 1.0}},
    "no number": {"q1": "0.9", "q2": 0.1, "q3": None},
    "a truth": {"q1": True, "q2": 0.1},
    "too much": {"q1": 1.2, "q2": 0.1},
    "half an answer": {"q1": 0.9},
}
"""What is answered to the first claim of the first group."""


def today() -> dict[str, Any]:
    """Bodies and verdicts as they are now."""
    bodies = {name: _bodies(questions) for name, questions in GROUPS.items()}
    return {"version": VERSION, "bodies": bodies, "verdicts": {name: _read(told) for name, told in REPLIES.items()}}


def recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(GOLDEN.read_text("utf-8"))
    return found


def _bodies(questions: Sequence[Question]) -> list[dict[str, Any]]:
    return [
        {wire: json.loads(body_of(wire, "m", asked.state, asked.typed)) for wire in PROTOCOLS}
        for asked in (state_request(request, WORDS) for request in group_questions(questions, 64))
    ]


def _read(told: dict[str, Any]) -> Any:
    (request,) = group_questions(GROUPS["supported by two sources"][:1], 64)
    asked = state_request(request, WORDS)
    members = {name: "probabilities" if name == "q3" else "noul" for name in told}
    reply = {"answers": {name: {members[name]: value} for name, value in told.items()}}
    found = verdicts(asked, answers_in("systemone", json.dumps(reply), asked.typed))
    if not found:
        return None
    (answer,) = found.values()
    assert isinstance(answer, Verdict | Failure)
    return {name: getattr(answer, name) for name in answer.__slots__}


if __name__ == "__main__":
    new = today()
    if GOLDEN.exists() and {**new, "version": 0} != {**recorded(), "version": 0} and recorded()["version"] >= VERSION:
        sys.exit("this changed: raise VERSION in ragtriage/judges/decisions/judge.py, then record again")
    GOLDEN.write_text(json.dumps(new, ensure_ascii=True, indent=1) + "\n", encoding="utf-8")
