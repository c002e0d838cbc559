"""The LLM judge keeps the contract of every judge, and asks as few requests as it may."""

import asyncio
from dataclasses import replace

import pytest
from contract import CHECKS, QUESTIONS, Candidate, answers
from test_requests import POOL

from fake_models import PROMPTS, Answering, Lettering, judge_of, lines_of
from ragtriage.core import questions as ask
from ragtriage.core.case import Case, Source, Turn
from ragtriage.core.errors import JudgeError
from ragtriage.core.questions import KINDS
from ragtriage.core.verdicts import Component, Failure, Score, Undefined, Verdict
from ragtriage.diagnosis.rules import RULES, needs_of
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.llm.judge import LLMJudge
from ragtriage.judges.llm.options import ModelUnusable, Price, Reply
from ragtriage.judges.llm.prompts import ASKED
from ragtriage.judges.llm.reply_json import JsonForm
from ragtriage.judges.protocol import REQUEST, Estimate
from ragtriage.judges.wrappers.combined import Routed
from ragtriage.metrics import CITATIONS, GROUPS, METRICS, THELMA, metrics_named

LOCAL = ("sentences", "similarity")
"""The kinds that no model is asked."""
BROKEN = ask.declines("Broken?", "Broken.")
WITHOUT_FACTS = tuple(metric for metric in THELMA if metric.name != "fact_precision")


def model_in(form, broken="Broken?"):
    """One that fails where that is said: in JSON, or in letters."""
    if form == "json":
        return Answering(refuses=broken)
    return Lettering(lambda prompt, item: "perhaps" if broken in prompt.user else "Y")


def judge_in(form, model, batch_size):
    return judge_of(model, batch_size=batch_size, letters=None if form == "json" else form)


FORMS = pytest.mark.parametrize("form", ["json", "none", "doubtful"])


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("batch_size", [1, 3, 32])
@FORMS
def test_contract(check, batch_size, form):
    check(Candidate(lambda: judge_in(form, model_in(form), batch_size), failing=BROKEN))


@pytest.mark.parametrize("batch_size", [1, 4, 32])
@FORMS
def test_the_estimate_is_what_is_asked(form, batch_size):
    model = model_in(form)
    judge = judge_in(form, model, batch_size)
    estimate = judge.estimate(QUESTIONS)
    answers(judge, QUESTIONS)
    assert estimate.requests == len(model.prompts)
    assert estimate.tokens_in == sum(prompt.tokens for prompt in model.prompts)
    assert estimate.price is None


def test_it_answers_all_but_what_no_model_need_be_asked():
    judge = judge_of(Answering())
    assert {kind for kind in KINDS if judge.unsupported_reason(kind, "en")} == set(LOCAL)
    assert all(judge.unsupported_reason(kind, "xx") is None for kind in ASKED)
    found = answers(judge, [ask.sentences("One. Two."), ask.similarity("One.", ("Two.",))])
    assert [answer.cause for answer in found] == [
        judge.unsupported_reason("sentences", "en"),
        judge.unsupported_reason("similarity", "en"),
    ]


def test_a_question_that_comes_twice_is_asked_once():
    model = Answering()
    found = answers(judge_of(model), [BROKEN, BROKEN, BROKEN])
    assert len(model.prompts) == 1
    assert len(lines_of(model.prompts[0])) == 1
    assert found[0] == found[1] == found[2]


def test_a_reply_that_never_fits_fails_its_request_alone():
    model = Answering(refuses="Broken?")
    found = answers(judge_of(model), [*POOL, BROKEN])
    assert isinstance(found[-1], Failure)
    assert "not one JSON object" in found[-1].cause
    assert not [answer for answer in found[:-1] if isinstance(answer, Failure)]


def test_what_was_in_flight_is_yielded_before_an_error_of_every_request_ends_it():
    async def refused_at_last(prompt):
        if "A ferry calls" in prompt.user:
            raise ModelUnusable("no credit")
        for _ in range(5):
            await asyncio.sleep(0)

    found = []

    async def scenario():
        async for pair in judge_of(Answering(first=refused_at_last)).ask(POOL):
            found.append(pair)  # noqa: PERF401  # kept although it ends with an error

    with pytest.raises(JudgeError, match="no credit"):
        asyncio.run(scenario())
    assert found
    assert all(isinstance(answer, Verdict | tuple) for _, answer in found)


def test_a_caller_that_leaves_takes_its_requests_along():
    left = []

    async def slow(prompt):
        if len(model.prompts) > 2:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                left.append(prompt)
                raise

    async def scenario():
        stream = judge_of(model).ask(POOL)
        await anext(stream)
        await stream.aclose()
        return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    model = Answering(first=slow)
    assert asyncio.run(scenario()) == []
    assert left


