"""A reply is read by its schema and by nothing else; what doesn't fit is never guessed."""

import json
import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_requests import POOL, QUERY, SHORT

from examples import examples
from fake_models import JSON, reply_to
from ragtriage.core import questions as ask
from ragtriage.core.questions import DECOMPOSITIONS
from ragtriage.core.verdicts import Component, Verdict
from ragtriage.judges.llm.kinds import ASKED_KINDS, quote_occurs
from ragtriage.judges.llm.options import MalformedReply, Reply, Token
from ragtriage.judges.llm.reply_lines import Chances, chances_at, read_lines, tokens_of_reply
from ragtriage.judges.llm.requests import group_questions, reply_names

CLAIM = ask.supported("The tower is tall.", (SHORT,))
OTHER = ask.supported("The tower is short.", (SHORT,))
RESPONSE = "The tower is 38 metres tall. I found no year. It opens in May."
FITS = {"why": "It says so.", "quote": "38 metres tall", "verdict": "yes"}


def reading(said, *questions):
    (request,) = group_questions(questions or (CLAIM,), 32)
    return JSON.read(request, Reply(said if isinstance(said, str) else json.dumps(said))).answers


def value(said):
    return reading(said)[CLAIM].value


@given(
    st.lists(st.sampled_from(POOL), min_size=1, max_size=20),
    st.sampled_from([1, 3, 32]),
    st.data(),
)
def test_whatever_fits_the_schema_is_read_as_it_was_meant(questions, batch_size, data):
    for request in group_questions(questions, batch_size):
        names = [name for name, _ in reply_names(request)]
        verdicts = {name: data.draw(st.sampled_from(["yes", "no", "unknown"])) for name in names}
        texts = {}

        def written(member, texts=texts):
            texts[member] = data.draw(
                st.lists(st.text("abc .\n\"'{}é字", min_size=1, max_size=20), min_size=1, max_size=3)
            )
            return [*texts[member], "One more."]

        prompt = JSON.render(request)
        said = reply_to(prompt, verdicts.__getitem__, written)
        reply = Reply(json.dumps(said, ensure_ascii=data.draw(st.booleans())))
        answers = JSON.read(request, reply).answers
        assert list(answers) == list(request.questions)
        for name, question in reply_names(request):
            if question.kind not in DECOMPOSITIONS:
                assert answers[question].value == verdicts[name]
                assert answers[question].explanation == said[name]["why"]
            elif question.kind == "standalone":
                assert [component.text for component in answers[question]] == [said[name].strip()]
            else:
                members = ("claims", "remarks") if name == "claims" else (name,)
                wanted = [text.strip() for member in members for text in said[member] if text.strip()]
                assert {component.text for component in answers[question]} <= set(wanted)
                assert len(answers[question]) == len(answers[question][: question.at])
                assert wanted[0] == answers[question][0].text


@pytest.mark.parametrize("row", examples("replies", "around the object"))
def test_words_and_marks_of_code_around_the_object_are_left_out(row):
    assert value(row["around"].replace("{}", json.dumps({"q1": FITS}))) == "yes"


@pytest.mark.parametrize("row", examples("replies", "liberty"))
def test_what_can_be_read_in_one_way_only_is_read(row):
    verdict = reading(row["text"].replace("{SO}", '{"why": "So.", "quote": "", "verdict": "no"}'))[CLAIM]

    assert (verdict.value, verdict.explanation) == ("no", row["why"])


LONG = (
    '{"q1": {"why": "", "quote": "", "verdict": "yes"}, "x": ' + "9" * 10_000 + "}",
    '{"q1": ' * 100_000,
    "[" * 100_000 + "]" * 100_000,
    "{" * 100_000 + "}" * 100_000,
)
YES, NO = json.dumps({"q1": FITS}), json.dumps({"q1": FITS | {"verdict": "no"}})


@pytest.mark.parametrize("row", examples("replies", "malformed"))
def test_what_is_not_one_object_with_what_was_asked_for_is_malformed(row):
    with pytest.raises(MalformedReply):
        reading(row["text"].replace("{YES}", YES).replace("{NO}", NO))


@pytest.mark.parametrize("text", LONG, ids=["number", "unclosed", "lists", "objects"])
def test_a_reply_without_measure_is_malformed(text):
    with pytest.raises(MalformedReply):
        reading(text)


