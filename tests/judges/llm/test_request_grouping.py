"""Every question stands in one request, and those about the same evidence together."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_models import JSON
from ragtriage.core import questions as ask
from ragtriage.judges.llm.kinds import LONG, SharedEvidence, in_order
from ragtriage.judges.llm.requests import group_questions

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
def test_every_question_stands_in_one_request(questions, batch_size):
    placed = [question for request in group_questions(questions, batch_size) for question in request.questions]
    assert len(placed) == len(set(placed))
    assert set(placed) == set(questions)


@given(several, sizes)
def test_no_request_is_larger_than_asked_nor_empty(questions, batch_size):
    assert all(1 <= len(request.questions) <= batch_size for request in group_questions(questions, batch_size))


@given(several, sizes)
def test_the_same_questions_make_the_same_requests(questions, batch_size):
    assert group_questions(questions, batch_size) == group_questions(list(questions), batch_size)
    assert group_questions(questions + questions[::2], batch_size) == group_questions(questions, batch_size)


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


def test_short_texts_that_only_the_query_asks_about_share_a_list():
    (request,) = group_questions([ask.essential(QUERY, text) for text in (SHORT, *CLAIMS[:2], SOURCES[2])], 32)
    assert request.evidence == SharedEvidence("query", (QUERY,))


def test_a_long_text_is_evidence_of_its_own():
    listed, alone = group_questions([ask.essential(QUERY, SHORT), ask.essential(QUERY, LONGER)], 32)
    assert listed.evidence == SharedEvidence("query", (QUERY,))
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
