"""Every question stands in one request, those about the same evidence together, and a request becomes a prompt."""

import json
import random

import pytest
from contract import QUESTIONS
from hypothesis import given
from hypothesis import strategies as st

from fake_models import FENCED, JSON, PROMPTS, STRING, lines_of
from ragtriage.core import questions as ask
from ragtriage.judges.llm.fencing import fence, quoted
from ragtriage.judges.llm.kinds import LONG, SharedEvidence, in_order
from ragtriage.judges.llm.prompts import ASKED
from ragtriage.judges.llm.requests import group_questions, reply_names

QUERY = "How tall is the tower, and when was it built?"
SUB_QUESTIONS = ("How tall is the tower?", "When was the tower built?", "Who built the tower?")
SHORT = "The tower is 38 metres tall."
LONGER = "The tower stands on a cliff. " * (LONG // 28)
SOURCES = (SHORT, LONGER, "It was built in 1889.", "A ferry calls twice a day.")
RESPONSE = "It is 38 metres tall. It was built in 1889."
REFERENCE = "38 metres, in 1889."
CLAIMS = ("The tower is 38 metres tall.", "The tower was built in 1889.", "The tower is " + "very " * 200 + "tall.")
TURNS = ("user: Tell me about the tower.", "assistant: Gladly.")

EVERYTHING = (
    ask.claims(RESPONSE, QUERY),
    ask.claims(REFERENCE, QUERY),
    ask.claims(RESPONSE),
    ask.questions(QUERY),
    ask.standalone(QUERY, TURNS),
    ask.declines(QUERY, RESPONSE),
    ask.questions_answered_by(RESPONSE, 3),
    ask.questions_answered_by(RESPONSE, 5),
    ask.same_answer(QUERY, (REFERENCE, "125 feet"), RESPONSE),
    ask.same_answer(QUERY, (RESPONSE,), "It is 12 metres tall."),
    ask.holds("It is polite.", RESPONSE, QUERY),
    ask.holds("It names a year.", SHORT),
    *(ask.facts(source) for source in SOURCES),
    *(ask.needed_sentences(QUERY, source) for source in SOURCES),
    *(ask.essential(QUERY, source) for source in SOURCES),
    *(ask.relevant(QUERY, source) for source in SOURCES),
    *(ask.essential(QUERY, claim, RESPONSE) for claim in CLAIMS),
    *(ask.relevant(QUERY, claim, RESPONSE) for claim in CLAIMS),
    *(ask.essential(QUERY, fact) for fact in CLAIMS),
    *(ask.answered(one, (source,), QUERY) for one in SUB_QUESTIONS for source in SOURCES),
    *(ask.answered(one, SOURCES, QUERY) for one in SUB_QUESTIONS),
    *(ask.answered(one, (RESPONSE,), QUERY, QUERY) for one in SUB_QUESTIONS),
    *(ask.supported(claim, SOURCES, QUERY, RESPONSE) for claim in CLAIMS),
    *(ask.supported(claim, (SHORT,), QUERY, RESPONSE) for claim in CLAIMS),
    *(ask.supported(claim, (REFERENCE,), QUERY, RESPONSE) for claim in CLAIMS),
    *(ask.supported(claim, (RESPONSE,), QUERY, REFERENCE) for claim in CLAIMS),
    *(ask.supported(claim, TURNS, QUERY, RESPONSE) for claim in CLAIMS),
)
POOL = tuple(dict.fromkeys(EVERYTHING))
"""What one case may be asked about, of every kind that a model is asked."""

several = st.lists(st.sampled_from(POOL), max_size=len(POOL))
sizes = st.sampled_from([1, 2, 3, 4, 5, 7, 10, 32])


def by_kind(request):
    return [question.kind for question in request.questions]


@given(several, sizes)
def test_every_question_stands_in_one_request_and_the_same_questions_make_the_same(questions, batch_size):
    requests = group_questions(questions, batch_size)
    placed = [question for request in requests for question in request.questions]
    assert len(placed) == len(set(placed))
    assert set(placed) == set(questions)
    assert all(1 <= len(request.questions) <= batch_size for request in requests)
    assert group_questions(list(questions), batch_size) == requests
    assert group_questions(questions + questions[::2], batch_size) == requests


@given(several, sizes, st.randoms(use_true_random=False))
def test_leaving_out_whole_requests_changes_no_other(questions, batch_size, draw):
    requests = group_questions(questions, batch_size)
    left = [request for request in requests if draw.random() < 0.6]
    wanted = {question for request in left for question in request.questions}
    again = group_questions([question for question in questions if question in wanted], batch_size)
    assert set(again) == set(left)
    assert {JSON.render(request).user for request in again} == {JSON.render(request).user for request in left}


@given(st.permutations(SOURCES), sizes)
def test_the_order_of_the_sources_does_not_matter(sources, batch_size):
    def prompts(order):
        questions = [ask.supported(claim, order, QUERY, RESPONSE) for claim in CLAIMS]
        questions += [ask.answered(one, order, QUERY) for one in SUB_QUESTIONS]
        return [JSON.render(request) for request in group_questions(questions, batch_size)]

    assert prompts(tuple(sources)) == prompts(SOURCES)


def test_a_source_that_was_retrieved_twice_is_shown_once():
    assert in_order((SHORT, LONGER, SHORT)) == in_order((LONGER, SHORT))
    (request,) = group_questions([ask.supported(CLAIMS[0], (SHORT, SHORT)), ask.facts(SHORT)], 32)
    assert request.evidence == SharedEvidence("source", (SHORT,))


@pytest.mark.parametrize("count", [1, 2, 31, 32, 33, 37, 64, 65, 67, 97, 100])
@pytest.mark.parametrize("batch_size", [1, 2, 4, 10, 32])
def test_a_large_group_is_cut_into_as_few_equal_parts_as_will_do(count, batch_size):
    questions = [ask.supported(f"Claim {n}.", SOURCES) for n in range(count)]
    parts = [request.questions for request in group_questions(questions, batch_size)]
    assert len(parts) == -(-count // batch_size)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert [question for part in parts for question in part] == questions


def test_alone_means_one_question_a_request():
    requests = group_questions(POOL, 1)
    assert len(requests) == len(POOL)
    assert {len(request.questions) for request in requests} == {1}


def test_everything_about_one_source_stands_in_one_request():
    questions = [
        ask.facts(SHORT),
        ask.essential(QUERY, SHORT),
        *(ask.answered(q, (SHORT,), QUERY) for q in SUB_QUESTIONS),
    ]
    (request,) = group_questions(questions, 32)
    assert request.evidence == SharedEvidence("source", (SHORT,), QUERY)
    assert sorted(by_kind(request)) == sorted(question.kind for question in questions)


def test_short_texts_that_only_the_query_asks_about_share_a_list_and_a_long_one_is_evidence_of_its_own():
    short = [ask.essential(QUERY, text) for text in (SHORT, *CLAIMS[:2], SOURCES[2])]
    listed, alone = group_questions([*short, ask.essential(QUERY, LONGER)], 32)
    assert listed.evidence == SharedEvidence("query", (QUERY,))
    assert set(listed.questions) == set(short)
    assert alone.evidence == SharedEvidence("source", (LONGER,), QUERY)


def test_the_query_goes_along_with_the_response_but_a_list_of_facts_does_not():
    facts = [ask.essential(QUERY, fact) for fact in CLAIMS[:2]]
    both, alone = group_questions([ask.questions(QUERY), ask.claims(RESPONSE, QUERY), *facts], 32)
    assert by_kind(both) == ["questions", "claims"]
    assert both.evidence == SharedEvidence("response", (RESPONSE,), QUERY)
    assert alone.evidence == SharedEvidence("query", (QUERY,))


def test_questions_are_written_without_a_look_at_the_query():
    requests = group_questions([ask.questions_answered_by(RESPONSE, 3), ask.claims(RESPONSE, QUERY)], 32)
    assert [request.evidence.query for request in requests] == ["", QUERY]


def test_a_source_is_shown_without_a_query_that_nobody_asks_about():
    questions = [ask.essential(QUERY, SHORT), *(ask.answered(f"Question {n}?", (SHORT,), QUERY) for n in range(5))]
    assert [request.evidence.query for request in group_questions(questions, 2)] == [QUERY, "", ""]


def test_an_odd_order_of_many_cases_changes_no_case():
    cases = [[ask.supported(f"Claim {n} of {case}.", (f"Source of {case}.",)) for n in range(5)] for case in range(6)]
    mixed = [question for case in cases for question in case]
    random.Random(3).shuffle(mixed)
    found = {frozenset(request.questions) for request in group_questions(mixed, 32)}
    assert found == {frozenset(case) for case in cases}


OF_EVERY_KIND = [*POOL, *(question for question in QUESTIONS if question.kind in ASKED)]
asked = st.lists(st.sampled_from(OF_EVERY_KIND), min_size=1, max_size=40)


def prompt_of(*questions):
    (request,) = group_questions(questions, 32)
    return JSON.render(request)


@given(asked, sizes)
def test_the_prompt_is_evidence_then_instructions_then_a_line_a_question(questions, batch_size):
    for request in group_questions(questions, batch_size):
        prompt = JSON.render(request)
        evidence, instructions, listed = FENCED.sub("[fence]", prompt.user).split("\n\n")
        kinds = list(dict.fromkeys(question.kind for question in request.questions))
        assert set(evidence.split("\n")) == {"[fence]"}
        assert instructions == "\n".join(f"{kind}: {PROMPTS.kinds[kind]}" for kind in kinds)
        assert listed.startswith("Questions:\n")
        assert prompt.system == PROMPTS.head

        names = [name for name, _ in reply_names(request)]
        lines = [STRING.sub("", line).split()[0].rstrip(":") for line in lines_of(prompt)]
        assert lines == list(dict.fromkeys(names))
        assert prompt.largest_reply >= 4_000 + 4 * JSON.reply_tokens(request) - 4
        assert JSON.reply_tokens(request) >= 30 * len(request.questions)


@given(asked, sizes)
def test_a_schema_has_a_member_a_question_and_is_strict_everywhere(questions, batch_size):
    for request in group_questions(questions, batch_size):
        schema = JSON.render(request).schema
        names = [name for name, _ in reply_names(request)]
        assert set(schema["properties"]) == {
            member for name in names for member in (("claims", "remarks") if name == "claims" else (name,))
        }
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


def test_a_response_stands_behind_its_query_and_a_source_before_it():
    query = fence("query", QUERY)
    assert prompt_of(ask.declines(QUERY, RESPONSE)).user.startswith(f"{query}\n{fence('response', RESPONSE)}\n\n")
    assert prompt_of(ask.essential(QUERY, LONGER)).user.startswith(f"{fence('source', LONGER)}\n{query}\n\n")


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