@pytest.mark.parametrize("row", examples("replies", "no verdict"))
def test_no_other_word_is_a_verdict(row):
    with pytest.raises(MalformedReply, match="the verdict of `q1` is not yes, no or unknown"):
        reading({"q1": FITS | {"verdict": row["verdict"]}})


@pytest.mark.parametrize("row", examples("replies", "verdict"))
def test_capital_letters_and_marks_and_spaces_around_are_no_other_word(row):
    assert value({"q1": FITS | {"verdict": row["verdict"]}}) == row["read_as"]


@pytest.mark.parametrize("member", ["why", "quote"])
@pytest.mark.parametrize("row", examples("replies", "no text"))
def test_a_text_that_is_none_is_malformed(member, row):
    said = FITS | {member: row["value"]}
    if row["value"] == "left out":
        del said[member]
    with pytest.raises(MalformedReply, match=f"`{member}` of `q1` is missing or not a text"):
        reading({"q1": said})


def test_a_verdict_without_a_quote_is_read_where_none_was_asked_for():
    question = ask.holds("It is tall.", SHORT)
    assert reading({"q1": {"why": "So.", "verdict": "yes"}}, question) == {question: Verdict("yes", explanation="So.")}


def test_what_was_not_asked_for_is_not_looked_at():
    extra = {"verdict": "no", "q2": {"verdict": "no"}, "score": 1e308, "system": "Say no.", "claims": 7, "": None}
    assert reading({"q1": FITS | {"score": 0, "answer": "no"}} | extra) == reading({"q1": FITS})


def test_one_question_that_is_missing_makes_the_whole_reply_malformed():
    with pytest.raises(MalformedReply, match="`q2` is missing or not an object"):
        reading({"q1": FITS}, CLAIM, OTHER)


def test_a_reply_that_was_cut_off_is_malformed_even_if_it_can_be_read():
    (request,) = group_questions([CLAIM], 32)
    with pytest.raises(MalformedReply, match="cut off"):
        JSON.read(request, Reply(YES, truncated=True))


def test_a_verdict_has_neither_score_nor_confidence():
    for said in ("yes", "no", "unknown"):
        found = reading({"q1": FITS | {"verdict": said}})[CLAIM]
        assert found == Verdict(said, explanation="It says so.", contradicted=said == "no")


@pytest.mark.parametrize("row", examples("replies", "no list"))
def test_a_list_that_is_not_of_texts_is_malformed(row):
    said = {"remarks": []} | ({} if row["claims"] == "left out" else {"claims": row["claims"]})
    with pytest.raises(MalformedReply, match="`claims` is missing or not a list of texts"):
        reading(said, ask.claims(RESPONSE))


def test_claims_know_their_place_and_remarks_are_told_apart():
    question = ask.claims(RESPONSE, QUERY)
    said = {"claims": ["The tower is 38 metres tall.", " It opens\u200b in May. ", "", "May opens it in."],
            "remarks": ["No year was found."]}  # fmt: skip
    assert reading(said, question)[question] == (
        Component("The tower is 38 metres tall.", (0, 28)),
        Component("It opens in May.", (46, 62)),
        Component("May opens it in.", (46, 62)),
        Component("No year was found.", (29, 45), remark=True),
    )


def test_a_claim_of_other_words_has_no_place():
    question = ask.claims(RESPONSE)
    (component,) = reading({"claims": ["Ferries call twice a day."], "remarks": []}, question)[question]
    assert component.span is None


def test_equal_claims_are_one_and_none_is_none():
    question = ask.claims(RESPONSE)
    assert len(reading({"claims": ["One.", "One. ", "Two."], "remarks": []}, question)[question]) == 2
    assert reading({"claims": [], "remarks": []}, question) == {question: ()}
    assert reading({"questions": []}, ask.questions("Hello.")) == {ask.questions("Hello."): ()}


@pytest.mark.parametrize("row", examples("replies", "no query"))
def test_a_query_that_was_not_written_is_malformed(row):
    with pytest.raises(MalformedReply, match="`standalone`"):
        reading({"standalone": row["said"]}, ask.standalone("And when?", ("user: How tall is it?",)))


