"""What a hub model reads: all of the sources, in an order of their own, beside the whole claim, in many languages."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import tiny_onnx
from contract import answers
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from ragtriage.core import questions as ask
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Verdict
from ragtriage.judges.build import BuiltJudge, build_judge
from ragtriage.judges.hub_models.folder import languages_of_card, open_folder
from ragtriage.judges.hub_models.judge import components_in, languages, undivided_reason
from ragtriage.judges.hub_models.model import HubModel, PairChances, chunks
from ragtriage.judges.judge_config import FAST, JudgeConfig
from ragtriage.judges.session import JudgeSession

DOCUMENT = (
    "Day tickets are valid until three in the morning. They cost six euros. Dogs travel free if they sit on a lap."
)
CLAIM = "A day ticket is valid until three in the morning."
QUERY = "How long is a day ticket valid?"


@pytest.fixture(scope="module")
def nli(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_onnx.entailment(tmp_path_factory.mktemp("onnx") / "nli", "[de, en, zh]")


def opened(folder: Path) -> HubModel:
    return HubModel(open_folder(str(folder), folder))


def built(folder: Path) -> BuiltJudge:
    return build_judge(JudgeSession.of(JudgeConfig((f"embedded+reader:{folder}",))))


def test_a_judge_with_a_hub_model_answers_about_claims_by_it_and_the_rest_as_ever(nli: Path) -> None:
    judge, embedded = built(nli).judge, build_judge(JudgeSession.of(JudgeConfig((FAST,)))).judge
    supported = ask.supported(CLAIM, (DOCUMENT,), QUERY, CLAIM)
    others = [
        ask.essential(QUERY, DOCUMENT),
        ask.answered(QUERY, (DOCUMENT,)),
        ask.similarity(CLAIM, (CLAIM, "They cost six euros."), 0),
    ]
    told = answers(judge, [supported])[0]

    assert isinstance(told, Verdict)
    assert told.chance is None  # nobody measured that it is calibrated
    assert told.score == opened(nli).read([(DOCUMENT, CLAIM)])[DOCUMENT, CLAIM].yes
    assert answers(judge, others) == answers(embedded, others)
    assert all(judge.fingerprint(one.kind) == embedded.fingerprint(one.kind) for one in others)
    assert judge.fingerprint("supported") != embedded.fingerprint("supported")


def test_the_order_of_the_sources_changes_nothing(nli: Path) -> None:
    sources = ("They cost six euros.", DOCUMENT, "Large dogs need a child ticket.")
    one, two = answers(built(nli).judge, [ask.supported(CLAIM, some, QUERY) for some in (sources, sources[::-1])])

    assert one == two


def test_the_languages_are_those_of_the_card(nli: Path) -> None:
    judge = built(nli).judge

    assert judge.unsupported_reason("supported", "de") is None
    assert judge.unsupported_reason("claims", "de") is None
    assert "Chinese" in (judge.unsupported_reason("claims", "zh") or "")
    assert "reads German, English, Chinese" in (judge.unsupported_reason("supported", "pl") or "")
    assert judge.unsupported_reason("declines", "de") is not None
    assert judge.unsupported_reason("supported", "zh") is None
    assert (
        judge.unsupported_reason("claims", "fr") == "the embedded judge was measured on English only, and this case "
        "seems to be in French"
    )


HOSTILE = {
    "short lines": "\n".join(f"{hour:02}:{minute:02}" for hour in range(6, 22) for minute in range(0, 60, 3)),
    "addresses": " ".join(f"https://example.org/{n}/fares?valid={n * 7919}" for n in range(110)),
    "no spaces": "".join(f"第{n}号日票的价格是{n % 9}欧元，" for n in range(150)),
    "one word": "".join(f"{n * 104729:x}" for n in range(500)),
    "lines of marks": "\n".join("✓" if n % 3 else "Dogs travel free" for n in range(500)),
}
"""Sources that a count of sentences, words or pieces without line breaks takes for shorter than they are."""


def heard_of(
    monkeypatch: pytest.MonkeyPatch, folder: Path, *questions: Question, broken: str = ""
) -> tuple[list[Answer], list[tuple[str, str]]]:
    """The answers of a model that breaks on a claim, and the pairs that it read for them."""
    heard: list[tuple[str, str]] = []

    def read(self: HubModel, pairs: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], PairChances]:
        heard.extend(given := list(pairs))
        if any(claim == broken for _, claim in given):
            raise ValueError("no")
        return own(self, given)

    own = HubModel.read
    monkeypatch.setattr(HubModel, "read", read)
    return answers(built(folder).judge, questions), heard


def test_a_failure_of_one_question_leaves_the_others_alone(nli: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    six = "They cost six euros."
    asked = [ask.supported(claim, (text,)) for claim, text in ((CLAIM, " "), (six, DOCUMENT), (CLAIM, DOCUMENT))]
    found, _ = heard_of(monkeypatch, nli, *asked, broken=six)

    assert "no word in the sources" in str(found[0])
    assert "could not answer 'supported': no" in str(found[1])
    assert isinstance(found[2], Verdict)


def without_spaces(parts: Iterable[str]) -> str:
    return "".join(re.sub(r"\s", "", part) for part in parts)


@pytest.mark.parametrize("source", HOSTILE)
def test_the_whole_source_is_read_beside_the_whole_claim(
    nli: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    text = HOSTILE[source]
    (told,), pairs = heard_of(monkeypatch, nli, ask.supported(CLAIM, (text,), QUERY))
    model = opened(nli)

    assert isinstance(told, Verdict)
    assert told.value != "unknown"
    assert told.explanation.endswith(f"(the best of {len(pairs)} chunks)") == (len(pairs) > 1)
    assert without_spaces(chunk for chunk, _ in pairs) == without_spaces([text])
    for chunk, claim in pairs:
        assert claim == CLAIM
        assert model.count(chunk) + model.count(claim) < model.pieces(chunk, claim) <= model.folder.length


def test_what_does_not_fit_beside_any_source_is_unknown_with_the_reason(nli: Path) -> None:
    long = "Day tickets are valid until three in the morning if they cost six euros and dogs travel free, and " * 60
    told = answers(built(nli).judge, [ask.supported(long, (DOCUMENT,), QUERY)])[0]

    assert isinstance(told, Verdict)
    assert (told.value, told.score, told.chance) == ("unknown", None, None)
    assert told.explanation == "the claim is too long to be read whole: the model takes 512 word pieces"
    with pytest.raises(ValueError, match="word pieces are more than"):
        opened(nli).read([(DOCUMENT, long)])


def words_in(text: str) -> int:
    return len(text.split())


def test_chunks_are_whole_sentences_and_lose_nothing() -> None:
    text = "One two three. Four five six.\nSeven eight nine ten. " + "word " * 30
    found = chunks(text, 8, words_in)

    assert " ".join(found).split() == text.split()
    assert max(map(words_in, found)) <= 8
    assert found[0] == "One two three. Four five six."
    assert chunks("  ", 8, words_in) == ()
    assert chunks("a b", 8, words_in) == ("a b",)


@given(st.text("ab. 日本。é✓\n?!\t", max_size=300), st.integers(2, 40), st.sampled_from([0, 1]))
def test_chunks_keep_every_letter_and_their_size(text: str, size: int, line: int) -> None:
    def measure(part: str) -> int:  # letters, of which two that meet count once more, and lines
        return len(part.replace("\n", "")) + len(re.findall("aa|é", part)) + line * part.count("\n")

    found = chunks(text, size, measure)

    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(measure(chunk) <= size for chunk in found)


def test_languages_of_a_card(tmp_path: Path) -> None:
    for head, wanted in {
        "language: en": ("en",),
        "language:\n- multilingual\n- de\n- fr\nlicense: mit": ("de", "fr"),
        "license: mit\nlanguage:\n- multilingual": ("*",),
        "language: [en, zh]": ("en", "zh"),
        "license: mit": ("en",),
    }.items():
        (tmp_path / "README.md").write_text(f"---\n{head}\n---\n\n# Model\n\nlanguage: xx\n")
        assert languages_of_card(tmp_path) == wanted, head
    (tmp_path / "README.md").unlink()
    assert languages_of_card(tmp_path) == ("en",)


GERMAN = (
    "Das Tagesticket gilt bis drei Uhr. Es kostet z. B. 6 Euro. Am 3. Mai fahren Hunde ggf. Umwege. Nr. 5 hält nicht."
)
FRENCH = "Le billet est valable jusqu'à trois heures. M. Dupont l'a dit. Il coûte six euros !"
SPANISH = "El billete vale hasta las tres. La Sra. Ruiz lo sabe. ¡Cuesta seis euros! Los EE. UU. no cuentan."


@pytest.mark.parametrize(("code", "text", "count"), [("de", GERMAN, 4), ("fr", FRENCH, 3), ("es", SPANISH, 4)])
def test_sentences_of_other_languages_stay_whole(code: str, text: str, count: int) -> None:
    found = components_in("claims", ask.claims(text), code)

    assert len(found) == count, found
    assert " ".join(one.text for one in found) == text
    assert all(text[slice(*(one.span or (0, 0)))] == one.text for one in found)
    assert not any(one.remark for one in found)
    assert undivided_reason(code) is None


@pytest.mark.parametrize("row", examples("languages", "remarks"))
def test_a_statement_is_never_a_remark_for_the_question_behind_it(row: dict[str, Any]) -> None:
    found = components_in("claims", ask.claims(row["text"]), row["code"])

    assert (sum(not one.remark for one in found), sum(one.remark for one in found)) == (
        row["claims"],
        row["remarks"],
    ), found
    assert "".join("".join(one.text.split()) for one in found) == "".join(row["text"].split())
    assert all(row["text"][slice(*(one.span or (0, 0)))].split() == one.text.split() for one in found)
    assert all(one.text.endswith("?") for one in found if one.remark)


@pytest.mark.parametrize("kind", ["facts", "sentences"])
def test_sources_are_split_at_the_same_places_as_responses(kind: str) -> None:
    text = "Le billet coûte 99 euros ! Il est valable un an ! Les chiens voyagent gratuitement."
    found = components_in(kind, ask.facts(text), "fr")  # type: ignore[arg-type]

    assert [one.text for one in found] == [
        "Le billet coûte 99 euros !",
        "Il est valable un an !",
        "Les chiens voyagent gratuitement.",
    ]


def test_items_of_a_list_keep_the_words_before_it_and_lose_their_marks() -> None:
    text = "Les billets :\n\n- le plein [1] ! Il coûte 99 euros [2] !\n- le réduit"
    found = components_in("claims", ask.claims(text), "fr")

    assert [(one.text, one.remark) for one in found[1:]] == [
        ("Les billets : le plein !", False),
        ("Il coûte 99 euros !", False),
        ("Les billets : le réduit", False),
    ]


def test_chinese_is_undefined_with_the_reason() -> None:
    assert "Chinese" in (undivided_reason("zh") or "")
    assert {"de", "fr", "es"} <= set(languages())
    assert not {"zh", "ja", "th"} & set(languages())


def test_a_german_text_is_split_where_a_hub_model_reads_german(nli: Path) -> None:
    english = "It costs six euros. It opens at nine and closes at noon."
    split = answers(built(nli).judge, [ask.claims(GERMAN), ask.claims(english)])

    assert [len(one) for one in split if isinstance(one, tuple)] == [4, 3]  # English is split within sentences too
