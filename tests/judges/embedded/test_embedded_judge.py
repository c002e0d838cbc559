"""The embedded judge: the contract, the same answer whatever surrounds a question, what it loads and lets go, rows."""

import asyncio
import gc
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from contract import CHECKS, Candidate, answers, gathered
from onnxruntime import InferenceSession

from examples import examples
from ragtriage.core import questions as ask
from ragtriage.core.case import Case, Source
from ragtriage.core.questions import KINDS, Question
from ragtriage.core.verdicts import Answer, Failure, Score, Verdict
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.evaluation.predict import PredictionTask, predict, questions_of
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.embedded.features import pairwise_products, products_with
from ragtriage.judges.embedded.question_batches import QuestionBatcher
from ragtriage.metrics import CITATIONS

TOWER = (
    "The lighthouse of Skerrow was finished in 1889. It is 38 metres tall and stands on the northern cliff.",
    "Visitors may climb the tower from May to September. Tickets cost 6 euros; children under ten pay nothing.",
    "The keeper's house was sold in 1972 and holds a small café today. It doesn't open on Mondays.",
)
QUERY = "How tall is the lighthouse of Skerrow?"
SOME = (
    ask.supported("The lighthouse was completed in 1889.", TOWER, QUERY),
    ask.supported("The tower was built by Ada Morrow in 1902.", TOWER, QUERY),
    ask.essential(QUERY, TOWER[0]),
    ask.essential(QUERY, "It is 38 metres tall and stands on the northern cliff.", TOWER[0]),
    ask.relevant(QUERY, TOWER[1]),
    ask.answered(QUERY, TOWER),
    ask.answered("Who designed the lighthouse?", (TOWER[1],)),
    ask.same_answer(QUERY, ("38 metres", "38 m"), "It is 38 metres tall."),
    ask.similarity("Tickets cost 6 euros.", ("A ticket costs 6 euros.", "The café is closed.")),
    ask.declines(QUERY, "I don't know."),
    ask.claims("It is 38 metres tall. It opens in May."),
    ask.facts(TOWER[0]),
    ask.questions("How tall is it and when was it built?"),
    ask.sentences("One. Two."),
    ask.needed_sentences(QUERY, TOWER[0]),
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(embedded: EmbeddedJudge, check: Callable[[Candidate], None]) -> None:
    check(Candidate(lambda: embedded, failing=ask.answered("?", ())))


def test_it_answers_every_kind_that_it_can_with_a_reason_and_for_free(embedded: EmbeddedJudge) -> None:
    kinds = {question.kind for question in SOME}

    assert kinds == {kind for kind in KINDS if embedded.unsupported_reason(kind, "en") is None}
    assert all(
        one.confidence is not None and one.explanation for one in answers(embedded, SOME) if isinstance(one, Verdict)
    )
    assert embedded.name() == "embedded"
    assert (embedded.estimate(SOME).requests, embedded.estimate(SOME).price) == (0, 0)
    assert len({embedded.fingerprint(kind) for kind in ("claims", "supported", "answered", "similarity")}) == 4
    assert embedded.fingerprint("supported") == EmbeddedJudge().fingerprint("supported")


def test_it_says_which_language_it_was_measured_on_and_what_it_cannot_do_in_any(embedded: EmbeddedJudge) -> None:
    reason = embedded.unsupported_reason("supported", "de")
    anyhow = EmbeddedJudge(any_language=True)
    asking = [ask.standalone("And when?", TOWER), ask.questions_answered_by(TOWER[0], 3), ask.holds("Polite", TOWER[0])]

    assert embedded.unsupported_reason("supported", "en") is None
    assert reason is not None
    assert "English only" in reason
    assert "German" in reason
    assert anyhow.unsupported_reason("supported", "de") is None
    for question, answer in zip(asking, answers(anyhow, asking), strict=True):
        assert answer == Failure(str(anyhow.unsupported_reason(question.kind, "de")))
        assert anyhow.unsupported_reason(question.kind, "en") == anyhow.unsupported_reason(question.kind, "de")


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_sources_changes_nothing(embedded: EmbeddedJudge, seed: int) -> None:
    sources = list(TOWER)
    random.Random(seed).shuffle(sources)
    for claim in ("The tower is 38 metres tall.", "Children pay 3 euros in May.", "The café opens on Mondays."):
        told = answers(embedded, [ask.supported(claim, some, QUERY) for some in (TOWER, sources)])
        told += answers(embedded, [ask.answered(claim, some) for some in (TOWER, sources)])
        assert (told[0], told[2]) == (told[1], told[3])


def test_a_verdict_depends_on_its_question_alone() -> None:
    alone, together = EmbeddedJudge(), EmbeddedJudge(threads=1)
    shuffled = list(SOME)
    random.Random(1).shuffle(shuffled)
    more = [ask.supported(f"The tower has {n} steps and a red lamp.", TOWER) for n in range(40)]

    one_by_one = [answers(alone, [question])[0] for question in shuffled]
    assert answers(together, [*more, *shuffled])[len(more) :] == one_by_one
    alone.close()
    together.close()


def test_a_text_without_a_word_is_why_a_question_fails(embedded: EmbeddedJudge) -> None:
    (failed,) = answers(embedded, [ask.supported("A claim.", ("  ",))])

    assert isinstance(failed, Failure)
    assert "no word" in failed.cause


async def in_order(judge: EmbeddedJudge, questions: Sequence[Question]) -> list[Answer]:
    return [answer for _, answer in sorted(await gathered(judge, questions), key=lambda pair: pair[0])]


def test_many_tasks_at_once_and_several_loops(embedded: EmbeddedJudge) -> None:
    async def crowd() -> list[list[Answer]]:
        return await asyncio.gather(*(in_order(embedded, [SOME[n % len(SOME)], SOME[0]]) for n in range(64)))

    first, second = asyncio.run(crowd()), asyncio.run(crowd())
    assert first == second
    assert all(answers[1] == first[0][1] for answers in first)

    found: list[list[list[Answer]]] = []
    threads = [threading.Thread(target=lambda: found.append(asyncio.run(crowd()))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [first, first]


def own_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("ragtriage-")}


def test_closing_lets_models_and_threads_go_and_a_later_question_loads_again() -> None:
    def sessions() -> set[int]:
        return {id(one) for one in gc.get_objects() if type(one) is InferenceSession}

    before, threads = sessions(), own_threads()
    one = EmbeddedJudge()
    first = answers(one, SOME)

    assert len(sessions()) == len(before) + 3
    assert any("reader" in thread.name for thread in own_threads())
    one.close()
    one.close()
    assert sessions() == before
    assert own_threads() <= threads
    assert answers(one, SOME[:1]) == first[:1]
    one.close()


def test_the_model_is_not_loaded_before_it_is_needed() -> None:
    code = (
        "import sys, ragtriage, ragtriage.judges.embedded as e; e.EmbeddedJudge();"
        "assert not {'numpy', 'onnxruntime', 'tokenizers'} & set(sys.modules), 'loaded too early'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize(
    "text", ["", "\x00", "?!", "字" * 3000, "a" * 5000, "word " * 5000, "| a | b |\n|---|---|\n| 1 | 2 |", "🙂"]
)
def test_odd_texts_give_an_answer(embedded: EmbeddedJudge, text: str) -> None:
    questions = [
        ask.supported(text, TOWER),
        ask.supported("A claim.", [text]),
        ask.essential(QUERY, text),
        ask.relevant(text, TOWER[0]),
        ask.answered(text, TOWER),
        ask.same_answer(text, [text], text),
        ask.similarity(text, [text, "b"], 0),
    ]
    assert all(isinstance(answer, Verdict | Failure) for answer in answers(embedded, questions))


def predicted(judge: EmbeddedJudge, task: PredictionTask, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    return asyncio.run(predict(judge, task, rows))


def test_rows_are_judged_by_their_fields(embedded: EmbeddedJudge) -> None:
    sources = list(TOWER)
    good, bad, broken = predicted(
        embedded,
        "supported",
        {"id": "good", "claim": "It was finished in 1889. It is 38 metres tall.", "sources": sources, "set": "a"},
        {"id": "bad", "claim": "It is 38 metres tall. Ada Morrow won the Halden prize for it.", "sources": sources},
        {"id": "broken", "sources": sources},
    )

    assert good["id"] == "good"
    assert good["score"] > bad["score"]
    assert broken["score"] is None
    assert "claim" in broken["error"]


def test_rows_of_the_other_tasks(embedded: EmbeddedJudge) -> None:
    talk = "Earlier: hello\n\nQuestion: How tall?"
    ferry = {"query": "When does the ferry leave?", "response": "It leaves at 9."}
    repeated, single = predicted(
        embedded,
        "similar",
        {"id": 1, "response": "Tickets cost 6 euros. A ticket costs 6 euros."},
        {"id": 2, "response": "One sentence."},
    )
    any_truth = predicted(embedded, "same-answer", {**ferry, "truth": ["at 8", "at 9"]}, {**ferry, "truth": "at 9"})

    assert [*questions_of("similar", {"a": "x", "b": "y"})] == [ask.similarity("x", ("y",))]
    assert [*questions_of("answered", {"question": talk, "sources": ["s"]})] == [
        ask.answered("How tall?", ("s",), talk)
    ]
    assert repeated["verdict"] == "yes"
    assert repeated["score"] > 0.5
    assert single == {"id": 2, "verdict": "no", "confidence": None, "score": 0.0, "sure": True}
    assert [one["verdict"] for one in any_truth] == ["yes", "yes"]


def test_the_least_supported_part_of_a_claim_decides(embedded: EmbeddedJudge) -> None:
    good, bad = TOWER[0], "Whales are fish that eat bread."
    rows = [{"claim": claim, "sources": list(TOWER)} for claim in (good, bad, f"{good} {bad}", f"{bad} {good}")]
    first, second, both, turned = (one["score"] for one in predicted(embedded, "supported", *rows))

    assert first > 0.5 > second
    assert both == pytest.approx(second, abs=0.1)
    assert turned == pytest.approx(second, abs=0.1)


def test_a_question_in_a_conversation_is_never_left_out_of_what_is_looked_for(embedded: EmbeddedJudge) -> None:
    talk = "User: Tell me about the moon.\nAssistant: The moon orbits the earth.\n\nQuestion: "
    sources = ["The ferry costs 5 euros and leaves at nine.", "The moon orbits the earth."]
    asked = ["How far is it from there to Mars?", "What is its colour, and does it have mountains?"]
    first, second = predicted(embedded, "answered", *({"question": talk + one, "sources": sources} for one in asked))

    assert first["score"] != second["score"]


@pytest.mark.parametrize("row", examples("rows_without_a_text"))
def test_without_a_text_a_row_is_no_as_in_an_evaluation(embedded: EmbeddedJudge, row: dict[str, Any]) -> None:
    (found,) = predicted(embedded, row["task"], {"id": 1, **row["fields"]})

    assert found == {"id": 1, "verdict": "no", "confidence": 1.0, "score": 0.0, "sure": True}


def test_an_empty_claim_says_nothing_that_is_not_supported(embedded: EmbeddedJudge) -> None:
    (found,) = predicted(embedded, "supported", {"claim": "", "sources": ["It is tall."]})

    assert (found["verdict"], found["score"]) == ("yes", 1.0)


def test_products_in_parts_are_products() -> None:
    draw = np.random.default_rng(0)
    a, b = draw.random((130, 384), np.float32), draw.random((70, 384), np.float32)
    assert np.allclose(pairwise_products(a, b), a @ b.T, rtol=1e-5)
    assert np.allclose(products_with(a, b[0]), a @ b[0], rtol=1e-5)


def test_a_sub_question_with_an_open_pronoun_is_read_within_the_query(embedded: EmbeddedJudge) -> None:
    question = "Can I go up there myself, or is it closed?"
    query = f"I'd like to climb the lighthouse tower in July. {question}"
    alone, within = answers(embedded, [ask.answered(question, (TOWER[1],), some) for some in ("", query)])

    assert within.score > alone.score


def test_a_part_of_a_response_that_says_several_things_is_supported_if_each_of_them_is(embedded: EmbeddedJudge) -> None:
    said = "The lighthouse is 38 metres tall. It has a swimming pool on its roof."
    claims = ("The lighthouse is 38 metres tall.", "The lighthouse has a swimming pool on its roof.")
    whole, first, second = answers(embedded, [ask.supported(text, TOWER, QUERY, said) for text in (said, *claims)])

    assert (whole.value, whole.score, whole.confidence) == (second.value, second.score, second.confidence)
    assert (first.value, second.value) == ("yes", "no")
    assert "swimming pool" in whole.explanation


def test_citations_are_judged_offline(embedded: EmbeddedJudge) -> None:
    response = (
        "The lighthouse was finished in 1889 [1]. Tickets cost 6 euros [1]. It has a swimming pool on its roof [3].\n\n"
        "In short, it was finished in 1889."
    )
    case = Case("c", QUERY, tuple(map(Source, TOWER)), response)

    (record,) = evaluate_sync([case], embedded, metrics=CITATIONS)

    score = record.outcomes["citation_groundedness"]
    assert isinstance(score, Score)
    assert [part.kind for part in score.parts] == ["", "misattributed", "unsupported", ""]


def test_claims_are_atomic_and_what_is_said_of_the_sources_is_a_remark(embedded: EmbeddedJudge) -> None:
    said = "The lighthouse was built by Ada Morrow in 1889 and sold in 1972. The documents don't say who owns it."
    (found,) = answers(embedded, [ask.claims(said, QUERY)])
    claims = [component.text for component in found if not component.remark]

    assert len(claims) > 1
    assert all(claim.startswith("The lighthouse") for claim in claims)
    assert [component.text for component in found if component.remark] == ["The documents don't say who owns it."]


def test_a_question_that_comes_while_both_batches_end_is_answered() -> None:
    at_work = threading.Semaphore(0)
    go_on = threading.Event()
    answered: list[Answer] = []

    def worker(batch: Sequence[Question]) -> list[Answer]:
        at_work.release()
        go_on.wait(10)
        return [Verdict("yes") for _ in batch]

    async def caller(gatherer: QuestionBatcher, claim: str) -> None:
        answered.extend([answer async for _, answer in gatherer.ask([ask.supported(claim, ["text"])])])
        if len(answered) == 1:  # who comes first asks again, before the loop has seen that the batches' tasks are done
            answered.extend([answer async for _, answer in gatherer.ask([ask.supported("and then", ["text"])])])

    async def both() -> None:
        gatherer = QuestionBatcher(worker)
        callers = []
        for claim in ("one", "two"):
            callers.append(asyncio.create_task(caller(gatherer, claim)))
            await asyncio.to_thread(at_work.acquire)  # each in a batch of its own
        go_on.set()
        time.sleep(0.1)  # noqa: ASYNC251  # the loop is kept busy until both have ended, so it sees both at once
        await asyncio.wait_for(asyncio.gather(*callers), 10)

    asyncio.run(both())
    assert answered == [Verdict("yes")] * 3
