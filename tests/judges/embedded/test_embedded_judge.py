"""The embedded judge: each question once, the same answer whatever surrounds it, and plain cases right."""

import asyncio
import gc
import random
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from onnxruntime import InferenceSession

from ragtriage.core import questions as ask
from ragtriage.core.case import Case, Source
from ragtriage.core.questions import DECOMPOSITIONS, KINDS, Question
from ragtriage.core.verdicts import Answer, Failure, Score, Verdict
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.evaluation.predict import PredictionTask, predict, questions_of
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.embedded.features import pairwise_products, products_with
from ragtriage.judges.protocol import Judge
from ragtriage.metrics import CITATIONS

TOWER = (
    "The lighthouse of Skerrow was finished in 1889. It is 38 metres tall and stands on the northern cliff.",
    "Visitors may climb the tower from May to September. Tickets cost 6 euros; children under ten pay nothing.",
    "The keeper's house was sold in 1972 and holds a small café today. It doesn't open on Mondays.",
)
QUERY = "How tall is the lighthouse of Skerrow?"


@pytest.fixture(scope="module")
def judge() -> Iterator[EmbeddedJudge]:
    one = EmbeddedJudge()
    yield one
    one.close()


async def _ask(judge: Judge, questions: Sequence[Question]) -> list[Answer]:
    found: dict[int, Answer] = {}
    async for place, answer in judge.ask(questions):
        assert place not in found
        found[place] = answer
    assert sorted(found) == list(range(len(questions)))
    return [found[place] for place in range(len(questions))]


def asked(judge: Judge, *questions: Question) -> list[Answer]:
    return asyncio.run(_ask(judge, questions))


def value(judge: Judge, question: Question) -> str:
    (answer,) = asked(judge, question)
    assert isinstance(answer, Verdict)
    return answer.value


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


def test_is_a_judge(judge: EmbeddedJudge) -> None:
    assert isinstance(judge, Judge)
    assert judge.name() == "embedded"
    assert judge.estimate(SOME).requests == 0
    assert judge.estimate(SOME).price == 0


def test_answers_every_kind_with_the_right_type(judge: EmbeddedJudge) -> None:
    answers = asked(judge, *SOME)
    assert {question.kind for question in SOME} == {
        kind for kind in KINDS if judge.unsupported_reason(kind, "en") is None
    }
    for question, answer in zip(SOME, answers, strict=True):
        if question.kind in DECOMPOSITIONS:
            assert isinstance(answer, tuple)
        else:
            assert isinstance(answer, Verdict)
            assert answer.confidence is not None
            assert 0.0 <= answer.confidence <= 1.0
            assert answer.explanation


def test_no_question_no_answer(judge: EmbeddedJudge) -> None:
    assert asked(judge) == []


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_sources_changes_nothing(judge: EmbeddedJudge, seed: int) -> None:
    sources = list(TOWER)
    random.Random(seed).shuffle(sources)
    for claim in ("The tower is 38 metres tall.", "Children pay 3 euros in May.", "The café opens on Mondays."):
        assert asked(judge, ask.supported(claim, TOWER, QUERY)) == asked(judge, ask.supported(claim, sources, QUERY))
        assert asked(judge, ask.answered(claim, TOWER)) == asked(judge, ask.answered(claim, sources))


def test_a_verdict_depends_on_its_question_alone() -> None:
    alone, together = EmbeddedJudge(), EmbeddedJudge(threads=1)
    shuffled = list(range(len(SOME)))
    random.Random(1).shuffle(shuffled)
    more = [ask.supported(f"The tower has {n} steps and a red lamp.", TOWER) for n in range(40)]
    one_by_one = [asked(alone, SOME[i])[0] for i in shuffled]
    assert asked(together, *more, *(SOME[i] for i in shuffled))[len(more) :] == one_by_one
    alone.close()
    together.close()


def test_a_judge_that_is_closed_leaves_no_model_behind() -> None:
    def sessions() -> set[int]:
        return {id(one) for one in gc.get_objects() if type(one) is InferenceSession}

    before = sessions()
    one = EmbeddedJudge()
    asked(one, *SOME)
    while_open = sessions()
    one.close()

    assert len(while_open) == len(before) + 2
    assert sessions() == before


