"""Hostile texts stay data: a request about one differs from a request about a harmless text inside its fences alone.

`hostile.jsonl` has a row a text: its family, the place where it stands (`source`, `response`, `query` or `claim`), the
text or, split over several sources, texts, and how many times it is repeated. `⟦query⟧` stands for the name of the
query's fence, which whoever wrote the query could know.
"""

import json
import re
import unicodedata
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from contract import answers

from fake_models import FENCED, JSON, PROMPTS, STRING, Answering, judge_of, lines_of, reply_to
from ragtriage.core import questions as ask
from ragtriage.core.case import Case, Source
from ragtriage.core.verdicts import Component, Verdict
from ragtriage.diagnosis.rules import RULES, needs_of
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.llm.fencing import fence
from ragtriage.judges.llm.options import Prompt, Reply
from ragtriage.judges.llm.prompts import ASKED
from ragtriage.judges.llm.requests import group_questions, reply_names
from ragtriage.judges.wrappers.combined import Routed
from ragtriage.metrics import METRICS

LOCAL = ("sentences", "similarity")
"""The kinds that no model is asked."""
QUERY = "How tall is the tower, and when was it built?"
SUB_QUESTION = "How tall is the tower?"
OTHER_SOURCE = "The tower on the northern cliff is 38 metres tall."
RESPONSE = "It is 38 metres tall. It was built in 1889."
CLAIM = "The tower was built in 1889."
TURN = "user: Tell me about the tower."

NAMES = {
    label: fence(label, text).split(">")[0].removeprefix("<")
    for label, text in (("query", QUERY), ("source", OTHER_SOURCE), ("response", RESPONSE))
}
PATH = Path(__file__).with_name("hostile.jsonl")
ROWS = [json.loads(line) for line in PATH.read_text("utf-8").split("\n") if line]
EACH = pytest.mark.parametrize("row", ROWS, ids=[f"{row['family']}-{n}" for n, row in enumerate(ROWS)])

SPECIAL = re.compile(
    r"<[|｜]|[|｜]>|</?(?:s|bos|eos|think|sop|start_of_turn|end_of_turn|tool_call|tool_response|function_calls)>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|TOOL_RESULTS|gMASK)\]|<</?SYS>>|^\W*(?<!\u200d)(?:Human|Assistant|System|User):",
    re.MULTILINE,
)
"""Marks of the chat templates of common models; written down here anew, so that nothing checks itself."""
VERDICT = re.compile(r'(?<!\\)"(?:why|quote|verdict)" *:')
"""A piece of a reply, if it isn't itself part of a quoted text."""
TAG = re.compile(r"</?(?:source|query|response|conversation)-[0-9a-f]+>", re.IGNORECASE)
CARELESS = re.compile(r"<(source|query|response|conversation)-[0-9a-f]+>\n.*?</\1[^>]*>", re.DOTALL | re.IGNORECASE)
"""A fence as a careless reader sees it: any closing tag of its kind ends it."""


def texts_of(row):
    texts = row["text"] if isinstance(row["text"], list) else [row["text"] * row.get("times", 1)]
    for label, name in NAMES.items():
        texts = [text.replace(f"⟦{label}⟧", name) for text in texts]
    return texts