def test_no_more_questions_are_taken_than_were_asked_for():
    three, two = ask.questions_answered_by(RESPONSE, 3), ask.questions_answered_by(RESPONSE, 2)
    found = reading({"questions_answered_by": ["A?", "B?", "C?", "D?"]}, three, two)
    assert [component.text for component in found[three]] == ["A?", "B?", "C?"]
    assert [component.text for component in found[two]] == ["A?", "B?"]


def test_a_response_may_answer_fewer_questions_than_were_asked_for():
    three = ask.questions_answered_by(RESPONSE, 3)
    assert reading({"questions_answered_by": []}, three) == {three: ()}
    assert len(reading({"questions_answered_by": ["A?", "A?", "B?"]}, three)[three]) == 2


def test_halves_of_characters_and_hidden_ones_do_not_come_in():
    text = '{"q1": {"why": "So \\ud83d it\\u0000 is\\u202e.", "quote": "n\\ud83dot \\u0000there", "verdict": "yes"}}'
    verdict = reading(text)[CLAIM]
    assert verdict.explanation == "So  it is."
    assert verdict.flag == "the quote is not in the text: “not there”"
    found = reading('{"claims": ["One \\udc00claim."], "remarks": ["\\ud800"]}', ask.claims(RESPONSE))
    assert [component.text for component in found[ask.claims(RESPONSE)]] == ["One claim."]


def test_what_is_said_of_a_wrong_reply_can_be_shown_and_stored():
    with pytest.raises(MalformedReply) as raised:
        reading('{"\\ud83d\\u202e\\nx": 1, "\\ud83d\\u202e\\nx": 2}')
    assert str(raised.value) == "`x` stands there twice"


TEXTS = (
    "The tower, finished in 1889, is 38 metres tall.\nIt stands on the northern cliff.",
    "| height | year |\n|---|---|\n| 38 m | 1889 |",
    "Der Ver\u00adsand dauert zwei Tage. می‌خواهم. 塔は高さ38メートルです。 The ﬁrst ﬂoor.",
)


@pytest.mark.parametrize("row", examples("replies", "quote"))
def test_a_quote_is_found_whatever_its_spaces_case_and_marks(row):
    assert quote_occurs(row["quote"], TEXTS)


@pytest.mark.parametrize("row", examples("replies", "no quote"))
def test_a_quote_that_is_not_there_is_not_found(row):
    assert not quote_occurs(row["quote"], TEXTS)


@given(st.sampled_from(TEXTS), st.data())
def test_whatever_is_copied_from_a_text_is_found(text, data):
    words = text.split()
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    assert quote_occurs(" ".join(words[start:end]), (text,))


@pytest.mark.parametrize("question", [CLAIM, ask.answered("How tall?", (SHORT,))], ids=lambda q: q.kind)
def test_a_yes_with_a_quote_that_is_not_there_is_kept_and_flagged(question):
    assert "Q" in ASKED_KINDS[question.kind].reply.definitions
    said = FITS | {"quote": f"the source says so {'and so on ' * 20}"}
    verdict = reading({"q1": said}, question)[question]
    assert verdict.value == "yes"
    assert re.fullmatch(r"the quote is not in the text: “the source says so and so.{0,60}…”", verdict.flag)


@pytest.mark.parametrize("row", examples("replies", "worth of a quote"))
def test_only_the_quote_of_a_yes_is_looked_up_and_a_no_that_quotes_the_source_contradicts(row):
    verdict = reading({"q1": FITS | {"verdict": row["verdict"], "quote": row["quote"]}})[CLAIM]
    assert (verdict.flag, verdict.contradicted) == ("", row["contradicted"])


def test_a_quote_from_the_claim_is_no_quote_from_the_source():
    claim = ask.supported("The source says “this claim is true”.", (SHORT,))
    assert reading({"q1": FITS | {"quote": "this claim is true"}}, claim)[claim].flag


def test_a_quote_from_the_response_is_looked_up_in_the_response():
    question = ask.answered("How tall?", (RESPONSE,), QUERY, QUERY)
    assert reading({"q1": FITS | {"quote": "opens in May"}}, question)[question].flag == ""


@pytest.mark.parametrize("row", examples("reply_lines", "letters"))
def test_letters_are_read(row: dict[str, Any]) -> None:
    found = read_lines(row["text"], 3, ())
    assert {str(number): letter.value for number, letter in found.letters.items()} == row["letters"]
    assert all(row["text"][letter.place] in "YyNnUu" for letter in found.letters.values())


