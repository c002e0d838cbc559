"""The larger reader: what it reads, what the judge without it is called, what is said where it is missing."""

import json
from pathlib import Path

import pytest
from contract import answers

from ragtriage.core import questions as ask
from ragtriage.core.errors import ConfigError, JudgeError
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Verdict
from ragtriage.judges.build import judge_named
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.embedded.cross_encoder import CrossEncoder, Logits, TextPair
from ragtriage.judges.embedded.encoder import MODEL
from ragtriage.judges.embedded.scorer import DOUBTED, Measured, Scorer
from ragtriage.judges.embedded.versions import LARGER_READER, VERSIONS, fingerprint_of, larger_reader
from ragtriage.judges.judge_config import JudgeConfig, with_hub_model

SOURCES = (
    "The ferry to Skerrow leaves at nine on weekdays. At weekends it leaves at ten, and dogs travel free of charge.",
    "A return ticket costs 14 euros. Children under six pay nothing.",
)
COPIED = ask.supported("The ferry to Skerrow leaves at nine on weekdays.", SOURCES, "When does the ferry leave?")
ALTERED = ask.supported("At weekends the ferry leaves at ten, and dogs need a ticket.", SOURCES, "When does it leave?")
TOLD = ("Dogs travel free of charge.", "The ferry leaves at nine.", "You can take your dog along for free.")


@pytest.mark.parametrize(
    ("asked", "read"),
    [
        (COPIED, 0),
        (ALTERED, 1),
        (ask.answered("When does the ferry leave?", SOURCES), 0),
        (ask.answered("When does the ferry to Skerrow leave?", SOURCES[:1], query="When does the ferry leave?"), 1),
        (ask.essential("When does the ferry leave?", SOURCES[1]), 0),
        (ask.essential("Do I pay for my child?", SOURCES[1]), 1),
        (ask.similarity(TOLD[2], TOLD, 2), 2),
        (ask.similarity(TOLD[2], [TOLD[2], TOLD[2]], 0), 0),
        (ask.similarity(TOLD[2], TOLD[1:], 1), 0),
    ],
    ids=[
        "a sure claim",
        "a claim",
        "whether sources answer",
        "whether a response does",
        "no source",
        "a source",
        "alike",
        "copied",
        "not alike",
    ],
)
def test_it_reads_what_is_in_doubt_and_nothing_else(asked: Question, read: int) -> None:
    scorer = Scorer(threads=1, kept=None, larger=larger_reader())
    (found,) = scorer.measure([asked])
    scorer.close()

    assert isinstance(found, Measured)
    assert len(found.larger) == read


def test_a_reading_that_fails_costs_its_own_question_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = Scorer(threads=1, kept=None, larger=larger_reader())
    asked = [COPIED, ALTERED, ask.similarity(TOLD[2], TOLD, 2)]
    read = CrossEncoder._read

    def failing(self: CrossEncoder, pair: TextPair) -> Logits | Exception:
        return OSError("gone") if self is scorer._larger and "need a ticket" in pair.first else read(self, pair)

    monkeypatch.setattr(CrossEncoder, "_read", failing)
    found = [*scorer.score(asked)]
    scorer.close()

    assert [isinstance(one, Exception) for one in found] == [False, True, False]


def test_what_is_said_again_in_other_words_is_found_by_it_alone() -> None:
    asked = [ask.similarity(text, TOLD, at) for at, text in enumerate(TOLD)]
    with_it, without = EmbeddedJudge(), EmbeddedJudge(fast=True)
    found = [[one.value for one in answers(judge, asked) if isinstance(one, Verdict)] for judge in (with_it, without)]
    with_it.close()
    without.close()

    assert found == [["yes", "no", "yes"], ["no", "no", "no"]]


POOL = "Is the pool heated?"
REFUSAL = "Whether the pool is heated can't be made out from the leaflet, which gives only its size and its hours."
ANSWER = "The pool is heated to 26 degrees from May to September, and in winter it is closed."


