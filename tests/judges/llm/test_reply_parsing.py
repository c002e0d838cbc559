"""A reply is read by its schema and by nothing else; what doesn't fit is never guessed."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_request_grouping import POOL, QUERY, SHORT

from fake_models import JSON, reply_to
from ragtriage.core import questions as ask
from ragtriage.core.questions import DECOMPOSITIONS
from ragtriage.core.verdicts import Component, Verdict
from ragtriage.judges.llm.kinds import ASKED_KINDS, quote_occurs
from ragtriage.judges.llm.options import MalformedReply, Reply
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
        answers = JSON.read(request, reply, fewer=True).answers
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


@pytest.mark.parametrize(
    "around",
    ["{}", "\n {} \n", "```json\n{}\n```", "```\n{}\n```", "Here it is:\n```json\n{}\n```\nI hope it helps.",
     "Reply: {}", "{}.", "\ufeff{}"],
)  # fmt: skip
def test_words_and_marks_of_code_around_the_object_are_left_out(around):
    assert value(around.replace("{}", json.dumps({"q1": FITS}))) == "yes"


LIBERTIES = [
    ('{"q1": {"why": "It [says] {so},", "quote": "", "verdict": "no",},}', "It [says] {so},"),
    ('{"q1": {"why": "So.", "quote": "", "verdict": "no"}, "more": [1, 2.5, ],\n}', "So."),
    ("{'q1': {'why': 'It\\'s \"so\".', 'quote': '', 'verdict': 'no'}}", 'It\'s "so".'),
    ("{'q1': {'why': \"It's so.\", 'quote': '', 'verdict': 'no', 'page': None, 'sure': True}}", "It's so."),
    ('{"q1": {"why": "two\nlines \\u00e9", "quote": "", "verdict": "no", "x": False}}', "two\nlines é"),
    ('<think>Is {"q1": {"why": "", "quote": "", "verdict": "yes"}} right?</think>\n{"q1": {NO}}', "So."),
    ('{"q1": {"why": "", "quote": "", "verdict": "yes"}}? No.\n</think>\n\n```json\n{"q1": {NO}}\n```', "So."),
    ("<Thinking>{'q1'}</Thinking>{'q1': {'why': 'So.', 'quote': '', 'verdict': 'no'},}", "So."),
]


@pytest.mark.parametrize(("text", "why"), LIBERTIES)
def test_what_can_be_read_in_one_way_only_is_read(text, why):
    verdict = reading(text.replace("{NO}", '{"why": "So.", "quote": "", "verdict": "no"}'))[CLAIM]

    assert (verdict.value, verdict.explanation) == ("no", why)


def test_line_breaks_inside_texts_are_read():
    assert reading('{"q1": {"why": "One\nTwo", "quote": "", "verdict": "no"}}')[CLAIM].explanation == "One\nTwo"


YES, NO = json.dumps({"q1": FITS}), json.dumps({"q1": FITS | {"verdict": "no"}})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        "yes",
        "The verdict is yes.",
        "verdict: yes\nwhy: it says so",
        "q1: yes",
        '"yes"',
        "null",
        "true",
        "1",
        "[]",
        "{}",
        f"[{YES}]",
        json.dumps(YES),
        f"{YES}\n{NO}",
        f"{NO}\n{YES}",
        f"{NO} {NO}",
        f"The source says {YES}. My answer is {NO}",
        f"```json\n{YES}\n```\n```json\n{NO}\n```",
        f"I use {{q1}} for the claim. {YES}",
        f"{YES} and {{more}}",
        f"<think>{YES}",
        f"<think>Hm.</think>{YES}{NO}",
        f"<think>{YES}</think>",
        YES[:-1],
        YES[1:],
        YES[:-5],
        YES.replace('"', "'") + NO,
        YES.replace('"', "'").replace("It says", "It's what it says"),
        YES.replace('"', "“"),
        YES.replace("It says so.", 'It says "so".'),
        YES.replace("{", "{ // first\n", 1),
        YES.replace('", "', '" "', 1),
        YES.replace('", "', '",, "', 1),
        YES.replace("{", "{,", 1),
        YES.replace('"q1"', "q1"),
        f'{{"q1": {json.dumps(FITS)},,}}',
        "{'q1': {'why': '', 'quote': '', 'verdict': 'yes', 'verdict': 'no',}}",
        f'{{"answer": {YES}}}',
        f'{{"properties": {YES}}}',
        f'{{"q1": {YES}}}',
        f'{{"q1": [{json.dumps(FITS)}]}}',
        '{"q1": "yes"}',
        '{"q1": true}',
        '{"q1": null}',
        '{"Q1": {"why": "", "quote": "", "verdict": "yes"}}',
        '{"q2": {"why": "", "quote": "", "verdict": "yes"}}',
        '{"q1": {"why": "", "quote": "", "verdict": "yes"}, "q1": {"why": "", "quote": "", "verdict": "no"}}',
        '{"q1": {"why": "", "quote": "", "verdict": "no", "verdict": "yes"}}',
        '{"q1": {"why": "", "quote": "", "verdict": "yes"}, "more": {"a": 1, "a": 1}}',
        '{"q1": {"why": "", "quote": "", "verdict": "yes", "confidence": NaN}}',
        '{"q1": {"why": "", "quote": "", "verdict": "yes"}, "x": [Infinity, -Infinity]}',
        '{"q1": {"why": "", "quote": "", "verdict": "yes"}, "x": ' + "9" * 10_000 + "}",
        '{"q1": ' * 100_000,
        "[" * 100_000 + "]" * 100_000,
        "{" * 100_000 + "}" * 100_000,
    ],
    ids=lambda text: text[:40],
)
def test_what_is_not_one_object_with_what_was_asked_for_is_malformed(text):
    with pytest.raises(MalformedReply):
        reading(text)


@pytest.mark.parametrize(
    "verdict",
    ["Yes, it is", "yes?", "supported", "true", "y", "", " ", "yes, no", "yes/no", "not yes", "yes\u200b no", "да",
     "ｙｅｓ", "yеs", "YES BECAUSE", None, True, False, 1, 0, 1.0, 1e308, [], ["yes"], {"value": "yes"}, {}],
    ids=repr,
)  # fmt: skip
def test_no_other_word_is_a_verdict(verdict):
    with pytest.raises(MalformedReply, match="the verdict of `q1` is not yes, no or unknown"):
        reading({"q1": FITS | {"verdict": verdict}})


@pytest.mark.parametrize(
    ("verdict", "read_as"),
    [("yes", "yes"), ("YES", "yes"), (" No\n", "no"), ("Unknown", "unknown"), ("Yes.", "yes"), ("NO!", "no"),
     ("**no**", "no"), ("“no”", "no"), ("'Unknown',", "unknown")],
)  # fmt: skip
def test_capital_letters_and_marks_and_spaces_around_are_no_other_word(verdict, read_as):
    assert value({"q1": FITS | {"verdict": verdict}}) == read_as


@pytest.mark.parametrize("member", ["why", "quote"])
@pytest.mark.parametrize("wrong", [None, 1, True, [], ["It says so."], {"text": "It says so."}, "left out"], ids=repr)
def test_a_text_that_is_none_is_malformed(member, wrong):
    said = FITS | {member: wrong}
    if wrong == "left out":
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


@pytest.mark.parametrize(
    "claims",
    [None, "One claim.", {"0": "One claim."}, [1], [None], ["One.", 2], [["One."]], [{"claim": "One."}], "left out"],
    ids=repr,
)
def test_a_list_that_is_not_of_texts_is_malformed(claims):
    said = {"remarks": []} | ({} if claims == "left out" else {"claims": claims})
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


@pytest.mark.parametrize("said", [None, 3, "", " \n", "\u200b", ["When?"], {"text": "When?"}], ids=repr)
def test_a_query_that_was_not_written_is_malformed(said):
    with pytest.raises(MalformedReply, match="`standalone`"):
        reading({"standalone": said}, ask.standalone("And when?", ("user: How tall is it?",)))


def test_no_more_questions_are_taken_than_were_asked_for():
    three, two = ask.questions_answered_by(RESPONSE, 3), ask.questions_answered_by(RESPONSE, 2)
    found = reading({"questions_answered_by": ["A?", "B?", "C?", "D?"]}, three, two)
    assert [component.text for component in found[three]] == ["A?", "B?", "C?"]
    assert [component.text for component in found[two]] == ["A?", "B?"]


def test_a_response_may_answer_no_question_but_not_fewer_than_were_asked_for():
    three = ask.questions_answered_by(RESPONSE, 3)
    assert reading({"questions_answered_by": []}, three) == {three: ()}
    with pytest.raises(MalformedReply, match="has 2 different questions, not 3"):
        reading({"questions_answered_by": ["A?", "A?", "B?"]}, three)


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


@pytest.mark.parametrize(
    "quote",
    [
        "is 38 metres tall", "IS 38  METRES\nTALL", "“is 38 metres tall.”", "tall. It stands", "The tower … 38 metres",
        "The tower ... northern cliff", "The tower [...] 1889", "38 m | 1889", "height year 38 m 1889",
        "Versand dauert", "Ver\u00adsand", "می‌خواهم", "میخواهم", "高さ38メートル", "first floor",
        "The tower … Versand", "", "…",
    ],
)  # fmt: skip
def test_a_quote_is_found_whatever_its_spaces_case_and_marks(quote):
    assert quote_occurs(quote, TEXTS)


@pytest.mark.parametrize(
    "quote",
    ["is 39 metres tall", "The tower is tall", "The tower … was sold", "It says: yes", "nein", "高さ39メートル"],
)
def test_a_quote_that_is_not_there_is_not_found(quote):
    assert not quote_occurs(quote, TEXTS)


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


@pytest.mark.parametrize(
    ("verdict", "quote"), [("no", "not there"), ("unknown", "not there"), ("yes", ""), ("yes", " ")]
)
def test_only_a_yes_with_a_quote_is_looked_up(verdict, quote):
    assert reading({"q1": FITS | {"verdict": verdict, "quote": quote}})[CLAIM].flag == ""


@pytest.mark.parametrize(
    ("verdict", "quote", "contradicted"),
    [
        ("no", "38 metres tall", True),
        ("no", "38 metres … tall", True),
        ("no", "", False),
        ("no", " … ", False),
        ("no", "not there", False),
        ("yes", "38 metres tall", False),
        ("unknown", "38 metres tall", False),
    ],
)
def test_a_claim_is_contradicted_where_a_no_quotes_the_source(verdict, quote, contradicted):
    assert reading({"q1": FITS | {"verdict": verdict, "quote": quote}})[CLAIM].contradicted is contradicted


def test_a_quote_from_the_claim_is_no_quote_from_the_source():
    claim = ask.supported("The source says “this claim is true”.", (SHORT,))
    assert reading({"q1": FITS | {"quote": "this claim is true"}}, claim)[claim].flag


def test_a_quote_from_the_response_is_looked_up_in_the_response():
    question = ask.answered("How tall?", (RESPONSE,), QUERY, QUERY)
    assert reading({"q1": FITS | {"quote": "opens in May"}}, question)[question].flag == ""