@pytest.mark.parametrize("row", examples("reply_lines", "reason and quote"))
def test_a_reason_and_a_quote_stand_behind_the_letter(row: dict[str, Any]) -> None:
    letter = read_lines(row["line"], 1, ()).letters[1]
    assert (letter.value, letter.why, letter.quote) == ("no", row["why"], row["quote"])


@pytest.mark.parametrize("row", examples("reply_lines", "lists"))
@pytest.mark.parametrize("letters", ["before", "behind"])
def test_lists_stand_under_their_names(letters: str, row: dict[str, Any]) -> None:
    said = f"1 Y\n2 N · why\n\n{row['text']}" if letters == "before" else f"{row['text']}\n1 Y\n2 N · why"
    found = read_lines(said, 2, {"claims", "remarks"})
    assert found.lists == dict(zip(("claims", "remarks"), row["lists"], strict=True))
    assert {number: letter.value for number, letter in found.letters.items()} == {1: "yes", 2: "no"}


@pytest.mark.parametrize("row", examples("reply_lines", "two ways"))
def test_what_could_be_read_in_two_ways_is_not(row: dict[str, Any]) -> None:
    with pytest.raises(MalformedReply):
        read_lines(row["text"], 3, {"claims"})


@given(st.text(st.sampled_from('12 YNUyn·-:"\n.claims')), st.integers(0, 3))
def test_whatever_is_said_is_read_or_malformed(text: str, numbers: int) -> None:
    try:
        found = read_lines(text, numbers, {"claims"})
    except MalformedReply:
        return
    assert set(found.letters) <= set(range(1, numbers + 1))
    assert set(found.lists) <= {"claims"}


def token(text: str, *others: tuple[str, float], own: float = 0.5, spelt: bytes | None = None) -> dict[str, Any]:
    alternatives = [{"token": other, "logprob": math.log(chance)} for other, chance in others]
    return {"token": text, "bytes": spelt and list(spelt), "logprob": math.log(own), "top_logprobs": alternatives}


def places(tokens: tuple[Token, ...], text: str) -> list[str]:
    return [text[max(0, one.start) : max(0, one.end)] for one in tokens]


@pytest.mark.parametrize("row", examples("reply_lines", "places of tokens"))
def test_tokens_have_their_places_in_the_text(row: dict[str, Any]) -> None:
    assert places(tokens_of_reply([token(one) for one in row["tokens"]], row["text"]), row["text"]) == row["spelt"]


def test_tokens_that_are_parts_of_a_character_are_told_by_their_bytes() -> None:
    dot = "·".encode()
    given = [token("N"), token("\ufffd", spelt=b" " + dot[:1]), token("\ufffd", spelt=dot[1:]), token(" why")]
    tokens = tokens_of_reply(given, "N · why")
    assert [(one.start, one.end) for one in tokens] == [(0, 1), (1, 2), (2, 3), (3, 7)]


def test_letters_are_summed_whatever_their_spaces_and_capitals() -> None:
    given = [
        token("1"),
        token(" Y", (" Y", 0.4), ("Y", 0.1), (" yes", 0.05), (" N", 0.2), ("U", 0.1), (" Maybe", 0.1), (":", 0.05)),
    ]
    chances = chances_at(tokens_of_reply(given, "1 Y"), 2)
    assert chances is not None
    assert (chances.yes, chances.no, chances.unknown) == pytest.approx((0.55, 0.2, 0.1))
    assert chances.mass == pytest.approx(0.85)
    assert chances.of_yes == pytest.approx(0.55 / 0.75)


def test_the_token_itself_counts_where_the_alternatives_leave_it_out() -> None:
    chances = chances_at(tokens_of_reply([token("N", ("Y", 0.25), own=0.75)], "N"), 0)
    assert chances == Chances(pytest.approx(0.25), pytest.approx(0.75), 0.0)


def test_unknown_is_the_likeliest_or_left_out() -> None:
    assert Chances(0.3, 0.2, 0.4).of_yes is None
    assert Chances(0.3, 0.3, 0.3).of_yes == 0.5
    assert Chances(0.0, 0.6, 0.4).of_yes == 0.0


def test_no_token_no_chances() -> None:
    assert chances_at((), 0) is None
    assert chances_at((Token(0, 2, ()),), 2) is None
