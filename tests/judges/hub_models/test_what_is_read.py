"""What a hub model reads of a question: all of the sources, in an order of their own, beside the whole claim."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
import tiny_onnx
from contract import answers

from ragtriage.core import questions as ask
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Verdict
from ragtriage.judges.build import BuiltJudge, build_judge
from ragtriage.judges.hub_models.folder import open_folder
from ragtriage.judges.hub_models.model import HubModel, PairChances
from ragtriage.judges.judge_config import JudgeConfig
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
    judge, embedded = built(nli).judge, build_judge(JudgeSession.of(JudgeConfig())).judge
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


def test_a_failure_of_one_question_leaves_the_others_alone(nli: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(self: HubModel, pairs: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], PairChances]:
        some = list(pairs)
        if any(claim == "They cost six euros." for _, claim in some):
            raise ValueError("no")
        return own(self, some)

    own = HubModel.read
    monkeypatch.setattr(HubModel, "read", read)
    asked = [ask.supported(claim, (source,)) for claim, source in [(CLAIM, " "), ("They cost six euros.", DOCUMENT)]]
    found = answers(built(nli).judge, [*asked, ask.supported(CLAIM, (DOCUMENT,))])

    assert "no word in the sources" in str(found[0])
    assert "could not answer 'supported': no" in str(found[1])
    assert isinstance(found[2], Verdict)


HOSTILE = {
    "short lines": "\n".join(f"{hour:02}:{minute:02}" for hour in range(6, 22) for minute in range(0, 60, 3)),
    "addresses": " ".join(f"https://example.org/{n}/fares?valid={n * 7919}" for n in range(110)),
    "no spaces": "".join(f"第{n}号日票的价格是{n % 9}欧元，" for n in range(150)),
    "one word": "".join(f"{n * 104729:x}" for n in range(500)),
    "lines of marks": "\n".join("✓" if n % 3 else "Dogs travel free" for n in range(500)),
}
"""Sources that a count of sentences, words or pieces without line breaks takes for shorter than they are."""


def read_for(folder: Path, question: Question, monkeypatch: pytest.MonkeyPatch) -> tuple[Answer, list[tuple[str, str]]]:
    """The answer of a model, and the pairs that it read for it."""
    heard: list[tuple[str, str]] = []

    def read(self: HubModel, pairs: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], PairChances]:
        heard.extend(given := list(pairs))
        return own(self, given)

    own = HubModel.read
    monkeypatch.setattr(HubModel, "read", read)
    return answers(built(folder).judge, [question])[0], heard


def without_spaces(parts: Iterable[str]) -> str:
    return "".join(re.sub(r"\s", "", part) for part in parts)


@pytest.mark.parametrize("source", HOSTILE)
def test_the_whole_source_is_read_beside_the_whole_claim(
    nli: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    text = HOSTILE[source]
    told, pairs = read_for(nli, ask.supported(CLAIM, (text,), QUERY), monkeypatch)
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
