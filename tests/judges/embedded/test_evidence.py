"""What rules read off a claim and its evidence: contradictions, other values, short replies, silent texts."""

from typing import Any

import pytest

from examples import examples
from ragtriage import Case, Source, Verdicts, evaluate_sync
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.embedded.claimed_text import (
    asserted_text,
    is_item,
    is_open_ended,
    is_short_reply,
    is_step,
    without_attribution,
)
from ragtriage.judges.embedded.contradictions import contradicting_sentence, denying_sentence
from ragtriage.judges.embedded.readings import pieces, read, read_sentence
from ragtriage.judges.embedded.silent_texts import is_prose, lacks_what_is_asked, state_nothing, telling_texts
from ragtriage.judges.embedded.table_rows import (
    OTHER,
    UNSURE,
    in_told_notation,
    named_result,
    other_value,
    row_with_other_value,
)
from ragtriage.metrics import metrics_named


def against(claim: str, text: str) -> str:
    return contradicting_sentence(read_sentence(claim), [read_sentence(piece) for piece in pieces(text)])


def denied(claim: str, text: str) -> str:
    return denying_sentence(read_sentence(claim), [read_sentence(piece) for piece in pieces(text)])


@pytest.mark.parametrize("row", examples("contradictions", "contradicts"))
def test_one_detail_that_a_sentence_says_otherwise_contradicts(row: dict[str, Any]) -> None:
    assert against(row["claim"], row["text"])


@pytest.mark.parametrize("row", examples("contradictions", "may be true beside it"))
def test_what_may_be_true_beside_it_doesnt_contradict(row: dict[str, Any]) -> None:
    assert against(row["claim"], row["text"]) == ""


@pytest.mark.parametrize("row", examples("contradictions", "denies"))
def test_the_opposite_in_the_same_words_is_a_denial(row: dict[str, Any]) -> None:
    assert denied(row["claim"], row["text"])


@pytest.mark.parametrize("row", examples("contradictions", "no denial"))
def test_what_is_no_plain_denial_is_none(row: dict[str, Any]) -> None:
    assert denied(row["claim"], row["text"]) == ""


def test_a_denied_claim_is_never_supported_and_says_by_what(embedded: EmbeddedJudge) -> None:
    case = Case(
        "1", "Are pets allowed?", (Source("Pets are not allowed in the cabins."),), "Pets are allowed in the cabins."
    )
    record = next(iter(evaluate_sync([case], embedded, metrics=metrics_named(["groundedness"]))))
    known = record.steps["supported(claims(response), sources)"]
    assert isinstance(known, Verdicts)
    (verdict,) = known.best()
    assert (verdict.value, verdict.contradicted) == ("no", True)
    assert "a passage says otherwise: “Pets are not allowed in the cabins.”" in verdict.explanation


@pytest.mark.parametrize("row", examples("told_values", "notation"))
def test_a_value_is_written_as_in_the_evidence(row: dict[str, Any]) -> None:
    assert in_told_notation(row["claim"], [row["text"]]) == row["written"]


@pytest.mark.parametrize("row", examples("told_values", "another value"))
def test_another_value_of_the_same_thing_is_found(row: dict[str, Any]) -> None:
    found = other_value(row["claim"], read(row["text"]).sentences)

    assert found
    assert found.chance == {"other": OTHER, "unsure": UNSURE}[row["chance"]]


@pytest.mark.parametrize("row", examples("told_values", "no other value"))
def test_what_may_be_right_beside_it_is_no_other_value(row: dict[str, Any]) -> None:
    assert other_value(row["claim"], read(row["text"]).sentences) is None


@pytest.mark.parametrize("row", examples("told_values", "another row"))
def test_a_value_of_another_row_is_found(row: dict[str, Any]) -> None:
    assert row_with_other_value(row["claim"], [s.text for s in read(row["rows"]).sentences]) == row["row"]


@pytest.mark.parametrize("row", examples("told_values", "own row"))
def test_the_own_row_several_rows_and_sums_are_left_alone(row: dict[str, Any]) -> None:
    assert row_with_other_value(row["claim"], [s.text for s in read(row["rows"]).sentences]) == ""


@pytest.mark.parametrize("row", examples("told_values", "result of a query"))
def test_the_result_of_a_query_is_read_with_the_question(row: dict[str, Any]) -> None:
    assert named_result(row["text"], row["question"]).removeprefix("- ").startswith(row["told"])


