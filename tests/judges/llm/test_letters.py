"""Verdicts as letters: what is asked and what is read, with probabilities and without, in lists and singly."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from contract import CHECKS, QUESTIONS, Candidate, answers
from hypothesis import given
from hypothesis import strategies as st
from test_request_grouping import POOL

from fake_models import FENCED, JSON, PROMPTS, Lettering, judge_of
from ragtriage.core import questions as ask
from ragtriage.core.errors import JudgeError
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import Answer, Component, Failure, Verdict
from ragtriage.judges.budget import Ledger
from ragtriage.judges.llm.channel import Channel
from ragtriage.judges.llm.judge import LLMJudge
from ragtriage.judges.llm.letters import ONE_LETTER, LetterForm
from ragtriage.judges.llm.options import LLMOptions, MalformedReply, Prompt, Reply, Token
from ragtriage.judges.llm.prompts import ASKED, read_prompts
from ragtriage.judges.llm.requests import group_questions
from ragtriage.judges.protocol import ARRIVED

SOURCES = ("A day pass costs 12 euros.", "Dogs travel free.")
CLAIMS = [ask.supported(f"Claim {n}.", SOURCES) for n in range(1, 5)]
QUERY, RESPONSE = "What does it cost?", "It costs 12 euros. Bye."
BROKEN = ask.declines("Broken?", "Broken.")
FORMS = [LetterForm(PROMPTS, explain, single) for explain in ("none", "doubtful", "all") for single in (False, True)]


class Scripted:
    """Says one reply after another."""

    def __init__(self, *replies: str | Reply) -> None:
        self.prompts: list[Prompt] = []
        self._replies = [Reply(one) if isinstance(one, str) else one for one in replies]

    async def send(self, prompt: Prompt) -> Reply:
        """See `Send`."""
        self.prompts.append(prompt)
        return self._replies[min(len(self.prompts), len(self._replies)) - 1]

    @property
    def asked(self) -> list[str]:
        """The lists of questions."""
        return [prompt.user.split("Questions:\n")[1] for prompt in self.prompts]


def reading(text: str | Reply, *questions: Question, explain: Any = "doubtful", single: bool = False) -> Any:
    """What is read from one reply."""
    (request,) = group_questions(questions, 1 if single else 32)
    return LetterForm(PROMPTS, explain, single).read(request, Reply(text) if isinstance(text, str) else text)


def with_chances(text: str, chances: Sequence[dict[str, float]]) -> Reply:
    """A reply whose letters, in their order, have these chances."""
    places = [place for place, letter in enumerate(text) if letter in "YNU"]
    tokens = [Token(place, place + 1, tuple(one.items())) for place, one in zip(places, chances, strict=True)]
    return Reply(text, tokens=tuple(tokens))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("batch_size", [1, 3, 32])
@pytest.mark.parametrize("explain", ["none", "doubtful"])
def test_contract(check: Any, batch_size: int, explain: Any) -> None:
    def letter(prompt: Prompt, item: str) -> str:
        return "perhaps" if "Broken?" in prompt.user else "Y"

    check(Candidate(lambda: judge_of(Lettering(letter), batch_size=batch_size, letters=explain), failing=BROKEN))


@given(st.lists(st.sampled_from(POOL), min_size=1, max_size=40), st.sampled_from(FORMS))
def test_requests_group_and_fence_as_those_in_json_do(questions: list[Question], form: LetterForm) -> None:
    for request in group_questions(questions, 1 if form.single else 32):
        prompt, same = form.render(request), JSON.render(request)
        assert FENCED.findall(prompt.user) == FENCED.findall(same.user)
        assert prompt.user.startswith(same.user.split("\n\n")[0])
        assert not prompt.schema
        assert prompt.by_token
        assert prompt.largest_reply == 1 or prompt.largest_reply >= 4_000 + 4 * form.reply_tokens(request)


def test_one_letter_is_asked_for_in_one_token_behind_the_same_beginning() -> None:
    model = Lettering()
    answers(judge_of(model, batch_size=1, letters="doubtful"), [*CLAIMS, ask.declines(QUERY, RESPONSE)])
    beginnings = {prompt.user.split('Question:\nsupported: "')[0] for prompt in model.prompts[:4]}
    assert len(beginnings) == 1
    assert all(prompt.user.endswith(ONE_LETTER) and prompt.largest_reply == 1 for prompt in model.prompts)


def test_singly_what_is_explained_or_listed_has_the_room_that_it_needs() -> None:
    model = Lettering()
    found = answers(judge_of(model, batch_size=1, letters="all"), [CLAIMS[0], ask.claims(RESPONSE, QUERY)])
    assert [prompt.largest_reply > 4_000 for prompt in model.prompts] == [True, True]
    assert [type(one) for one in found] == [Verdict, tuple]


@pytest.mark.parametrize(
    ("explain", "has", "has_not"),
    [
        ("none", [], ["`quote`", "`why`", "goes on"]),
        ("doubtful", ["Behind N and U", "`quote`", 'Behind Y of supported it goes on with the quote alone: 1 Y'], []),
        ("all", ["Behind the letter", "`quote`"], ["Behind Y"]),
    ],
)  # fmt: skip
def test_the_words_are_those_of_json_without_what_is_not_asked_for(
    explain: Any, has: list[str], has_not: list[str]
) -> None:
    (request,) = group_questions(CLAIMS, 32)
    prompt = LetterForm(read_prompts(), explain).render(request)
    said = prompt.system + prompt.user
    assert all(words in said for words in has)
    assert not any(words in said for words in has_not)
    assert "Do the sources together support the whole claim" in prompt.user
    assert "what they don't say is a no." in prompt.system


def test_letters_become_verdicts_with_the_reason_and_the_quote_behind_them() -> None:
    found = reading('1 Y\n2 N · It costs 12. · "costs 12 euros"\n3 N · It says nothing.\n4 U · Both.', *CLAIMS).answers
    assert list(found.values()) == [
        Verdict("yes"),
        Verdict("no", explanation="It costs 12.", contradicted=True),
        Verdict("no", explanation="It says nothing."),
        Verdict("unknown", explanation="Both."),
    ]


def test_a_quote_of_a_yes_tells_which_text_says_so_or_is_flagged() -> None:
    found = reading('1 Y · "Dogs travel free"\n2 Y · "Cats travel free"\n3 Y\n4 Y', *CLAIMS).answers
    assert [one.explanation for one in found.values()] == ["(“Dogs travel free”)", "", "", ""]
    assert [one.flag for one in found.values()] == ["", "the quote is not in the text: “Cats travel free”", "", ""]


def test_a_probability_is_the_score_and_is_not_calibrated() -> None:
    chances = [
        {"Y": 0.6, " y": 0.1, "N": 0.2},
        {"N": 0.9, "Y": 0.1},
        {"N": 0.5, "Y": 0.4, "U": 0.1},
        {"U": 0.5, "Y": 0.3, "N": 0.2},
    ]
    found = list(reading(with_chances("1 Y\n2 N\n3 N\n4 U", chances), *CLAIMS).answers.values())
    assert [one.value for one in found] == ["yes", "no", "no", "unknown"]
    assert [one.score for one in found[:3]] == pytest.approx([0.7 / 0.9, 0.1, 0.4 / 0.9])
    assert [one.confidence for one in found[:3]] == pytest.approx([0.7 / 0.9, 0.9, 0.5 / 0.9])
    assert (found[3].score, found[3].confidence) == (None, None)
    assert [one.sure for one in found] == [True, True, False, True]
    assert [one.chance for one in found] == [None] * 4


def test_a_letter_against_the_odds_gives_way_with_its_reason() -> None:
    text = '1 N · it says Xes · "costs 12"'
    found = reading(with_chances(text, [{"N": 0.4, " Y": 0.3, "Y": 0.25}]), CLAIMS[0]).answers[CLAIMS[0]]
    assert (found.value, found.explanation, found.flag) == ("yes", "", "")
    assert found.score == pytest.approx(0.55 / 0.95)


def test_a_reason_that_is_copied_from_the_request_is_none() -> None:
    found = reading("1 N · it opens at 9, not at 10.\n2 N · it opens at 9", *CLAIMS[:2]).answers
    assert [one.explanation for one in found.values()] == ["", "it opens at 9"]


def test_lists_stand_in_the_same_reply() -> None:
    asked = [ask.declines(QUERY, RESPONSE), ask.claims(RESPONSE, QUERY), ask.questions(QUERY)]
    text = "1 N · it answers\nquestions:\n- What does it cost?\nclaims:\n- It costs 12 euros.\nremarks:\n- Bye."
    found = reading(text, *asked).answers
    assert found[asked[0]] == Verdict("no", explanation="it answers")
    assert found[asked[1]] == (Component("It costs 12 euros.", (0, 18)), Component("Bye.", (19, 23), remark=True))
    assert found[asked[2]] == (Component("What does it cost?", (0, 18)),)


def test_a_text_that_is_asked_for_is_one_item() -> None:
    standalone = next(question for question in QUESTIONS if question.kind == "standalone")
    assert reading("standalone: When was the tower built?", standalone).answers[standalone] == (
        Component("When was the tower built?"),
    )
    with pytest.raises(MalformedReply):
        reading("standalone: none", standalone)


def test_only_the_lines_that_are_missing_are_asked_again() -> None:
    model = Scripted("1 Y\n3 N", "1 N", "1 Y")
    found = answers(judge_of(model, letters="none"), CLAIMS)
    assert [one.value for one in found] == ["yes", "no", "no", "yes"]
    assert model.asked[1] == '1 supported: "Claim 2."\n2 supported: "Claim 4."'
    assert model.asked[2] == '1 supported: "Claim 4."'


def test_answers_of_a_part_are_kept_before_the_rest_is_asked() -> None:
    kept: list[Question] = []
    model = Scripted("1 Y\n3 N", "1 N\n2 Y")

    async def scenario() -> int:
        ARRIVED.set(lambda found, request: kept.extend(found))
        stream = judge_of(model, letters="none").ask(CLAIMS)
        await anext(stream)
        await stream.aclose()
        return len(model.prompts)

    assert asyncio.run(scenario()) == 1
    assert kept == [CLAIMS[0], CLAIMS[2]]


def test_lines_that_never_come_are_failures_after_five_replies() -> None:
    asked = [ask.supported(f"Claim {n}.", SOURCES) for n in range(8)]
    model = Scripted("1 Y")
    found = answers(judge_of(model, letters="none"), asked)
    assert [type(one) for one in found] == [Verdict] * 5 + [Failure] * 3
    assert len(model.prompts) == 5


def test_a_line_without_a_likely_letter_is_asked_again_alone_and_then_fails() -> None:
    def chances(prompt: Prompt, item: str) -> dict[str, float]:
        return {"Y": 0.3, "N": 0.1, "The": 0.6} if "Claim 2" in item else {"Y": 1.0}

    model = Lettering("Y", chances)
    found = answers(judge_of(model, letters="none"), CLAIMS)
    assert [type(one) for one in found] == [Verdict, Failure, Verdict, Verdict]
    assert "neither Y nor N nor U was likely there" in found[1].cause
    assert all(prompt.user.endswith('Questions:\n1 supported: "Claim 2."') for prompt in model.prompts[1:])
    assert len(model.prompts) == 6


def test_a_number_that_stands_there_twice_makes_the_reply_malformed() -> None:
    model = Scripted("1 Y\n2 Y\n2 N\n3 Y\n4 Y", "1 Y\n2 N\n3 Y\n4 Y")
    assert [one.value for one in answers(judge_of(model, letters="none"), CLAIMS)] == ["yes", "no", "yes", "yes"]
    assert model.prompts[1].refused == ("1 Y\n2 Y\n2 N\n3 Y\n4 Y", "the number 2 stands there twice")


def test_a_reply_that_breaks_off_counts_as_far_as_it_goes() -> None:
    model = Scripted(Reply("1 Y\n2 N · It costs 12, and the te", truncated=True), "1 N\n2 Y")
    found = answers(judge_of(model, letters="doubtful"), CLAIMS)
    assert found[:2] == [Verdict("yes"), Verdict("no")]
    assert [one.value for one in found[2:]] == ["no", "yes"]
    assert model.asked[1] == '1 supported: "Claim 3."\n2 supported: "Claim 4."'


def test_a_list_that_breaks_off_is_asked_again() -> None:
    asked = [ask.claims(RESPONSE, QUERY), ask.declines(QUERY, RESPONSE)]
    cut = Reply("1 N\nclaims:\n- It costs 12 euros.\nremarks:\n- By", truncated=True)
    model = Scripted(cut, "claims:\n- It costs 12 euros.\nremarks:\n- Bye.")
    found = answers(judge_of(model, letters="none"), asked)
    assert [one.text for one in found[0]] == ["It costs 12 euros.", "Bye."]
    assert model.asked[1] == "claims"


def test_a_model_that_thinks_first_ends_the_run_after_five_replies() -> None:
    for thought in (Reply("<think>", truncated=True), Reply("", truncated=True)):
        model = Scripted(thought)
        with pytest.raises(JudgeError, match=r"thinks before it replies.*switch its thinking off.*--batch-size"):
            answers(judge_of(model, batch_size=1, letters="none"), CLAIMS)
        assert len(model.prompts) <= 6


def test_in_a_list_a_model_may_think_first() -> None:
    found = answers(judge_of(Scripted("<think>1 N?</think>\n1 Y\n2 N\n3 Y\n4 Y"), letters="none"), CLAIMS)
    assert [one.value for one in found] == ["yes", "no", "yes", "yes"]


@pytest.mark.parametrize(
    ("text", "chances", "value"),
    [
        ("Y", None, "yes"), (" no", None, "no"), ("U.", None, "unknown"), ("The", None, None), ("", None, None),
        ("Y", {"Y": 0.9, "N": 0.1}, "yes"), ("The", {"The": 0.4, "Y": 0.1, "N": 0.45}, "no"),
        ("Y", {"Y": 0.4, "The": 0.6}, None),
    ],
)  # fmt: skip
def test_one_letter_is_read(text: str, chances: dict[str, float] | None, value: str | None) -> None:
    tokens = (Token(0, len(text), tuple(chances.items())),) if chances else ()
    reply = Reply(text, tokens=tokens, truncated=bool(text))
    if value is None:
        with pytest.raises(MalformedReply):
            reading(reply, CLAIMS[0], single=True)
    else:
        assert reading(reply, CLAIMS[0], single=True).answers[CLAIMS[0]].value == value


def judge(letters: Any, batch_size: int = 32) -> LLMJudge:
    ask_model = partial(Channel(LLMOptions(), Ledger()).ask, Scripted("").send)
    return LLMJudge("fake:model", ask_model, PROMPTS, batch_size=batch_size, letters=letters)


def test_other_forms_have_other_fingerprints_and_json_has_the_one_it_had() -> None:
    forms = [judge(None), judge("none"), judge("doubtful"), judge("all"), judge("none", 1)]
    assert len({one.fingerprint("supported") for one in forms}) == 5
    assert len({one.fingerprint("claims") for one in forms}) == 2
    assert judge("none", 2).fingerprint("supported") == judge("none").fingerprint("supported")
    assert judge(None).fingerprint("supported").startswith("llm:fake:model:")
    assert judge("none").fingerprint("supported").startswith("decide:fake:model:")


def test_the_estimate_is_what_is_asked() -> None:
    for batch_size in (1, 4, 32):
        model = Lettering()
        asking = judge_of(model, batch_size=batch_size, letters="doubtful")
        estimate = asking.estimate(QUESTIONS)
        answers(asking, QUESTIONS)
        assert estimate.requests == len(model.prompts)
        assert estimate.tokens_in == sum(prompt.tokens for prompt in model.prompts)


def test_every_kind_can_be_asked_and_read() -> None:
    asked = [question for question in QUESTIONS if question.kind in ASKED]
    found: list[Answer] = answers(judge_of(Lettering("N · because"), letters="doubtful"), asked)
    kinds = {question.kind for question in asked}
    assert kinds == set(ASKED)
    for question, answer in zip(asked, found, strict=True):
        assert isinstance(answer, tuple if question.kind in DECOMPOSITIONS else Verdict), answer
