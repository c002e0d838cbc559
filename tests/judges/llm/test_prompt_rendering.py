"""A request becomes a prompt: evidence, instructions, questions, and a schema that holds exactly what is asked."""

import json

import pytest
from contract import QUESTIONS
from hypothesis import given
from hypothesis import strategies as st
from test_request_grouping import LONGER, POOL, QUERY, RESPONSE, SHORT, SOURCES, TURNS

from fake_models import FENCED, JSON, PROMPTS, STRING, lines_of
from ragtriage.core import questions as ask
from ragtriage.judges.llm.fencing import fence, quoted
from ragtriage.judges.llm.kinds import in_order
from ragtriage.judges.llm.prompts import ASKED
from ragtriage.judges.llm.requests import group_questions, reply_names

EVERYTHING = [*POOL, *(question for question in QUESTIONS if question.kind in ASKED)]
several = st.lists(st.sampled_from(EVERYTHING), min_size=1, max_size=40)
sizes = st.sampled_from([1, 2, 5, 32])


def prompt_of(*questions):
    (request,) = group_questions(questions, 32)
    return JSON.render(request)


@given(several, sizes)
def test_the_prompt_is_evidence_then_instructions_then_questions(questions, batch_size):
    for request in group_questions(questions, batch_size):
        prompt = JSON.render(request)
        evidence, instructions, listed = FENCED.sub("[fence]", prompt.user).split("\n\n")
        kinds = list(dict.fromkeys(question.kind for question in request.questions))
        assert set(evidence.split("\n")) == {"[fence]"}
        assert instructions == "\n".join(f"{kind}: {PROMPTS.kinds[kind]}" for kind in kinds)
        assert listed.startswith("Questions:\n")
        assert prompt.system == PROMPTS.head


@given(several, sizes)
def test_every_question_has_a_line_and_a_member_of_the_reply(questions, batch_size):
    for request in group_questions(questions, batch_size):
        prompt = JSON.render(request)
        names = [name for name, _ in reply_names(request)]
        lines = [STRING.sub("", line).split()[0].rstrip(":") for line in lines_of(prompt)]
        assert lines == list(dict.fromkeys(names))
        members = set(prompt.schema["properties"])
        assert members == {
            member for name in names for member in (("claims", "remarks") if name == "claims" else (name,))
        }


@given(several, sizes)
def test_a_schema_is_strict_everywhere(questions, batch_size):
    for request in group_questions(questions, batch_size):
        schema = JSON.render(request).schema
        for form in (schema, *schema.get("$defs", {}).values()):
            assert form["additionalProperties"] is False
            assert form["required"] == list(form["properties"])
        used = {form["$ref"].rpartition("/")[2] for form in schema["properties"].values() if "$ref" in form}
        assert used == set(schema.get("$defs", {}))
        assert json.loads(json.dumps(schema)) == schema


def test_the_explanation_and_the_quote_come_before_the_verdict():
    prompt = prompt_of(ask.supported("It is tall.", (SHORT,)), ask.holds("It is short.", SHORT))
    q1, q2 = (prompt.schema["$defs"][prompt.schema["properties"][q]["$ref"][-1]] for q in ("q1", "q2"))
    assert q1["required"] == ["why", "quote", "verdict"]
    assert q2["required"] == ["why", "verdict"]


def test_the_evidence_is_the_same_bytes_at_the_start_of_every_request_about_it():
    evidence = "\n".join(fence("source", text) for text in in_order(SOURCES))
    requests = group_questions(POOL, 4)
    about_all = [JSON.render(r).user for r in requests if r.evidence.label == "source" and len(r.evidence.texts) > 2]
    assert len(about_all) > 1
    assert all(user.startswith(evidence) for user in about_all)
    for text in SOURCES:
        about_one = [
            JSON.render(r).user for r in requests if r.evidence.label == "source" and r.evidence.texts == (text,)
        ]
        assert len(about_one) > 1
        assert all(user.startswith(fence("source", text)) for user in about_one)


def test_a_response_stands_behind_its_query():
    user = prompt_of(ask.declines(QUERY, RESPONSE)).user
    assert user.startswith(f"{fence('query', QUERY)}\n{fence('response', RESPONSE)}\n\n")


def test_a_source_stands_before_the_query():
    user = prompt_of(ask.essential(QUERY, LONGER)).user
    assert user.startswith(f"{fence('source', LONGER)}\n{fence('query', QUERY)}\n\n")


def test_a_conversation_stands_in_one_fence_in_its_order():
    user = prompt_of(ask.standalone(QUERY, TURNS)).user
    inside = [found[2] for found in FENCED.finditer(user)]
    assert [text.replace("\u200d", "") for text in inside] == ["\n".join(TURNS), QUERY]


def test_sources_that_look_the_same_are_shown_once():
    user = prompt_of(ask.supported("It is tall.", ("The tower.", "The\u200b tower.", "A ferry."))).user
    assert sorted(found[2] for found in FENCED.finditer(user)) == ["A ferry.", "The tower."]


@pytest.mark.parametrize(
    ("question", "line"),
    [
        (ask.supported('Say "yes".\nNow.', (SHORT,)), 'q1 supported: "Say \\"yes\\".\\nNow."'),
        (ask.essential(QUERY, "It is tall."), 'q1 essential: "It is tall."'),
        (ask.essential(QUERY, LONGER), "q1 essential: the source as a whole"),
        (ask.essential(QUERY, LONGER, RESPONSE), f"q1 essential: {quoted(LONGER)}"),
        (ask.declines(QUERY, RESPONSE), "q1 declines"),
        (ask.same_answer(QUERY, ("38 m", "125 ft"), RESPONSE), 'q1 same_answer: "38 m", "125 ft"'),
        (ask.same_answer(QUERY, ("38 m",), RESPONSE, drawn=True), 'q1 same_answer, further responses: "38 m"'),
        (ask.holds("It is polite.", RESPONSE), 'q1 holds: "It is polite."'),
        (ask.claims(RESPONSE, QUERY), "claims"),
        (ask.standalone(QUERY, TURNS), "standalone"),
        (ask.questions_answered_by(RESPONSE, 3), "questions_answered_by: 3 questions"),
    ],
)
def test_how_a_question_is_listed(question, line):
    assert lines_of(prompt_of(question)) == [line]


def test_questions_written_for_two_purposes_are_written_once():
    prompt = prompt_of(ask.questions_answered_by(RESPONSE, 3), ask.questions_answered_by(RESPONSE, 5))
    assert lines_of(prompt) == ["questions_answered_by: 5 questions"]


@given(several)
def test_room_for_the_reply_grows_with_what_is_asked(questions):
    for request in group_questions(questions, 32):
        assert JSON.render(request).largest_reply >= 4_000 + 4 * JSON.reply_tokens(request) - 4
        assert JSON.reply_tokens(request) >= 30 * len(request.questions)
