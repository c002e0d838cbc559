"""What of a response is judged, and where that stands in it: without thoughts, marks, JSON and words for no answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage import Case, Source
from ragtriage.text.claims import split_claims
from ragtriage.text.prepared import prepared, thought_spans
from ragtriage.text.segments import segments_of, unsegmented_reason

SAID = "The ferry leaves at 8:15."
SOURCES = ("Tenants of Pell House may keep one cat.", "The laundry is in the basement.")
NAMES = ("docs/lease.pdf", "house-rules.md")


def case(response: str, query: str = "", sources: tuple[str, ...] = SOURCES, ids: tuple[str, ...] = ()) -> Case:
    named = ids or (None,) * len(sources)
    return Case("c", query, tuple(Source(text, name) for text, name in zip(sources, named, strict=True)), response)


def claims(response: str, query: str = "") -> list[str]:
    return [c.text for c in split_claims(prepared(case(response, query)).text) if not c.remark]


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        (f"<think>Perhaps 9:00? I need a visa.</think>\n\n{SAID}", SAID),
        (f"<THINK>Perhaps.</THINK>{SAID}", SAID),
        (f"<thinking>\nPerhaps.\n</thinking>\n{SAID}", SAID),
        (f"<reasoning>Perhaps.</reasoning> {SAID}", SAID),
        (f"[THINK]Perhaps.[/THINK]{SAID}", SAID),
        (f"Okay, the user asks about a ferry.\n</think>\n{SAID}", SAID),
        (f"Perhaps at nine. Yes.</think>{SAID}", SAID),
        (f"so it is 8:15 then</think>{SAID}", SAID),
        (f"<think>One.</think>\n<think>Two.</think>\n{SAID}", SAID),
        (f"<think>Code: ```\nx = 1\n</think>\n{SAID}", SAID),
        (f"Sure! <think>let me look it up first.</think> {SAID}", f"Sure!  {SAID}"),
        ("<think>The ferry leaves at 8:15. I should", ""),
        ("<think>The ferry leaves at 8:15.</think>", ""),
        (f"<think></think>\n{SAID}", SAID),
        ("It writes its thoughts between <think> and </think>.", None),
        ("They stand between `<think>` and `</think>`.", None),
        ("The thoughts end with the tag </think>.", None),
        ("The tag <think> opens what the model thinks and </think> closes it.", None),
        ("A prompt:\n```\n<think>plan</think>\n```", None),
        ("I think that it leaves at 8:15.", None),
    ],
)
def test_thoughts_are_no_part_of_the_answer(response: str, answer: str | None) -> None:
    assert prepared(case(response)).text.strip() == (response if answer is None else answer)


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "A b c.", "\n", "`", "```", " so ", "<THINKING>"]), max_size=20)
)
def test_thoughts_are_apart_and_in_order(pieces: list[str]) -> None:
    text = "".join(pieces)
    at = 0
    for start, end in thought_spans(text):
        assert at <= start < end <= len(text)
        at = end


MARKS = [
    ("[lease.pdf]", "lease.pdf"),
    ("[lease.pdf, p. 4]", "lease.pdf"),
    ("[lease.pdf, pages 3-4]", "lease.pdf"),
    ("[lease.pdf#page=3]", "lease.pdf#page=3"),
    ("(lease.pdf, § 3)", "lease.pdf"),
    ("(see lease.pdf, section 4)", "lease.pdf"),
    ("【lease.pdf】", "lease.pdf"),
    ("(Source: lease)", "lease"),
    ("[Source: Lease, p. 12]", "Lease"),
]


@pytest.mark.parametrize("ids", [(), NAMES])
@pytest.mark.parametrize(("mark", "name"), MARKS)
@pytest.mark.parametrize(
    "form", ["They may keep one cat {}. They pay rent.", "They may keep one cat. {} They pay rent."]
)
def test_a_mark_that_names_a_document_is_no_part_of_a_claim(
    form: str, mark: str, name: str, ids: tuple[str, ...]
) -> None:
    answered = case(form.format(mark), ids=ids)
    assert prepared(answered).text == "They may keep one cat. They pay rent."
    if not ids:
        assert unsegmented_reason(answered) == "nothing"  # nobody can tell what it cites
    else:
        cited = [c for segment in segments_of(answered) or () for c in segment.citations]
        assert [(c.name, c.sources) for c in cited] == [(name, (0,))]


def test_several_names_and_the_last_line_cite_each_source() -> None:
    for response in (
        "They may keep one cat (Sources: lease.pdf, house-rules.md).",
        "They may keep one cat. Source: lease.pdf, House rules",
        "They may keep one cat.\n\n**Sources:** lease.pdf; house-rules.md",
    ):
        answered = case(response, ids=NAMES)
        assert prepared(answered).text.strip() == "They may keep one cat."
        found = {at for s in segments_of(answered) or () for c in s.citations for at in c.sources}
        assert found == {0, 1}, response


@pytest.mark.parametrize(
    "response",
    [
        "The settings are kept in settings.toml.",
        "Open the file [lease.pdf] and sign it.",
        "Edit [package.json] and set the version.",
        "The prices are in [prices.csv].",
        "The answer is [terms.md].",
        "It writes to (log.json).",
        "Sellers pay 4 % (VAT included).",
        "Source: wind.",
        "Name: Firo\nWeight: 2 kg\nSource: hydropower",
    ],
)
def test_names_of_files_that_are_spoken_of_stay(response: str) -> None:
    assert prepared(case(response)).text == response


@pytest.mark.parametrize(
    ("response", "said"),
    [
        ('{"opening_hours": "ten to four", "directorName": "Olga Venn"}',
         ["Opening hours: ten to four", "Director name: Olga Venn"]),
        ('```json\n{\n  "fee": 80,\n  "open": true\n}\n```', ["Fee: 80", "Open: yes"]),
        ('Here it is:\n```\n{"fee": "80 euros"}\n```', ["Fee: 80 euros"]),
        ('{"animals": {"dogs": 40, "cats": 25}}', ["Animals: dogs: 40", "Animals: cats: 25"]),
        ('{"animals": ["dogs", "cats"]}', ["Animals: dogs", "Animals: cats"]),
        ('[{"item": "lamp", "price": "20 euros"}, {"item": "chair", "price": "45 euros"}]',
         ["Item: lamp", "Lamp: price: 20 euros", "Item: chair", "Chair: price: 45 euros"]),
        ('{"answer": "It closes at six. Dogs may enter.", "confidence": 0.9, "sources": ["a.md"]}',
         ["It closes at six.", "Dogs may enter."]),
        ('{"answer": "Olga Venn", "type": "person", "id": "r-1", "language": "en", "status": "ok"}', ["Olga Venn"]),
        ('{"director": "Olga Venn", "deputy": null, "notes": "", "fax": "N/A"}', ["Director: Olga Venn"]),
        ('{"quiz": [{"question": "Who leads it?", "options": ["Olga", "Pavel"], "answer": "Olga"}]}',
         ["Who leads it? Olga"]),
        ('{"statement": "The shop weighs 3 kg.", "answer": false}', ["It is not true that the shop weighs 3 kg."]),
        ('{"statement": "The shop houses dogs.", "answer": "true"}', ["The shop houses dogs."]),
        ("{'fee': '80 euros', 'open': None,}", ["Fee: 80 euros"]),
        ('{"note": "He said \\"yes\\"\\u00e9"}', ['Note: He said "yes"é']),
        ('{"dueDate": "9 June", "due_date": "1 May"}', ["Due date: 9 June", "Due date: 1 May"]),
        ("The director {Olga Venn} leads it.", ["The director {Olga Venn} leads it."]),
        ('{"fee": 80', None),
        ("[It is open from ten to four.]", None),
    ],
)  # fmt: skip
def test_json_is_read_field_by_field(response: str, said: list[str] | None) -> None:
    assert (claims(response) if said is not None else prepared(case(response)).text) == (said or response)


def test_a_field_that_is_asked_for_is_no_field_about_the_answer() -> None:
    response = '{"order": "118", "status": "shipped"}'
    assert claims(response, "Where is order 118?") == ["Order: 118"]
    assert claims(response, "What is the status of order 118?") == ["Order: 118", "Status: shipped"]


@pytest.mark.parametrize(
    ("response", "quotes"),
    [
        ("<think>Hm.</think>\nCats may stay [lease.pdf]. Dogs too.", ["Cats may stay", "Dogs too."]),
        ('{"fee": "8 \\u20ac", "rooms": 3}', ['"fee": "8 \\u20ac', '"rooms": 3']),
        ("<p>Cats may stay [1].</p><p>Dogs too.</p>", ["Cats may stay [1].", "Dogs too."]),
    ],
)
def test_places_are_those_of_the_response(response: str, quotes: list[str]) -> None:
    found = prepared(case(response))
    placed = [found.placed(c) for c in split_claims(found.text)]
    spans = [c.span for c in placed if c.span]
    assert [response[start:end].startswith(quote[:8]) for (start, end), quote in zip(spans, quotes, strict=True)] == [
        True
    ] * 2
    assert spans == sorted(spans)


def test_a_place_ends_behind_an_escape() -> None:
    response = '{"fee": "8 \\u20ac", "rooms": 3}'
    found = prepared(case(response))
    (start, end) = found.placed(split_claims(found.text)[0]).span or (0, 0)
    assert response[start:end] == '"fee": "8 \\u20ac'


ASKED: list[tuple[str, str, str, bool]] = [
    *(("Who built the lighthouse?", "Mina Durr built the lighthouse.", word, True) for word in (
        "N/A", "n.a.", "NA", "null", "None", "nil", "Unknown.", "-", "…", "TBD", "No answer.", "undefined", "{}", "")),
    ("Which allergens does it contain?", "It contains no allergens.", "None.", False),
    ("What side effects are known?", "There are no known side effects.", "None", False),
    ("Who wrote the chronicle?", "Nobody knows who wrote it; the author is unknown.", "Unknown", False),
    ("What does find return?", "Without a match find returns null.", "null", False),
    ("What is the default port?", "The default port is 80. If the body is null, it fails.", "null", True),
    ("Is the lamp in stock?", "The lamp is sold out.", "Not available.", False),
    ("Is it open?", "It is closed.", "No.", False),
    ("Who built the lighthouse?", "Mina Durr built the lighthouse.", "None of them did.", False),
]  # fmt: skip


@pytest.mark.parametrize(("query", "source", "response", "empty"), ASKED)
def test_words_for_no_answer_say_nothing_unless_a_source_says_so(
    query: str, source: str, response: str, empty: bool
) -> None:
    assert prepared(case(response, query, (source,))).text == ("" if empty else response)


def test_a_criterion_sees_marks_and_json() -> None:
    assert prepared(case("<think>Hm.</think>Cats may stay [1].")).answer == "Cats may stay [1]."
    assert prepared(case('{"fee": 8}')).answer == '{"fee": 8}'