def test_a_question_that_fails_fails_alone(judge: EmbeddedJudge) -> None:
    answers = asked(judge, SOME[0], ask.supported("A claim.", ("  ",)), ask.answered("?", ()), SOME[5])
    assert isinstance(answers[0], Verdict)
    assert isinstance(answers[1], Failure)
    assert "no word" in answers[1].cause
    assert isinstance(answers[2], Failure)
    assert isinstance(answers[3], Verdict)


def test_many_tasks_at_once_and_several_loops(judge: EmbeddedJudge) -> None:
    async def crowd() -> list[list[Answer]]:
        return await asyncio.gather(*(_ask(judge, [SOME[n % len(SOME)], SOME[0]]) for n in range(64)))

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


def test_a_caller_that_gives_up_harms_nobody(judge: EmbeddedJudge) -> None:
    async def first_only() -> Answer:
        answers = judge.ask(SOME)
        await anext(answers)
        await answers.aclose()  # type: ignore[attr-defined]
        return (await _ask(judge, SOME))[0]

    assert asyncio.run(first_only()) == asked(judge, SOME[0])[0]


def test_close_lets_threads_go_and_a_later_question_loads_again() -> None:
    before = {thread for thread in threading.enumerate() if thread.name.startswith("ragtriage-")}
    one = EmbeddedJudge()
    asked(one, SOME[0])
    own = {thread.name for thread in threading.enumerate() if thread.name.startswith("ragtriage-")}
    assert any("reader" in name for name in own)
    one.close()
    one.close()
    assert {thread for thread in threading.enumerate() if thread.name.startswith("ragtriage-")} <= before
    assert one._loaded is None
    assert value(one, SOME[0]) == "yes"
    one.close()