def test_answers_tell_in_which_request_they_travelled():
    model = Answering()
    judge = judge_of(model, batch_size=5)

    async def scenario():
        return {POOL[i]: REQUEST.get() async for i, _ in judge.ask(POOL)}

    batches = asyncio.run(scenario())
    assert len(set(batches.values())) == len(model.prompts)
    assert all(0 < len([q for q in batches if batches[q] == batch]) <= 5 for batch in batches.values())
    assert asyncio.run(scenario()) == batches


def test_the_price_is_estimated_where_it_is_known():
    async def ask_nobody(prompt, read):
        raise AssertionError

    judge = LLMJudge("a:b", ask_nobody, JsonForm(PROMPTS), price=Price(1.0, 10.0))
    estimate = judge.estimate(QUESTIONS)
    assert estimate.price == pytest.approx((estimate.tokens_in + 10 * estimate.tokens_out) / 1e6)
    assert judge.estimate([]) == Estimate()
    assert judge.estimate([ask.sentences("One.")]).requests == 0


def test_a_fingerprint_holds_what_the_answers_depend_on_and_no_more():
    def prints(name="a:b", prompts=PROMPTS, **more):
        async def ask_nobody(prompt, read):
            raise AssertionError

        judge = LLMJudge(name, ask_nobody, JsonForm(prompts), **more)
        return {kind: judge.fingerprint(kind) for kind in KINDS}

    def changed(other):
        return {kind for kind in KINDS if prints()[kind] != other[kind]}

    edited = replace(PROMPTS, kinds={**PROMPTS.kinds, "claims": "Break it."})
    assert changed(prints(batch_size=1, price=Price(1, 2))) == set()
    assert changed(prints(name="a:c")) == changed(prints(identity="http://localhost")) == set(KINDS)
    assert changed(prints(prompts=edited)) == {"claims"}
    assert changed(prints(prompts=replace(PROMPTS, head="Judge."))) == set(ASKED)
    assert len({prints()[kind] for kind in ASKED}) == len(ASKED)


SOURCES = tuple(
    Source(f"Source {n} tells of the tower, of its height and of the year {1880 + n}. " + f"Word {n}. " * 12 * n * n)
    for n in range(5)
)
CASE = Case(
    "1",
    "How tall is the tower, when was it built, and who built it?",
    SOURCES,
    "It is 38 metres tall. It was built in 1889. Ada Morrow built it.",
)


def scores_of(model, metrics, case=CASE, rules=RULES, **changes):
    def local(question):
        if question.kind == "sentences":
            return tuple(Component(text) for text in question.subject.split(". "))
        return Verdict("no", 0.2)

    judge = judge_of(model, **changes)
    routed = Routed({**dict.fromkeys(ASKED, judge), **dict.fromkeys(LOCAL, FakeJudge(local))}, "fake")
    (record,) = evaluate_sync([case], routed, metrics=metrics, also=needs_of(rules))
    return {name: outcome for name, outcome in record.outcomes.items() if not isinstance(outcome, Undefined)}


def in_turn(prompt, name):
    """Neither all yes nor all no, and the same for the same question."""
    return "yes" if (len(prompt.user) + int(name[1:])) % 2 else "no"


CITING = replace(
    CASE,
    response="The tower is high [1]. It was built in 1889 [2]. Ada Morrow built it [3]. It is red [4]. "
    "It is open [2][5].\n\nIn short, the tower is worth a visit.",
)
"""Six segments over five sources: four cite one source, one cites two, one none."""

FULL = replace(
    CASE,
    sources=tuple(replace(source, id=f"s{n}") for n, source in enumerate(SOURCES)),
    reference="It is 38 metres tall, it was built in 1889, and Ada Morrow built it.",
    samples=("38 metres.", "It is 38 metres tall; it dates from 1889.", "40 metres.", "Nobody knows."),
    relevant_ids=("s1", "s3"),
)
"""With everything that a metric may need but citations."""
FULL_CITING = replace(FULL, response=CITING.response)


ASKED_FOR = {
    "seven": (THELMA, CASE, RULES, 13),
    "six": (WITHOUT_FACTS, CASE, RULES, 9),
    "all": (METRICS, FULL, RULES, 17),
    "all, citing": (METRICS, FULL_CITING, RULES, 20),
    "citations alone": (CITATIONS, CITING, (), 8),
    "citations beside": ((*THELMA, *CITATIONS), CITING, RULES, 16),
}
"""Metrics of a case over five sources, rules, and the most requests that they take."""