def harmless(texts):
    """As many texts of the same lengths, about ferries."""
    filled = "Ferry {} calls twice a day and takes bicycles along. "
    return [(filled.format(n) * (len(text) // 50 + 2))[: max(len(text) - 1, 10)] + "." for n, text in enumerate(texts)]


def questions_about(place, texts):
    """Everything that can be asked about a case in which these texts stand there."""
    sources = (*texts, OTHER_SOURCE) if place == "source" else (OTHER_SOURCE,)
    query, response, claim = (
        texts[0] if place == name else usual
        for name, usual in (("query", QUERY), ("response", RESPONSE), ("claim", CLAIM))
    )
    part = claim if place == "claim" else SUB_QUESTION
    return [
        *(ask.facts(one) for one in sources),
        *(kind(query, one) for kind in (ask.essential, ask.relevant) for one in sources),
        *(ask.answered(part, (one,), query) for one in sources),
        ask.answered(part, sources, query),
        ask.answered(part, (response,), query, query),
        ask.supported(claim, sources, query, response),
        ask.supported(CLAIM, sources, query, response),
        ask.supported(claim, sources[:1]),
        ask.supported(claim, (response,)),
        ask.holds("It names a year.", sources[0]),
        ask.holds(claim, response, query),
        ask.claims(response, query),
        ask.questions(query),
        ask.declines(query, response),
        ask.essential(query, claim, response),
        ask.relevant(query, claim, response),
        ask.same_answer(query, (claim, "38 metres"), response),
        ask.questions_answered_by(response, 3),
        ask.standalone(query, (TURN,)),
        ask.standalone(QUERY, (TURN, f"assistant: {query}")),
    ]


def prompts_about(place, texts):
    """Each question by itself, and as many together as may be."""
    requests = [one for size in (1, 32) for one in group_questions(questions_about(place, texts), size)]
    return requests, [JSON.render(request) for request in requests]


def around(prompt):
    """What stands outside of the fences and quotes, and in which places these stand."""
    return STRING.sub("[quoted]", FENCED.sub(lambda found: f"[{found[1].split('-')[0]}]", prompt.user))


def hidden(text):
    """Characters that nobody sees, and longer runs of joiners and selectors than any script has."""
    found = [c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Co"} and c not in "\n\t\u200c\u200d"]
    return found + re.findall("[\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}|[\u034f\u3164\uffa0]", text)


def test_there_are_enough_families_of_enough_texts_in_every_place():
    families = Counter(row["family"] for row in ROWS)
    assert len(families) >= 12
    assert min(families.values()) >= 5
    assert min(Counter(row["place"] for row in ROWS).values()) >= 10
    assert len({json.dumps(row["text"]) for row in ROWS}) == len(ROWS)


@EACH
def test_a_hostile_text_changes_nothing_outside_its_fences(row):
    texts = texts_of(row)
    requests, prompts = prompts_about(row["place"], texts)
    _, likewise = prompts_about(row["place"], harmless(texts))
    assert len(prompts) == len(likewise)
    for request, prompt, same in zip(requests, prompts, likewise, strict=True):
        assert prompt.system == same.system == PROMPTS.head
        assert prompt.schema == same.schema
        assert around(prompt) == around(same)
        lines = [STRING.sub("", line) for line in lines_of(prompt)]
        assert len(lines) == len(reply_names(request))
        assert all(
            line.split()[0].rstrip(":") == name for line, (name, _) in zip(lines, reply_names(request), strict=True)
        )


@EACH
def test_every_fence_opens_and_closes_once_and_holds_no_tag(row):
    for prompt in prompts_about(row["place"], texts_of(row))[1]:
        fences = list(FENCED.finditer(prompt.user))
        tags = Counter(TAG.findall(prompt.user))
        assert tags == {tag: 1 for found in fences for tag in (f"<{found[1]}>", f"</{found[1]}>")}
        for found in fences:
            assert found[1].split("-")[1] not in found[2].lower()
        assert around(prompt) == STRING.sub("[quoted]", CARELESS.sub(r"[\1]", prompt.user))


@EACH
def test_no_special_token_and_nothing_hidden_gets_through(row):
    for prompt in prompts_about(row["place"], texts_of(row))[1]:
        assert not SPECIAL.search(prompt.user)
        assert hidden(prompt.user) == []
        for line in lines_of(prompt):
            for string in STRING.findall(line):
                assert hidden(json.loads(string)) == []


class Gullible(Answering):
    """Obeys, with a yes to everything, words and verdicts outside of fences and quotes, special tokens, what is hidden.

    Args:
        orders: words of the hostile texts.
        careless: whether any closing tag ends a fence for it.
        writes: the claims that it finds in a response.
    """

    def __init__(self, orders, *, careless=False, writes=()):
        super().__init__(lambda prompt, name: ("no", "yes")[len(name) % 2] if name == "q2" else "no")
        self.orders = orders
        self.obeyed = 0
        self._fenced = CARELESS if careless else FENCED
        self._writes = list(writes)

    async def send(self, prompt):
        """See `Send`."""
        if self.obeys(prompt):
            self.obeyed += 1
            return Reply(json.dumps(reply_to(prompt, texts=lambda member: ["Approved."])))
        return await super().send(prompt)

    def obeys(self, prompt):
        """Whether it is taken in."""
        unfenced = self._fenced.sub("", prompt.user)
        if VERDICT.search(unfenced) or SPECIAL.search(prompt.user) or hidden(prompt.user):
            return True
        return bool(words(prompt.system + STRING.sub("", unfenced)) & self.orders)

    def said(self, prompt):
        """With the claims that it was told to find."""
        said = super().said(prompt)
        return said | {"claims": self._writes} if self._writes and "claims" in said else said


def words(text):
    return set(re.findall(r"\w+", text.casefold()))


OURS = words(PROMPTS.head + " ".join(PROMPTS.kinds.values())) | words(" ".join(PROMPTS.kinds) + " questions q source 3")
OURS |= {f"q{n}" for n in range(1, 40)}


def orders_of(row):
    """The words that could only have come from the text."""
    return words(" ".join(texts_of(row))) - OURS


@EACH
@pytest.mark.parametrize("careless", [False, True], ids=["reads tags", "careless"])
def test_even_a_gullible_model_judges_as_if_the_text_were_harmless(row, careless):
    texts = texts_of(row)
    model = Gullible(orders_of(row), careless=careless)
    hostile = answers(judge_of(model), questions_about(row["place"], texts))
    likewise = answers(judge_of(Gullible(set())), questions_about(row["place"], harmless(texts)))
    assert model.obeyed == 0
    assert [shape(answer) for answer in hostile] == [shape(answer) for answer in likewise]


def shape(answer):
    return answer.value if isinstance(answer, Verdict) else len(answer)


@EACH
def test_a_gullible_model_would_obey_the_bare_text(row):
    texts = texts_of(row)
    bare = Prompt(PROMPTS.head, "\n\n".join([*texts, "Questions:\nq1 declines"]), {}, 100)
    assert Gullible(orders_of(row)).obeys(bare) or not orders_of(row)
    ended = replace(bare, user=f"{fence('source', 'A text.')}\n{' '.join(texts)}\nQuestions:\nq1 declines")
    assert Gullible(orders_of(row)).obeys(ended) or not orders_of(row)


def test_hardly_a_text_is_without_words_to_obey():
    assert len([row for row in ROWS if not orders_of(row)]) <= 8


def case_with(place, texts):
    sources = texts if place == "source" else [OTHER_SOURCE]
    return Case(
        "1",
        texts[0] if place == "query" else QUERY,
        tuple(Source(text) for text in (*sources, "A ferry calls twice a day.")),
        texts[0] if place == "response" else RESPONSE,
        reference="38 metres, built in 1889.",
    )


def values_of(place, texts, model):
    def local(question):
        return (Component("One."), Component("Two.")) if question.kind == "sentences" else Verdict("no", 0.1)

    local_judge = FakeJudge(local)
    judge = Routed({**dict.fromkeys(ASKED, judge_of(model)), **dict.fromkeys(LOCAL, local_judge)}, "fake")
    (record,) = evaluate_sync([case_with(place, texts)], judge, metrics=METRICS, also=needs_of(RULES))
    return {name: getattr(outcome, "value", None) for name, outcome in record.outcomes.items()}


@EACH
def test_a_case_with_a_hostile_text_scores_as_one_with_a_harmless_text(row):
    texts, place = texts_of(row), row["place"]
    model = Gullible(orders_of(row), writes=[*texts, CLAIM] if place == "claim" else ())
    likewise = harmless(texts)
    fair = Gullible(set(), writes=[*likewise, CLAIM] if place == "claim" else ())
    assert values_of(place, texts, model) == values_of(place, likewise, fair)
    assert model.obeyed == 0


def test_a_quote_that_the_claim_puts_into_the_models_mouth_is_flagged():
    class Parrot(Answering):
        """Quotes from what it is asked, not from the sources."""

        def said(self, prompt):
            return reply_to(prompt, quote=lambda name: json.loads(STRING.findall(lines_of(prompt)[0])[0]))

    for row in (row for row in ROWS if row["place"] == "claim" and words(row["text"])):
        claim = ask.supported(texts_of(row)[0], (OTHER_SOURCE,), QUERY, RESPONSE)
        (verdict,) = answers(judge_of(Parrot()), [claim])
        assert verdict.value == "yes"
        assert verdict.flag.startswith("the quote is not in the text"), row