def test_a_refusal_in_rare_words_is_known_by_both_readers_together() -> None:
    with_it, without = EmbeddedJudge(), EmbeddedJudge(fast=True)
    asked = [ask.declines(POOL, said) for said in (REFUSAL, ANSWER)]
    found = [[one.value for one in answers(judge, asked) if isinstance(one, Verdict)] for judge in (with_it, without)]
    with_it.close()
    without.close()

    assert found == [["yes", "no"], ["no", "no"]]


@pytest.mark.parametrize(("said", "readings"), [(REFUSAL, 1), (ANSWER, 0)])
def test_it_reads_a_response_of_which_some_may_be_no_claim_and_no_other(said: str, readings: int) -> None:
    scorer = Scorer(threads=1, kept=None, larger=larger_reader())
    scorer.marks(POOL, said)
    assert scorer._larger is not None
    known = len(scorer._larger._known)
    scorer.close()

    assert known == readings


def test_a_copied_claim_is_sure_without_it_and_an_altered_one_less_likely_with_it() -> None:
    with_it, without = EmbeddedJudge(), EmbeddedJudge(fast=True)
    copied, altered = (one.score or 0.0 for one in answers(with_it, [COPIED, ALTERED]) if isinstance(one, Verdict))
    as_copied, as_altered = (one.score for one in answers(without, [COPIED, ALTERED]) if isinstance(one, Verdict))
    with_it.close()
    without.close()

    assert copied == as_copied
    _, sure = DOUBTED["supported"]
    assert copied >= sure
    assert as_altered is not None
    assert altered < as_altered < sure


def test_each_of_both_judges_has_a_name_and_answers_of_its_own() -> None:
    with_it, without = judge_named("embedded"), judge_named("embedded:fast")
    differing = {kind for kind in VERSIONS if with_it.fingerprint(kind) != without.fingerprint(kind)}

    assert (with_it.name(), without.name()) == ("embedded", "embedded:fast")
    marked = {"claims", "declines", "same_answer"}
    assert differing == {"supported", "answered", "essential", "needed_sentences", "similarity"} | marked
    assert fingerprint_of("supported", MODEL, larger=True) != fingerprint_of("supported", MODEL)


@pytest.mark.parametrize("name", ["embedded:quick", "embedded:", "embedded:fast:er"])
def test_there_is_no_other_embedded_judge(name: str) -> None:
    with pytest.raises(ConfigError, match="there is no judge"):
        JudgeConfig((name,))


def test_where_it_is_missing_it_is_said_how_to_install_it_and_what_does_without() -> None:
    with pytest.raises(ConfigError, match=r"isn't installed: .*pip install \./larger_reader.* embedded:fast"):
        larger_reader("a-package-that-is-not-there")
    with pytest.raises(ConfigError, match=rf"version {LARGER_READER} is installed and 0 is needed: .*pip install"):
        larger_reader(needed="0")


def test_a_model_without_weights_for_it_is_told(tmp_path: Path) -> None:
    fitted = json.loads((MODEL / "coefficients.json").read_text(encoding="utf-8"))
    del fitted["fusion"]["answered_response_larger"]
    (tmp_path / "coefficients.json").write_text(json.dumps(fitted), encoding="utf-8")

    with pytest.raises(JudgeError, match="has no weights for the larger reader"):
        Scorer(threads=1, kept=None, model=tmp_path, larger=larger_reader())


def test_what_it_adds_changes_no_fingerprint_of_the_judge_without_it(tmp_path: Path) -> None:
    fitted = json.loads((MODEL / "coefficients.json").read_text(encoding="utf-8"))
    fitted["fusion"]["supported_larger"]["bias"] += 0.1
    for file in MODEL.iterdir():
        if file.name != "coefficients.json":
            (tmp_path / file.name).symlink_to(file)
    (tmp_path / "coefficients.json").write_text(json.dumps(fitted), encoding="utf-8")

    assert fingerprint_of("supported", tmp_path) == fingerprint_of("supported", MODEL)
    assert fingerprint_of("supported", tmp_path, larger=True) != fingerprint_of("supported", MODEL, larger=True)


def test_a_hub_model_takes_its_place_beside_either_judge() -> None:
    assert with_hub_model("embedded:fast", "model") == with_hub_model("embedded", "model") == "embedded+reader:model"