@pytest.mark.parametrize("verdict", ["yes", "no", "unknown", in_turn], ids=["yes", "no", "unknown", "mixed"])
@pytest.mark.parametrize("name", ASKED_FOR)
def test_scores_over_five_sources_take_few_requests(name, verdict):
    metrics, case, rules, most = ASKED_FOR[name]
    model = Answering(verdict)
    scores = scores_of(model, metrics, case, rules)
    assert len(model.prompts) <= most
    assert all(isinstance(score, Score) for score in scores.values())
    if verdict != "unknown":
        lacking = () if "[1]" in case.response else CITATIONS
        assert set(scores) == {metric.name for metric in metrics if metric not in lacking}
    elif metrics in (THELMA, WITHOUT_FACTS):
        assert set(scores) == {"self_distinctness"}


def test_all_metrics_take_far_fewer_requests_together_than_apart():
    together = Answering("no")
    scores_of(together, METRICS, case=FULL_CITING)
    apart = 0
    for group in GROUPS.keys() - {"all"}:
        model = Answering("no")
        scores_of(model, GROUPS[group], case=FULL_CITING)
        apart += len(model.prompts)
    assert len(together.prompts) < apart / 2


def test_questions_are_written_from_the_response_alone():
    model = Answering("yes")
    scores_of(model, metrics_named(["query_similarity"]), case=FULL)
    (prompt,) = [prompt for prompt in model.prompts if "questions_answered_by: 3 questions" in lines_of(prompt)]
    assert lines_of(prompt) == ["questions_answered_by: 3 questions"]
    assert FULL.response in prompt.user
    assert FULL.query not in prompt.user


def test_a_source_is_asked_for_its_sentences_beside_the_query():
    model = Answering("yes")
    scores_of(model, metrics_named(["ragas_context_relevance", "source_precision"]), case=FULL)
    asked = [prompt for prompt in model.prompts if "needed_sentences" in lines_of(prompt)]
    assert len(asked) == len(FULL.sources)
    for prompt in asked:
        assert FULL.query in prompt.user
        assert lines_of(prompt)[0] == "q1 essential: the source as a whole"
        assert prompt.schema["properties"]["needed_sentences"] == {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(("sources", "most"), [(4, 8_000), (5, 8_400)])  # the benchmark's cases have four
def test_all_scores_take_few_tokens(sources, most):
    model = Answering("no")
    scores_of(model, THELMA, case=replace(CASE, sources=SOURCES[:sources]))
    assert sum(prompt.tokens for prompt in model.prompts) <= most


def test_the_papers_way_is_one_question_a_request_with_the_same_verdicts():
    together, alone = Answering("no"), Answering("no")
    found = scores_of(together, THELMA), scores_of(alone, THELMA, batch_size=1)
    assert {len(lines_of(prompt)) for prompt in alone.prompts} == {1}
    assert len(alone.prompts) == sum(len(lines_of(prompt)) for prompt in together.prompts)
    assert {name: score.value for name, score in found[0].items()} == {n: s.value for n, s in found[1].items()}


def test_a_query_of_a_conversation_is_first_understood_alone():
    model = Answering("yes")
    case = replace(CASE, query="And when?", history=(Turn("user", "How tall is the tower?"), Turn("assistant", "38 m")))
    (record,) = evaluate_sync([case], judge_of(model), metrics=WITHOUT_FACTS[:1])
    assert lines_of(model.prompts[0]) == ["standalone"]
    assert "user: How tall is the tower?\nassistant: 38 m" in model.prompts[0].user.replace("\u200d", "")
    assert not [prompt for prompt in model.prompts[1:] if "And when?" in prompt.user]
    assert isinstance(record.outcomes[WITHOUT_FACTS[0].name], Score)


def test_replies_may_come_in_any_order_and_a_malformed_one_is_asked_again():
    async def uneven(prompt):
        for _ in range(len(prompt.user) % 7):
            await asyncio.sleep(0)

    async def stammering(prompt):
        return None if prompt.refused else Reply('{"q1": ')

    plain, *others = (
        answers(judge_of(Answering(first=first), batch_size=3), POOL) for first in (None, uneven, stammering)
    )
    assert others == [plain, plain]


def test_segments_that_cite_one_source_share_a_request_with_what_else_is_asked_of_it():
    alone, beside, without = Answering("yes"), Answering("yes"), Answering("yes")
    scores_of(alone, CITATIONS, CITING, ())
    scores_of(beside, (*THELMA, *CITATIONS), case=CITING)
    scores_of(without, THELMA, case=CITING)
    assert len(beside.prompts) - len(without.prompts) == 2  # two sources together, and round two
    assert len(alone.prompts) == 5 + 2