@pytest.mark.parametrize("row", examples("silent_texts", "silent"))
def test_what_stands_around_the_content_of_a_page_tells_nothing(row: dict[str, Any]) -> None:
    assert telling_texts(row["question"], [row["text"]]) == ()


@pytest.mark.parametrize("row", examples("silent_texts", "telling"))
def test_terse_texts_that_state_something_tell(row: dict[str, Any]) -> None:
    assert telling_texts(row["question"], [row["text"]]) == (row["text"],)
    assert not lacks_what_is_asked(row["question"], [row["text"]])


@pytest.mark.parametrize("row", examples("silent_texts", "lacking"))
def test_without_any_amount_rate_number_or_time_a_text_cannot_say_it(row: dict[str, Any]) -> None:
    assert lacks_what_is_asked(row["question"], [row["text"]])


@pytest.mark.parametrize("row", examples("silent_texts", "holding"))
def test_where_one_may_stand_nothing_is_concluded(row: dict[str, Any]) -> None:
    assert not lacks_what_is_asked(row["question"], [row["text"]])
    assert not lacks_what_is_asked(row["question"], ["Nothing of it.", row["text"]])


def test_furniture_supports_no_claim_but_one_about_it() -> None:
    page = ["Page 4 of 12", "This page intentionally left blank."]

    assert state_nothing("What is the notice period?", "Three months.", page)
    assert not state_nothing("What is the notice period?", "Three months.", [*page, "Notice period: three months"])
    assert not state_nothing("What does page 4 say?", "Page 4 is blank.", page)


def test_prose_is_told_from_fields_and_notices() -> None:
    assert is_prose(["The key must be returned on the same day.", "Its loss must be reported at once."])
    assert not is_prose(["Model: Ferro F20", "Weight: 1.6 kg", "It is delivered in a case of steel."])
    assert not is_prose([])


BIN = """Great question! Here's what belongs in the food waste bin:

✅ **Yes**
- Peelings
- Coffee grounds, including the filter

❌ **No**
- Liquids

The bin is emptied on Mondays.

Some other points on your bin:
- It is green
"""


@pytest.mark.parametrize("row", examples("claimed_text", "an attribution goes"))
def test_phrases_about_the_sources_are_taken_off(row: dict[str, Any]) -> None:
    assert without_attribution(row["claim"]) == row["left"]


@pytest.mark.parametrize("row", examples("claimed_text", "no attribution"))
def test_everything_else_stays(row: dict[str, Any]) -> None:
    assert without_attribution(row["claim"]) == row["claim"]


@pytest.mark.parametrize("row", examples("claimed_text", "open ended"))
def test_a_request_for_all_there_is_to_say_is_told_from_a_question(row: dict[str, Any]) -> None:
    assert is_open_ended(row["query"]) is row["opened"]


def test_items_of_what_was_asked_for_are_needed_and_what_stands_elsewhere_is_not() -> None:
    query = "what can i put in the food waste bin?"
    needed = ("Peelings", "Coffee grounds, including the filter", "Liquids")
    others = ("The bin is emptied on Mondays.", "It is green", "Eggshells")

    assert [is_item(query, claim, BIN) for claim in (*needed, *others)] == [True] * 3 + [False] * 3
    assert not is_item("When is the office open?", "Peelings", BIN)


def test_numbered_steps_are_needed_by_whoever_asks_how() -> None:
    response = "1. Open the lid.\n2. Press the knob."

    assert is_step("How do I reset it?", "Press the knob.", response)
    assert not is_step("Where is it?", "Press the knob.", response)


@pytest.mark.parametrize("row", examples("claimed_text", "a short reply"))
def test_a_short_reply_answers(row: dict[str, Any]) -> None:
    assert is_short_reply(row["question"], row["question"], row["claims"])


@pytest.mark.parametrize("row", examples("claimed_text", "no short reply"))
def test_what_is_of_another_kind_or_a_sentence_of_its_own_is_left_to_the_models(row: dict[str, Any]) -> None:
    assert not is_short_reply(row["question"], row["question"], row["claims"])


@pytest.mark.parametrize("row", examples("claimed_text", "a bare yes"))
def test_a_bare_yes_asserts_what_was_asked_and_a_bare_no_nothing(row: dict[str, Any]) -> None:
    assert asserted_text("Is parking free?", row["claim"]) == row["said"]


def test_a_bare_yes_to_several_questions_asserts_nothing() -> None:
    assert asserted_text("Is parking free? Is there a lift?", "Yes.") == ""
