"""The trained matcher: what it reads of a question, and that its weight can be told from the words' alone."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pytest

from ragtriage.core import questions as ask
from ragtriage.core.errors import ConfigError, JudgeError
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Verdict
from ragtriage.judges.build import build_judge, judge_named
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.embedded.encoder import MODEL, Encoder, Vector
from ragtriage.judges.embedded.evidence import CachedReader
from ragtriage.judges.embedded.featurizer import Featurized, Featurizer
from ragtriage.judges.embedded.fitted_models import Fusion
from ragtriage.judges.embedded.matcher import (
    FIRST,
    HEADS,
    LENGTH,
    PIECES,
    Matcher,
    Pair,
    head_of,
    pair_pieces,
    pairs_by_sentence,
)
from ragtriage.judges.embedded.scorer import _logits
from ragtriage.judges.embedded.wordpiece import END, START, WordPieces
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.session import JudgeSession

FILLER = "The harbour office keeps a list of all boats, and the list is read aloud on the first Monday of the month. "
LONG = FILLER * 40 + "Guests moor at the eastern pier. They pay 12 euros a night. " + FILLER * 40


@pytest.fixture(scope="module")
def matcher() -> Iterator[Matcher]:
    one = Matcher(WordPieces(MODEL / "vocab.txt"))
    yield one
    one.close()


@pytest.fixture(scope="module")
def featurizer() -> Iterator[Featurizer]:
    encoder = Encoder()
    yield Featurizer(CachedReader(encoder))
    encoder.close()


def asked(judge: EmbeddedJudge, questions: Sequence[Question]) -> list[Verdict]:
    async def found() -> dict[int, object]:
        return {place: answer async for place, answer in judge.ask(questions)}

    answers = asyncio.run(found())
    return [answer for _, answer in sorted(answers.items()) if isinstance(answer, Verdict)]


def verdicts(judge: EmbeddedJudge, questions: Sequence[Question]) -> list[Verdict]:
    found = asked(judge, questions)
    judge.close()
    return found


def pair(measured: Featurized) -> tuple[str, str]:
    (one,) = measured.pairs
    return one


def logits(found: Mapping[Pair, Vector | Exception], one: Pair) -> Vector:
    said = found[one]
    assert not isinstance(said, Exception)
    return said


def test_a_pair_says_the_same_beside_other_pairs_and_alone(matcher: Matcher) -> None:
    pairs = [(f"The fee is {n} euros.", FILLER * (n % 5 + 1)) for n in range(12)]
    together = matcher.match([*pairs, *pairs])
    assert set(together) == set(pairs)
    for one in pairs:
        assert np.array_equal(logits(matcher.match([one]), one), logits(together, one))
        assert logits(together, one).shape == (len(HEADS),)


def test_both_texts_of_a_pair_are_read_whatever_their_length() -> None:
    pieces = WordPieces(MODEL / "vocab.txt")
    start, end = pieces.number[START], pieces.number[END]
    for first, second in (("short", "short"), (LONG, "short"), ("short", LONG), (LONG, LONG), ("", ""), ("?", "")):
        ids, at = pair_pieces(pieces, first, second)
        assert ids[0] == start
        assert ids[at - 1] == ids[-1] == end
        assert at <= FIRST
        assert at < len(ids) <= LENGTH
    ids, at = pair_pieces(pieces, LONG, "the pier")
    assert [pieces.pieces[i] for i in ids[at:-1]] == ["the", "pier"]


def test_an_empty_text_does_no_harm(matcher: Matcher) -> None:
    assert np.isfinite(logits(matcher.match([("", "")]), ("", ""))).all()


def test_of_a_long_source_the_nearest_part_is_read(featurizer: Featurizer) -> None:
    claim = "A night at the eastern pier costs guests 12 euros."
    first, second = pair(featurizer.measure(ask.supported(claim, [LONG])))
    assert first == claim
    assert "They pay 12 euros a night." in second
    assert "Guests moor at the eastern pier." in second
    assert len(second.split()) <= PIECES


def test_a_short_source_is_read_whole_and_in_its_order(featurizer: Featurizer) -> None:
    source = "Guests moor at the eastern pier. They pay 12 euros a night. Dogs are welcome."
    assert pair(featurizer.measure(ask.answered("What does a night cost?", [source])))[1] == source


def test_facts_of_two_sources_stand_beside_each_other(featurizer: Featurizer) -> None:
    sources = [FILLER * 6 + "Ada Morrow built the pier.", FILLER * 6 + "The pier was opened in 1902."]
    second = pair(featurizer.measure(ask.supported("The pier that Ada Morrow built opened in 1902.", sources)))[1]
    assert "Ada Morrow built the pier." in second
    assert "The pier was opened in 1902." in second


def test_what_stands_late_in_a_table_of_many_pieces_is_read(featurizer: Featurizer) -> None:
    rows = "\n".join(f"| AX-{n:04d}/q7 | {n}.{n}9 kg/m3 | 0x{n:06x} |" for n in range(60))
    table = f"| Part | Density | Code |\n|---|---|---|\n{rows}\n| pump housing | 7.85 kg/m3 | 0xffee |"
    first, second = pair(featurizer.measure(ask.supported("The pump housing has a density of 7.85 kg/m3.", [table])))
    pieces = WordPieces(MODEL / "vocab.txt")
    ids, at = pair_pieces(pieces, first, second)
    assert "pump housing" in " ".join(pieces.pieces[i] for i in ids[at:])


def test_one_sentence_is_read_however_long_it_is(featurizer: Featurizer) -> None:
    source = " ".join(f"supercalifragilistic{n}" for n in range(70)) + " ends."
    assert pair(featurizer.measure(ask.supported("It ends.", [source])))[1] == source


def test_a_pair_that_fails_fails_alone() -> None:
    class Choosy(WordPieces):
        def encode(self, text: str, longest: int) -> list[int]:
            if "3 euros" in text:
                raise MemoryError("no room for it")
            return super().encode(text, longest)

    good, bad = ("The fee is 2 euros.", FILLER), ("The fee is 3 euros.", FILLER)
    choosy = Matcher(Choosy(MODEL / "vocab.txt"))
    found = choosy.match([good, bad])
    assert isinstance(found[bad], MemoryError)
    assert np.isfinite(logits(found, good)).all()
    choosy.close()


def test_a_fusion_weighs_log_odds_and_logits_and_cuts_off_what_is_too_sure() -> None:
    fusion = Fusion({"weights": [1.0, 0.5, 0.0, 0.0, 0.0, 0.0], "bias": -0.25})
    said = np.array([2.0, 9.0, 9.0, 9.0, 9.0], np.float32)
    assert fusion.probability(0.5, said) == pytest.approx(1 / (1 + math.exp(-(0.5 * 2.0 - 0.25))))
    assert fusion.probability(0.8, said * 0) == pytest.approx(1 / (1 + math.exp(-(math.log(4) - 0.25))))
    assert fusion.probability(0.5, said * 100) == fusion.probability(0.5, said * 4)


def test_every_head_belongs_to_a_task() -> None:
    tasks = ["supported", "answered", "answered_response", "essential", "essential_part", "similar", "same_answer"]
    assert [head_of(task) for task in tasks] == [
        "supported", "answered", "answered", "essential", "essential", "similar", "same_answer"
    ]  # fmt: skip
    assert head_of("relevant") == ""


REMOTE = (
    "Staff may work from abroad for up to 20 days a year. Directors must agree in writing beforehand.",
    "Contractors may not work from abroad at all.",
)


def test_the_matcher_sees_a_swapped_role_where_words_do_not() -> None:
    asked = [
        ask.supported("Contractors may work from abroad for up to 20 days a year.", REMOTE),
        ask.supported("Staff may work from abroad for up to 20 days a year.", REMOTE),
    ]
    wrong, right = (one.score or 0.0 for one in verdicts(EmbeddedJudge(), asked))
    wrong_by_words, right_by_words = (one.score or 0.0 for one in verdicts(EmbeddedJudge(fast=True), asked))
    assert right - wrong > right_by_words - wrong_by_words


def reading() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("ragtriage-matcher")]


def test_the_fast_judge_has_no_matcher_and_the_other_lets_its_threads_go() -> None:
    question = ask.supported("Guests pay 12 euros.", ["Guests pay 12 euros."])
    before = reading()
    for fast in (True, False):
        judge = EmbeddedJudge(fast=fast)
        (found,) = asked(judge, [question])
        assert found.value == "yes"
        assert (reading() == before) is fast
        judge.close()
        assert reading() == before


def test_answers_of_both_are_kept_apart_where_they_may_differ() -> None:
    whole, fast = EmbeddedJudge(), EmbeddedJudge(fast=True)
    assert whole.fingerprint("supported") != fast.fingerprint("supported")
    assert whole.fingerprint("answered") != fast.fingerprint("answered")
    for kind in ("claims", "declines", "similarity", "relevant"):
        assert whole.fingerprint(kind) == fast.fingerprint(kind)


def test_the_fast_judge_has_a_name_of_its_own() -> None:
    assert judge_named("embedded:fast").name() == "embedded:fast"
    assert judge_named("embedded").name() == "embedded"
    with pytest.raises(ConfigError, match=r"no judge 'embedded:fst'.*did you mean embedded:fast\?"):
        JudgeConfig(("embedded:fst",))


@pytest.mark.parametrize("name", ["embedded", "embedded:fast"])
def test_either_may_sit_beside_a_model(name: str) -> None:
    options = LLMOptions(base_url="http://127.0.0.1:9/v1")
    session = JudgeSession.of(JudgeConfig((name, "openai:m"), jury="majority", options=options))
    assert session.config.models == ("openai:m",)
    assert name in build_judge(session).judge.name()


def test_a_cascade_begins_with_the_whole_judge() -> None:
    options = LLMOptions(base_url="http://127.0.0.1:9/v1")
    session = JudgeSession.of(JudgeConfig(("openai:m",), cascade="shipped", options=options))
    assert build_judge(session).judge.name().startswith("embedded, then")
    with pytest.raises(ConfigError, match="a cascade passes on from the embedded judge to a model"):
        JudgeConfig(("embedded:fast",), cascade="shipped")


def test_what_is_for_models_is_refused_for_the_fast_judge() -> None:
    with pytest.raises(ConfigError, match="a batch API is for language models"):
        JudgeConfig(("embedded:fast",), batch_api=True)


def test_a_model_that_cannot_be_loaded_is_said_with_its_file() -> None:
    with pytest.raises(JudgeError, match=r"nowhere\.onnx can't be loaded.*reinstall ragtriage"):
        Matcher(WordPieces(MODEL / "vocab.txt"), path=MODEL / "nowhere.onnx")


def test_a_response_is_read_whole_and_sentence_by_sentence() -> None:
    whole = ("When is it due?", "The fee is 2 euros. It is due on Friday.")
    first, second = (("When is it due?", one) for one in ("The fee is 2 euros.", "It is due on Friday."))
    assert pairs_by_sentence(whole) == [first, second]
    assert pairs_by_sentence(("When?", "")) == [("When?", "")]
    said = {whole: [0.0, 1.0], first: [-1.0, 3.0], second: [2.0, -4.0]}
    found = {pair: np.array(logits, np.float32) for pair, logits in said.items()}
    assert _logits("answered", whole, found).tolist() == [0.0, 1.0]
    assert _logits("answered_response", whole, found).tolist() == [0.0, 1.0, 2.0, 3.0]
    failed = MemoryError("no room for it")
    assert _logits("answered_response", whole, {**found, second: failed}) is failed