def test_the_model_is_not_loaded_before_it_is_needed() -> None:
    code = (
        "import sys, ragtriage, ragtriage.judges.embedded as e; e.EmbeddedJudge();"
        "assert not {'numpy', 'onnxruntime', 'tokenizers'} & set(sys.modules), 'loaded too early'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_fingerprints_differ_by_what_they_depend_on(judge: EmbeddedJudge) -> None:
    assert len({judge.fingerprint(kind) for kind in ("claims", "supported", "answered", "similarity")}) == 4
    assert judge.fingerprint("supported") == EmbeddedJudge().fingerprint("supported")


def test_says_which_language_it_was_measured_on(judge: EmbeddedJudge) -> None:
    assert judge.unsupported_reason("supported", "en") is None
    reason = judge.unsupported_reason("supported", "de")
    assert reason is not None
    assert "English only" in reason
    assert "German" in reason
    assert EmbeddedJudge(any_language=True).unsupported_reason("supported", "de") is None


def test_says_what_it_cannot_do_in_any_language() -> None:
    judge = EmbeddedJudge(any_language=True)
    asking = [ask.standalone("And when?", TOWER), ask.questions_answered_by(TOWER[0], 3), ask.holds("Polite", TOWER[0])]
    for question, answer in zip(asking, asked(judge, *asking), strict=True):
        assert answer == Failure(str(judge.unsupported_reason(question.kind, "de")))
        assert judge.unsupported_reason(question.kind, "en") == judge.unsupported_reason(question.kind, "de")


@pytest.mark.parametrize(
    "claim",
    [
        "The lighthouse of Skerrow was finished in 1889.",
        "The tower is 38 metres tall.",
        "Tickets cost 6 euros, and children under ten pay nothing.",
        "The keeper's house holds a small café today.",
    ],
)
def test_supports_what_stands_there(judge: EmbeddedJudge, claim: str) -> None:
    assert value(judge, ask.supported(claim, TOWER, QUERY)) == "yes"


@pytest.mark.parametrize(
    "claim",
    [
        "Guided tours in Norwegian start every hour at the harbour office.",
        "The architect Ada Morrow won the 1902 Halden prize for its spiral staircase.",
        "Electric cars are charged free of charge behind the museum.",
    ],
)
def test_does_not_support_what_stands_nowhere(judge: EmbeddedJudge, claim: str) -> None:
    (verdict,) = asked(judge, ask.supported(claim, TOWER, QUERY))
    assert isinstance(verdict, Verdict)
    assert verdict.value == "no"
    assert "closest passage" in verdict.explanation


def test_names_what_is_missing(judge: EmbeddedJudge) -> None:
    (verdict,) = asked(judge, ask.supported("Ada Morrow built the tower in 1902.", TOWER, QUERY))
    assert isinstance(verdict, Verdict)
    assert "1902" in verdict.explanation


def test_finds_the_needed_source(judge: EmbeddedJudge) -> None:
    needed, other = asked(judge, ask.essential(QUERY, TOWER[0]), ask.essential(QUERY, TOWER[2]))
    assert isinstance(needed, Verdict)
    assert isinstance(other, Verdict)
    assert needed.value == "yes"
    assert other.value == "no"


def test_tells_an_answer_from_none(judge: EmbeddedJudge) -> None:
    assert value(judge, ask.answered(QUERY, TOWER)) == "yes"
    assert value(judge, ask.answered("Which bus goes to the airport?", TOWER)) == "no"


def test_same_answer_takes_any_truth(judge: EmbeddedJudge) -> None:
    assert value(judge, ask.same_answer(QUERY, ("125 feet", "38 metres"), "It's 38 metres tall.")) == "yes"
    assert value(judge, ask.same_answer(QUERY, ("125 feet", "38 metres"), "It's 51 metres tall.")) == "no"


def test_repeats_are_told_from_sentences_that_sound_alike(judge: EmbeddedJudge) -> None:
    repeat = ask.similarity("Tickets cost 6 euros.", ("The café is closed.", "A ticket costs 6 euros."))
    alike = ask.similarity("Store vaccine A at 5 °C.", ("Store vaccine A at 8 °C.",))
    yes, no = asked(judge, repeat, alike)
    assert isinstance(yes, Verdict)
    assert isinstance(no, Verdict)
    assert yes.value == "yes"
    assert no.value == "no"
    assert yes.score is not None
    assert 0.8 < yes.score <= 1.0
    assert "A ticket costs" in yes.explanation


def test_a_sentence_is_not_compared_with_itself(judge: EmbeddedJudge) -> None:
    texts = ("Tickets cost 6 euros.", "The café is closed on Mondays.")
    (verdict,) = asked(judge, ask.similarity(texts[0], texts, 0))
    (lonely,) = asked(judge, ask.similarity(texts[0], texts[:1], 0))
    assert isinstance(verdict, Verdict)
    assert isinstance(lonely, Verdict)
    assert verdict.score is not None
    assert verdict.score < 0.8
    assert lonely.value == "no"


@pytest.mark.parametrize(
    "text", ["", "\x00", "?!", "字" * 3000, "a" * 5000, "word " * 5000, "| a | b |\n|---|---|\n| 1 | 2 |", "🙂"]
)
def test_odd_texts_give_an_answer(judge: EmbeddedJudge, text: str) -> None:
    questions = [
        ask.supported(text, TOWER),
        ask.supported("A claim.", [text]),
        ask.essential(QUERY, text),
        ask.relevant(text, TOWER[0]),
    ]
    questions += [ask.answered(text, TOWER), ask.same_answer(text, [text], text), ask.similarity(text, [text, "b"], 0)]
    assert all(isinstance(answer, Verdict | Failure) for answer in asked(judge, *questions))


def test_rows_are_judged_by_their_fields(judge: EmbeddedJudge) -> None:
    rows = [
        {"id": "good", "claim": "It was finished in 1889. It is 38 metres tall.", "sources": list(TOWER), "set": "a"},
        {"id": "bad", "claim": "It is 38 metres tall. Ada Morrow won the Halden prize for it.", "sources": list(TOWER)},
        {"id": "broken", "sources": list(TOWER)},
    ]
    good, bad, broken = asyncio.run(predict(judge, "supported", rows))
    assert good["id"] == "good"
    assert good["score"] > bad["score"]
    assert broken["score"] is None
    assert "claim" in broken["error"]


def test_rows_of_the_other_tasks(judge: EmbeddedJudge) -> None:
    (pair,) = questions_of("similar", {"a": "x", "b": "y"})
    assert pair == ask.similarity("x", ("y",))
    (question,) = questions_of("answered", {"question": "Earlier: hello\n\nQuestion: How tall?", "sources": ["s"]})
    assert question == ask.answered("How tall?", ("s",), "Earlier: hello\n\nQuestion: How tall?")
    rows = [
        {"id": 1, "response": "Tickets cost 6 euros. A ticket costs 6 euros."},
        {"id": 2, "response": "One sentence."},
    ]
    first, second = asyncio.run(predict(judge, "similar", rows))
    assert first["verdict"] == "yes"
    assert first["score"] > 0.5
    assert second == {"id": 2, "verdict": "no", "confidence": None, "score": 0.0, "sure": True}


def test_the_least_supported_part_of_a_claim_decides(judge: EmbeddedJudge) -> None:
    good, bad = TOWER[0], "Whales are fish that eat bread."
    rows = [{"claim": claim, "sources": list(TOWER)} for claim in (good, bad, f"{good} {bad}", f"{bad} {good}")]
    first, second, both, turned = (one["score"] for one in asyncio.run(predict(judge, "supported", rows)))
    assert first > 0.5 > second
    assert both == pytest.approx(second, abs=0.1)
    assert turned == pytest.approx(second, abs=0.1)


def test_any_of_several_truths_will_do(judge: EmbeddedJudge) -> None:
    row = {"query": "When does the ferry leave?", "response": "It leaves at 9."}
    rows = [{**row, "truth": ["at 8", "at 9"]}, {**row, "truth": "at 9"}]
    assert [one["verdict"] for one in asyncio.run(predict(judge, "same-answer", rows))] == ["yes", "yes"]


def test_products_in_parts_are_products() -> None:
    draw = np.random.default_rng(0)
    a, b = draw.random((130, 384), np.float32), draw.random((70, 384), np.float32)
    assert np.allclose(pairwise_products(a, b), a @ b.T, rtol=1e-5)
    assert np.allclose(products_with(a, b[0]), a @ b[0], rtol=1e-5)


def test_a_response_that_declines_answers_nothing_however_much_it_repeats_the_question(judge: EmbeddedJudge) -> None:
    refusal = "I'm sorry, the documents don't say how tall the lighthouse of Skerrow is."

    assert value(judge, ask.answered(QUERY, (refusal,), query=QUERY)) == "no"
    assert value(judge, ask.answered(QUERY, ("The lighthouse of Skerrow is 38 metres tall.",), query=QUERY)) == "yes"


def test_a_sub_question_with_an_open_pronoun_is_read_within_the_query(judge: EmbeddedJudge) -> None:
    question = "Can I go up there myself, or is it closed?"
    query = f"I'd like to climb the lighthouse tower in July. {question}"
    alone, within = asked(judge, ask.answered(question, (TOWER[1],)), ask.answered(question, (TOWER[1],), query))

    assert isinstance(alone, Verdict)
    assert isinstance(within, Verdict)
    assert alone.score is not None
    assert within.score is not None
    assert within.score > alone.score


@pytest.mark.parametrize(
    ("task", "row"),
    [
        ("supported", {"claim": "It is tall.", "sources": []}),
        ("supported", {"claim": "It is tall.", "sources": ["", " "]}),
        ("answered", {"question": "How tall is it?", "sources": []}),
        ("essential", {"query": "How tall is it?", "text": ""}),
        ("relevant", {"query": "How tall is it?", "text": " "}),
        ("same-answer", {"query": "How tall is it?", "truth": ["38 metres"], "response": ""}),
    ],
)
def test_without_a_text_a_row_is_no_as_in_an_evaluation(
    judge: EmbeddedJudge, task: PredictionTask, row: dict[str, object]
) -> None:
    (found,) = asyncio.run(predict(judge, task, [{"id": 1, **row}]))

    assert found == {"id": 1, "verdict": "no", "confidence": 1.0, "score": 0.0, "sure": True}


def test_an_empty_claim_says_nothing_that_is_not_supported(judge: EmbeddedJudge) -> None:
    (found,) = asyncio.run(predict(judge, "supported", [{"id": 1, "claim": "", "sources": ["It is tall."]}]))

    assert (found["verdict"], found["score"]) == ("yes", 1.0)


def test_a_question_in_a_conversation_is_never_left_out_of_what_is_looked_for(judge: EmbeddedJudge) -> None:
    talk = "User: Tell me about the moon.\nAssistant: The moon orbits the earth.\n\nQuestion: "
    sources = ["The ferry costs 5 euros and leaves at nine.", "The moon orbits the earth."]
    asked = ["How far is it from there to Mars?", "What is its colour, and does it have mountains?"]
    rows = [{"id": i, "question": talk + one, "sources": sources} for i, one in enumerate(asked)]

    first, second = asyncio.run(predict(judge, "answered", rows))

    assert first["score"] != second["score"]


def test_a_part_of_a_response_that_says_several_things_is_supported_if_each_of_them_is(judge: EmbeddedJudge) -> None:
    said = "The lighthouse is 38 metres tall. It has a swimming pool on its roof."
    claims = ("The lighthouse is 38 metres tall.", "The lighthouse has a swimming pool on its roof.")

    whole, first, second = asked(judge, *(ask.supported(text, TOWER, QUERY, said) for text in (said, *claims)))

    assert isinstance(whole, Verdict)
    assert isinstance(first, Verdict)
    assert isinstance(second, Verdict)
    assert (whole.value, whole.score, whole.confidence) == (second.value, second.score, second.confidence)
    assert (first.value, second.value) == ("yes", "no")
    assert "swimming pool" in whole.explanation


def test_citations_are_judged_offline(judge: EmbeddedJudge) -> None:
    response = (
        "The lighthouse was finished in 1889 [1]. Tickets cost 6 euros [1]. It has a swimming pool on its roof [3].\n\n"
        "In short, it was finished in 1889."
    )
    case = Case("c", QUERY, tuple(map(Source, TOWER)), response)

    (record,) = evaluate_sync([case], judge, metrics=CITATIONS)

    score = record.outcomes["citation_groundedness"]
    assert isinstance(score, Score)
    assert [part.kind for part in score.parts] == ["", "misattributed", "unsupported", ""]


def test_what_is_not_found_is_named_as_the_claim_writes_it(judge: EmbeddedJudge) -> None:
    claim = "The Secured tickets are Sold by the Harbours of Marrowby."

    (answer,) = asked(judge, ask.supported(claim, ["The lounge is on the upper deck."]))

    assert isinstance(answer, Verdict)
    assert answer.explanation.endswith("; not found there: Secured, Sold, Harbours, Marrowby")


REMOTE = (
    "Staff may work from abroad for up to 20 days a year. Directors must agree in writing beforehand.",
    "Contractors may not work from abroad at all.",
)


def test_a_claim_with_its_roles_swapped_is_less_likely_than_the_right_one(judge: EmbeddedJudge) -> None:
    claims = ("Staff may work from abroad for up to 20 days a year.", "Contractors may work from abroad.")

    right, wrong = asked(judge, *(ask.supported(claim, REMOTE) for claim in claims))

    assert isinstance(right, Verdict)
    assert isinstance(wrong, Verdict)
    assert (right.score or 0.0) > (wrong.score or 0.0)


def test_claims_are_atomic_and_what_is_said_of_the_sources_is_a_remark(judge: EmbeddedJudge) -> None:
    said = "The lighthouse was built by Ada Morrow in 1889 and sold in 1972. The documents don't say who owns it."

    (found,) = asked(judge, ask.claims(said, QUERY))

    assert isinstance(found, tuple)
    claims = [component.text for component in found if not component.remark]
    assert len(claims) > 1
    assert all(claim.startswith("The lighthouse") for claim in claims)
    assert [component.text for component in found if component.remark] == ["The documents don't say who owns it."]


def test_a_claim_that_a_passage_contradicts_is_told_from_one_that_stands_nowhere(judge: EmbeddedJudge) -> None:
    otherwise, nowhere, right = asked(
        judge,
        ask.supported("Tickets cost 9 euros.", TOWER, QUERY),
        ask.supported("Electric cars are charged free of charge behind the museum.", TOWER, QUERY),
        ask.supported("Tickets cost 6 euros.", TOWER, QUERY),
    )

    assert isinstance(otherwise, Verdict)
    assert isinstance(nowhere, Verdict)
    assert isinstance(right, Verdict)
    assert (otherwise.contradicted, nowhere.contradicted, right.contradicted) == (True, False, False)
