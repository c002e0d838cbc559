"""Verdicts as letters: what is asked and what is read, with probabilities and without, in lists and singly."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from contract import QUESTIONS, answers
from hypothesis import given
from hypothesis import strategies as st
from test_requests import POOL

from fake_models import FENCED, JSON, PROMPTS, Lettering, Scripted, judge_of
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
from ragtriage.judges.llm.reply_json import JsonForm
from ragtriage.judges.llm.requests import group_questions
from ragtriage.judges.protocol import ARRIVED

SOURCES = ("A day pass costs 12 euros.", "Dogs travel free.")
CLAIMS = [ask.supported(f"Claim {n}.", SOURCES) for n in range(1, 5)]
QUERY, RESPONSE = "What does it cost?", "It costs 12 euros. Bye."
BROKEN = ask.declines("Broken?", "Broken.")
FORMS = [LetterForm(PROMPTS, explain, single) for explain in ("none", "doubtful", "all") for single in (False, True)]


def asked(model: Scripted) -> list[str]:
    """The lists of questions."""
    return [prompt.user.split("Questions:\n")[1] for prompt in model.prompts]


def reading(text: str | Reply, *questions: Question, explain: Any = "doubtful", single: bool = False) -> Any:
    """What is read from one reply."""
    (request,) = group_questions(questions, 1 if single else 32)
    return LetterForm(PROMPTS, explain, single).read(request, Reply(text) if isinstance(text, str) else text)


def with_chances(text: str, chances: Sequence[dict[str, float]]) -> Reply:
    """A reply whose letters, in their order, have these chances."""
    places = [place for place, letter in enumerate(text) if letter in "YNU"]
    tokens = [Token(place, place + 1, tuple(one.items())) for place, one in zip(places, chances, strict=True)]
    return Reply(text, tokens=tuple(tokens))


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
    questions = [ask.declines(QUERY, RESPONSE), ask.claims(RESPONSE, QUERY), ask.questions(QUERY)]
    text = "1 N · it answers\nquestions:\n- What does it cost?\nclaims:\n- It costs 12 euros.\nremarks:\n- Bye."
    found = reading(text, *questions).answers
    assert found[questions[0]] == Verdict("no", explanation="it answers")
    assert found[questions[1]] == (Component("It costs 12 euros.", (0, 18)), Component("Bye.", (19, 23), remark=True))
    assert found[questions[2]] == (Component("What does it cost?", (0, 18)),)


def test_a_text_that_is_asked_for_is_one_item() -> None:
    standalone = next(question for question in QUESTIONS if question.kind == "standalone")
    assert reading("standalone: When was the tower built?", standalone).answers[standalone] == (
        Component("When was the tower built?"),
    )
    with pytest.raises(MalformedReply):
        reading("standalone: none", standalone)


TWICE = "1 Y\n2 Y\n2 N\n3 Y\n4 Y"
CUT = Reply("1 Y\n2 N · It costs 12, and the te", truncated=True)


@pytest.mark.parametrize(
    ("replies", "values", "again"),
    [
        (["1 Y\n3 N", "1 N", "1 Y"], "yes no no yes", [CLAIMS[1::2], CLAIMS[3:]]),
        ([TWICE, "1 Y\n2 N\n3 Y\n4 Y"], "yes no yes yes", [CLAIMS]),
        ([CUT, "1 N\n2 Y"], "yes no no yes", [CLAIMS[2:]]),
        (["<think>1 N?</think>\n1 Y\n2 N\n3 Y\n4 Y"], "yes no yes yes", []),
    ],
    ids=["lines are missing", "a number stands there twice", "it breaks off", "it thinks first"],
)
def test_what_was_not_said_once_is_asked_again(replies: Any, values: str, again: list[list[Question]]) -> None:
    model = Scripted(*replies)
    found = answers(judge_of(model, letters="doubtful"), CLAIMS)

    assert [one.value for one in found] == values.split()
    assert not any(one.explanation for one in found)  # one that breaks off is none
    assert asked(model)[1:] == [
        "\n".join(f'{n} supported: "{claim.subject}"' for n, claim in enumerate(some, 1)) for some in again
    ]
    refused = [(TWICE, "the number 2 stands there twice")] if TWICE in replies else []
    assert [prompt.refused for prompt in model.prompts if prompt.refused] == refused


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
    questions = [ask.supported(f"Claim {n}.", SOURCES) for n in range(8)]
    model = Scripted("1 Y")
    found = answers(judge_of(model, letters="none"), questions)
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


def test_a_list_that_breaks_off_is_asked_again() -> None:
    questions = [ask.claims(RESPONSE, QUERY), ask.declines(QUERY, RESPONSE)]
    cut = Reply("1 N\nclaims:\n- It costs 12 euros.\nremarks:\n- By", truncated=True)
    model = Scripted(cut, "claims:\n- It costs 12 euros.\nremarks:\n- Bye.")
    found = answers(judge_of(model, letters="none"), questions)
    assert [one.text for one in found[0]] == ["It costs 12 euros.", "Bye."]
    assert asked(model)[1] == "claims"


def test_a_model_that_thinks_first_ends_the_run_after_five_replies() -> None:
    for thought in (Reply("<think>", truncated=True), Reply("", truncated=True)):
        model = Scripted(thought)
        with pytest.raises(JudgeError, match=r"thinks before it replies.*switch its thinking off.*--batch-size"):
            answers(judge_of(model, batch_size=1, letters="none"), CLAIMS)
        assert len(model.prompts) <= 6


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
    form = LetterForm(PROMPTS, letters, batch_size == 1) if letters else JsonForm(PROMPTS)
    return LLMJudge("fake:model", ask_model, form, batch_size=batch_size)


def test_other_forms_have_other_fingerprints_and_json_has_the_one_it_had() -> None:
    forms = [judge(None), judge("none"), judge("doubtful"), judge("all"), judge("none", 1)]
    assert len({one.fingerprint("supported") for one in forms}) == 5
    assert len({one.fingerprint("claims") for one in forms}) == 2
    assert judge("none", 2).fingerprint("supported") == judge("none").fingerprint("supported")
    assert judge(None).fingerprint("supported").startswith("llm:fake:model:")
    assert judge("none").fingerprint("supported").startswith("decide:fake:model:")


def test_every_kind_can_be_asked_and_read() -> None:
    questions = [question for question in QUESTIONS if question.kind in ASKED]
    found: list[Answer] = answers(judge_of(Lettering("N · because"), letters="doubtful"), questions)
    kinds = {question.kind for question in questions}
    assert kinds == set(ASKED)
    for question, answer in zip(questions, found, strict=True):
        assert isinstance(answer, tuple if question.kind in DECOMPOSITIONS else Verdict), answer
