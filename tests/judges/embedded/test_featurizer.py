"""What the reader is given to read for a question, and how that is weighed."""

import math
from collections.abc import Iterator

import numpy as np
import pytest

from ragtriage.core import questions as ask
from ragtriage.core.questions import Question
from ragtriage.judges.embedded.cross_encoder import HEADS, Logits, TextPair
from ragtriage.judges.embedded.encoder import Encoder
from ragtriage.judges.embedded.featurizer import BESIDE_CLAIM, Featurized, Featurizer, Reads
from ragtriage.judges.embedded.passages import CachedTexts
from ragtriage.judges.embedded.scorer import FARTHEST, Fusion, Measured, fused_inputs
from ragtriage.judges.embedded.verdict import Scored
from ragtriage.text.claim_parts import Marks

FILLER = "The harbour office keeps a list of all boats, and the list is read aloud on the first Monday of the month. "
LONG = FILLER * 40 + "Guests moor at the eastern pier. They pay 12 euros a night. " + FILLER * 40
SOURCE = "Guests moor at the eastern pier. They pay 12 euros a night. Dogs are welcome."
QUERY = "What does a night cost?"


@pytest.fixture(scope="module")
def featurizer() -> Iterator[Featurizer]:
    encoder = Encoder()
    yield Featurizer(CachedTexts(encoder), lambda query, text: Marks())
    encoder.close()


def only(featurizer: Featurizer, question: Question) -> Reads:
    (one,) = featurizer.measure(question).reads
    return one


def read(featurizer: Featurizer, question: Question) -> str:
    """The text beside the claim or question."""
    return " ".join(only(featurizer, question).pair.sentences)


def test_of_a_long_source_the_nearest_part_is_read_beside_a_claim(featurizer: Featurizer) -> None:
    claim = "A night at the eastern pier costs guests 12 euros."
    found = only(featurizer, ask.supported(claim, [LONG]))

    assert found.pair.first == claim
    assert "They pay 12 euros a night." in found.pair.sentences
    assert "Guests moor at the eastern pier." in found.pair.sentences
    assert len(" ".join(found.pair.sentences).split()) <= BESIDE_CLAIM


def test_a_source_is_read_whole_and_in_its_order_beside_a_question(featurizer: Featurizer) -> None:
    assert read(featurizer, ask.answered(QUERY, [SOURCE])) == SOURCE


def test_each_of_several_sources_is_read_and_what_is_nearest_in_all_of_them(featurizer: Featurizer) -> None:
    found = featurizer.measure(ask.answered(QUERY, [SOURCE, "Boats leave at nine."])).reads

    assert {" ".join(one.pair.sentences) for one in found[:2]} == {SOURCE, "Boats leave at nine."}
    assert len(found) == 3


def test_facts_of_two_sources_stand_beside_each_other(featurizer: Featurizer) -> None:
    sources = [FILLER * 6 + "Ada Morrow built the pier.", FILLER * 6 + "The pier was opened in 1902."]
    text = read(featurizer, ask.supported("The pier that Ada Morrow built opened in 1902.", sources))

    assert "Ada Morrow built the pier." in text
    assert "The pier was opened in 1902." in text


def test_what_stands_late_in_a_table_of_many_pieces_is_read(featurizer: Featurizer) -> None:
    rows = "\n".join(f"| AX-{n:04d}/q7 | {n}.{n}9 kg/m3 | 0x{n:06x} |" for n in range(60))
    table = f"| Part | Density | Code |\n|---|---|---|\n{rows}\n| pump housing | 7.85 kg/m3 | 0xffee |"

    assert "pump housing" in read(featurizer, ask.supported("The pump housing has a density of 7.85 kg/m3.", [table]))


def test_one_sentence_is_read_however_long_it_is(featurizer: Featurizer) -> None:
    source = " ".join(f"supercalifragilistic{n}" for n in range(70)) + " ends."

    assert read(featurizer, ask.supported("It ends.", [source])) == source


def test_a_fact_is_read_where_it_stands_in_its_source(featurizer: Featurizer) -> None:
    found = featurizer.measure(ask.essential(QUERY, "They pay 12 euros a night.", source=SOURCE))

    assert found.task == "essential_fact"
    assert [" ".join(one.pair.sentences) for one in found.reads] == [SOURCE]
    assert found.reads[0].sentence == 1


def test_a_fact_that_its_source_does_not_hold_as_a_sentence_is_read_by_itself(featurizer: Featurizer) -> None:
    found = featurizer.measure(ask.essential(QUERY, "Room: 12 euros", source=SOURCE))

    assert found.task == "essential"
    assert [one.sentence for one in found.reads] == [None]


def test_a_claim_is_read_as_its_sentence_of_the_response(featurizer: Featurizer) -> None:
    response = "Guests are welcome. They pay 12 euros a night, and dogs pay nothing. Ask at the office."
    found = featurizer.measure(ask.essential(QUERY, "Guests pay 12 euros a night.", response))

    assert found.task == "essential_claim"
    assert found.reads[0].sentence == 1
    assert found.reads[0].pair.first == QUERY


SAID = Logits(
    np.array([1.0, 2.0, 3.0, 4.0], np.float32),
    np.array([[5.0, -6.0, 7.0, -8.0], [-5.0, 6.0, -7.0, 80.0]], np.float32),
    -1.5,
    np.array([-1.5, -3.0], np.float32),
)


def measured(*sentences: int | None, said: tuple[Logits, ...] = (SAID,), larger: tuple[Logits, ...] = ()) -> Measured:
    pair = TextPair("When?", ("The fee is 2 euros.", "It is due on Friday."))
    reads = tuple(Reads(pair, one) for one in sentences)
    return Measured(Featurized("answered", ((0.0,),), (Scored(0.5),), reads, checks=(1.0,)), said, larger)


def test_of_a_text_it_is_weighed_as_a_whole_and_by_its_highest_sentence() -> None:
    assert fused_inputs(measured(None), 0.8).tolist() == pytest.approx(
        [1, 2, 3, 4, 5, 6, 7, FARTHEST, 1.5, math.log(4), 1.0]
    )


def test_of_a_sentence_it_is_weighed_by_itself_and_beside_its_text() -> None:
    assert fused_inputs(measured(0), 0.5).tolist() == pytest.approx([5, -6, 7, -8, 1, 2, 3, 4, 1.5, 0, 1.0])


def test_of_several_readings_the_highest_counts() -> None:
    other = Logits(SAID.whole * 2, -SAID.sentences, 3.0, SAID.words)
    both = fused_inputs(measured(None, None, said=(SAID, other)), 0.5)

    assert both.tolist() == pytest.approx(
        np.maximum(fused_inputs(measured(None), 0.5), fused_inputs(measured(None, said=(other,)), 0.5)).tolist()
    )


def test_what_the_larger_reader_says_stands_last() -> None:
    larger = Logits(SAID.whole + 2, SAID.sentences, 0.0, SAID.words)

    assert fused_inputs(measured(None, larger=(larger,)), 0.5).tolist() == [*fused_inputs(measured(None), 0.5), 4.0]


def test_a_fusion_is_a_logistic_regression() -> None:
    inputs = fused_inputs(measured(None), 0.5)
    weights = [0.5, *[0.0] * (len(inputs) - 1)]

    assert Fusion({"weights": weights, "bias": -0.25}).probability(inputs) == pytest.approx(1 / (1 + math.exp(-0.25)))
    assert len(inputs) == 2 * len(HEADS) + 3
