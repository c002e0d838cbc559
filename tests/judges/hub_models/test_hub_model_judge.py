"""The judge with a hub model, without torch: ONNX folders, names, settings, cascade, jury, cache, errors."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_onnx
from contract import CHECKS, Candidate, answers
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Tokenizer

from examples import examples
from ragtriage.cli.judge import JudgeFlags
from ragtriage.config import Settings, judge_config, read_settings
from ragtriage.core import questions as ask
from ragtriage.core.errors import ConfigError, JudgeError
from ragtriage.core.verdicts import Verdict
from ragtriage.judges.build import build_judge, judge_named
from ragtriage.judges.decision_thresholds import ChanceCurve
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.hub_models.folder import open_folder
from ragtriage.judges.hub_models.model import HubModel, batches
from ragtriage.judges.judge_config import UNCALIBRATED, JudgeConfig, hub_model_of, is_local, with_hub_model
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers.cached import InMemory
from ragtriage.judges.wrappers.combined import Cascade, Jury

QUERY = "How long is a day ticket valid?"
TEXT = "Day tickets are valid until three in the morning. They cost six euros."
CLAIM = "They cost six euros."
SUPPORTED = ask.supported(CLAIM, (TEXT,), QUERY)
MODEL = LLMOptions(base_url="http://127.0.0.1:9/v1")


def built(*names: str, **more: object) -> object:
    return build_judge(JudgeSession.of(JudgeConfig(names, **more)))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def nli(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_onnx.entailment(tmp_path_factory.mktemp("onnx") / "nli")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_contract_of_judges(nli: Path, check: Callable[[Candidate], None]) -> None:
    check(Candidate(lambda: judge_named(f"embedded+reader:{nli}")))


def test_an_onnx_model_is_run_as_its_graph_says(nli: Path) -> None:
    folder = open_folder("nli", nli)
    said = HubModel(folder).read([(TEXT, CLAIM)])[TEXT, CLAIM]
    ids = np.array(Tokenizer.from_file(str(nli / "tokenizer.json")).encode(TEXT, CLAIM).ids)
    table, layer = tiny_onnx.weights(3)
    logits = table[ids].mean(0) @ layer
    chances = np.exp(logits) / np.exp(logits).sum()

    assert said.yes == pytest.approx(float(chances[0]), abs=1e-3)
    assert said.against == pytest.approx(float(chances[2]), abs=1e-3)


@pytest.mark.parametrize("precision", ["fp16", "int8"])
def test_half_precision_and_quantised_models_say_nearly_the_same(nli: Path, tmp_path: Path, precision: str) -> None:
    folder = tiny_onnx.entailment(tmp_path / precision)
    whole = folder / "onnx" / "model.onnx"
    other = folder / "onnx" / f"model_{precision}.onnx"
    if precision == "fp16":
        tiny_onnx.bag(other, 3, np.float16)
    else:
        quantize_dynamic(whole, other, weight_type=QuantType.QInt8)
    exact, near = HubModel(open_folder("whole", folder)), HubModel(open_folder("one file", other))

    assert exact.folder.weights == whole
    assert near.folder.weights == other
    assert near.folder.quantized == (precision == "int8")
    assert near.folder.path == folder
    pair = TEXT, CLAIM
    assert near.read([pair])[pair].yes == pytest.approx(exact.read([pair])[pair].yes, abs=0.05)
    assert near.folder.digest() != exact.folder.digest()


def test_neighbours_change_nothing_that_a_quantised_model_says(nli: Path, tmp_path: Path) -> None:
    model = shutil.copytree(nli, tmp_path / "int8") / "onnx" / "model_int8.onnx"
    quantize_dynamic(nli / "onnx" / "model.onnx", model, weight_type=QuantType.QInt8)
    quantized = HubModel(open_folder("int8", model))
    pairs = [(TEXT, claim) for claim in (CLAIM, "free", "Dogs travel free on a lap.", "35 53", "fee " * 40)]

    assert quantized.read(pairs) == {pair: quantized.read([pair])[pair] for pair in pairs}


def test_a_contradiction_is_told_by_the_passage_that_says_otherwise(nli: Path) -> None:
    claims = ["three", "free fee", "the lap", "six", "until three in the morning", CLAIM, "dogs", "35 53", "cost"]
    sources = ("Dogs travel free on a lap.", "35 53 fee", TEXT)
    model = HubModel(open_folder("nli", nli))
    judge = judge_named(f"embedded+reader:{nli}")
    told = answers(judge, [ask.supported(claim, (source,)) for claim in claims for source in sources])
    pairs = [(source, claim) for claim in claims for source in sources]
    said = model.read(pairs)

    contradicted = 0
    for pair, verdict in zip(pairs, told, strict=True):
        assert isinstance(verdict, Verdict)
        assert verdict.contradicted == (said[pair].against >= 0.5 and said[pair].against > said[pair].yes)
        assert verdict.explanation.startswith("a passage says otherwise: ") == verdict.contradicted
        assert verdict.score == said[pair].yes
        contradicted += verdict.contradicted
    assert 0 < contradicted < len(told)


def test_a_part_of_a_response_is_judged_by_its_weakest_claim(nli: Path) -> None:
    claims = ("They cost six euros.", "Dogs travel free on a lap.")
    judge = judge_named(f"embedded+reader:{nli}")
    part = " ".join(claims)
    told, *alone = answers(judge, [ask.supported(one, (TEXT,), QUERY, f"{part} It is 53.") for one in (part, *claims)])

    assert isinstance(told, Verdict)
    assert told.score == min(one.score or 0.0 for one in alone if isinstance(one, Verdict))
    assert [told.explanation.startswith(f"“{claim}”: ") for claim in claims].count(True) == 1


@pytest.mark.parametrize(("kind", "padding", "length"), [("xlm-roberta", 1, 128), ("bert", 0, 130)])
def test_a_model_that_takes_fewer_word_pieces_is_given_fewer(
    tmp_path: Path, kind: str, padding: int, length: int
) -> None:
    folder = tiny_onnx.entailment(tmp_path / "short")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": kind, "pad_token_id": padding, "max_position_embeddings": 130}
    (folder / "config.json").write_text(json.dumps(config))

    assert open_folder("short", folder).length == length


def test_passes_of_a_quantised_model_are_run_one_at_a_time() -> None:
    assert list(batches([5, 9, 7], alone=True)) == [[1], [2], [0]]
    assert list(batches([5, 9, 7])) == [[1, 2, 0]]
    assert [len(some) for some in batches([3000, 3000, 10])] == [1, 1, 1]
    assert [len(some) for some in batches([4] * 40)] == [16, 16, 8]
    assert list(batches([])) == []


def test_names_of_judges_with_a_hub_model() -> None:
    assert hub_model_of("embedded+reader:models/b+c") == "models/b+c"
    assert hub_model_of("embedded") is hub_model_of("openai:gpt") is None
    assert is_local("embedded+reader:a")
    assert not is_local("openai:embedded+reader:a")
    assert with_hub_model("embedded", "a") == "embedded+reader:a"
    assert with_hub_model("embedded", None) == "embedded"
    assert with_hub_model("openai:m", "a") == "openai:m"
    for name, words in {
        "embedded+reader:": "names nothing behind",
        "embedded+reader:a+reader:b": "names several hub models",
        "embedded+reader:a,b": "comma",
    }.items():
        with pytest.raises(ConfigError, match=words):
            JudgeConfig((name,))


def test_settings_name_a_hub_model_and_a_folder_beside_the_file(tmp_path: Path) -> None:
    settings = tmp_path / "ragtriage.toml"
    (tmp_path / "own").mkdir()
    settings.write_text('reader = "own"\n')
    assert read_settings(settings).reader == str(tmp_path / "own")
    settings.write_text('reader = "mdeberta-v3-base-xnli"\n')
    assert read_settings(settings).reader == "mdeberta-v3-base-xnli"
    settings.write_text("")
    assert read_settings(settings).reader is None


def test_weights_beside_the_model_are_part_of_it(tmp_path: Path) -> None:
    folder = tiny_onnx.entailment(tmp_path / "large")
    inside = open_folder("large", folder)
    said, size, digest = HubModel(inside).read([(TEXT, CLAIM)])[TEXT, CLAIM], inside.size(), inside.digest()
    data = tiny_onnx.with_data_beside(folder / "onnx" / "model.onnx")
    beside = open_folder("large", folder)

    assert HubModel(beside).read([(TEXT, CLAIM)])[TEXT, CLAIM] == said
    assert beside.size() > (folder / "onnx" / "model.onnx").stat().st_size + 3000
    assert abs(beside.size() - size) < 2000
    before = beside.digest()
    assert before != digest
    name = f"embedded+reader:{folder}"
    fingerprint = judge_named(name).fingerprint("supported")
    data.write_bytes(data.read_bytes()[::-1])
    assert open_folder("large", folder).digest() != before
    assert judge_named(name).fingerprint("supported") != fingerprint
    data.unlink()
    with pytest.raises(JudgeError, match="can't be loaded by onnxruntime"):
        answers(judge_named(name), [SUPPORTED])


@pytest.mark.parametrize("row", examples("folders"))
def test_a_folder_of_something_else_is_told_in_a_line(tmp_path: Path, row: dict[str, Any]) -> None:
    folder = tiny_onnx.entailment(tmp_path / "nli")
    (folder / "config.json").write_text(row["text"])
    with pytest.raises(ConfigError, match=row["words"]) as raised:
        open_folder("nli", folder)
    assert str(raised.value).startswith("the hub model 'nli': ")
    assert "\n" not in str(raised.value)


def test_a_classifier_with_two_labels_is_read_too(tmp_path: Path) -> None:
    folder = tiny_onnx.entailment(tmp_path / "nli", labels=("not_entailment", "entailment"))
    found = open_folder("nli", folder)
    told = answers(judge_named(f"embedded+reader:{folder}"), [SUPPORTED])[0]

    assert (found.yes, found.against) == (1, None)
    assert isinstance(told, Verdict)
    assert not told.contradicted


def test_folders_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    folder = tiny_onnx.entailment(tmp_path / "without")
    (folder / "onnx" / "model.onnx").rename(folder / "pytorch_model.bin")
    with pytest.raises(ConfigError, match="holds no ONNX"):
        open_folder("empty", folder)
    for file in ("tokenizer.json", "config.json"):
        (folder / file).unlink()
        with pytest.raises(ConfigError, match=rf"there is no {file}"):
            open_folder("none", folder)


def test_a_broken_model_ends_the_run_and_not_one_question(tmp_path: Path) -> None:
    folder = tiny_onnx.entailment(tmp_path / "broken")
    (folder / "onnx" / "model.onnx").write_bytes(b"nothing")
    with pytest.raises(JudgeError, match="can't be loaded by onnxruntime"):
        answers(judge_named(f"embedded+reader:{folder}"), [SUPPORTED])


def test_a_score_is_no_chance_until_labels_say_what_it_is_worth(nli: Path) -> None:
    name = f"embedded+reader:{nli}"
    raw = built(name)
    own = raw.judge.fingerprint("supported")
    told = built(name, chance_curves={"supported": ChanceCurve(name, own, points=((0.0, 0.2), (1.0, 0.9)))})
    before, after = (answers(one.judge, [SUPPORTED])[0] for one in (raw, told))

    assert own.startswith(UNCALIBRATED)
    assert isinstance(before, Verdict)
    assert isinstance(after, Verdict)
    assert before.chance is None
    assert after.chance == pytest.approx(0.2 + 0.7 * before.score)
    assert raw.counting == "uncalibrated: supported"
    assert told.counting == "supported known from labels"


def test_in_a_cascade_and_a_jury_too_it_is_said_that_scores_are_no_chances(nli: Path, tmp_path: Path) -> None:
    one, other = f"embedded+reader:{nli}", f"embedded+reader:{tiny_onnx.entailment(tmp_path / 'other')}"
    own = judge_named(one).fingerprint("supported")
    told = {"supported": ChanceCurve(one, own, 1.0, 0.0)}
    cascade = {"cascade": "0.1:0.9", "first": one, "options": MODEL}
    jury = {"jury": "majority", "options": MODEL}

    assert built("openai:m", **cascade).counting == "uncalibrated: supported"
    assert built("openai:m", **cascade, chance_curves=told).counting == "supported known from labels"
    assert built("embedded", one, "openai:m", **jury).counting == "uncalibrated: supported"
    assert built(one, "openai:m", **jury, chance_curves=told).counting == "supported known from labels"
    assert built(one, other, **jury).counting == "uncalibrated: supported"
    assert built(one, other, **jury, chance_curves=told).counting == (
        f"supported known from labels, uncalibrated: supported by {other}"
    )
    assert built("openai:m", cascade="0.1:0.9", options=MODEL).counting == ""
    assert built("embedded", "openai:m", **jury).counting == ""


def test_a_base_rate_of_a_kind_without_chances_is_refused(nli: Path) -> None:
    with pytest.raises(ConfigError, match="base rate of supported"):
        built(f"embedded+reader:{nli}", base_rates={"supported": 0.9})
    built(f"embedded+reader:{nli}", base_rates={"answered": 0.9})


def test_a_hub_model_stands_first_in_a_cascade_with_bands_of_its_own(nli: Path) -> None:
    first = f"embedded+reader:{nli}"
    with pytest.raises(ConfigError, match="shipped bands were fitted"):
        built("openai:m", cascade="shipped", first=first, options=MODEL)
    alone = answers(judge_named(first), [SUPPORTED])[0]
    assert isinstance(alone, Verdict)
    band = "0:0" if alone.value == "yes" else "1:1"  # so that it is sure of everything, and no model is asked
    cascade = built("openai:m", cascade=band, first=first, options=MODEL)
    assert isinstance(cascade.judge, Cascade)
    assert cascade.judge.name() == f"{first}, then openai:m"
    assert answers(cascade.judge, [SUPPORTED]) == [alone]
    built("openai:m", cascade="shipped", first=first, options=MODEL, own_bands={"supported": "0.1:0.9"})


def test_the_first_judge_of_a_cascade_is_named_first_or_has_the_hub_model_of_the_settings(nli: Path) -> None:
    first = f"embedded+reader:{nli}"
    named = judge_config(Settings(), JudgeFlags(judge=[first, "openai:m"], cascade="0.1:0.9").given())
    inherited = judge_config(Settings(judge=("openai:m",), cascade="0.1:0.9", reader=str(nli)), JudgeFlags().given())

    assert (named.first, named.names) == (first, ("openai:m",))
    assert (inherited.first, inherited.names) == (first, ("openai:m",))
    with pytest.raises(ConfigError, match="name a model"):
        judge_config(Settings(), JudgeFlags(judge=[first], cascade="0.1:0.9").given())
    with pytest.raises(ConfigError, match="jury"):
        judge_config(Settings(), JudgeFlags(judge=[first, "openai:m"]).given())


def test_a_hub_model_votes_in_a_jury(nli: Path) -> None:
    jury = Jury([judge_named(f"embedded+reader:{nli}"), FakeJudge(lambda _: Verdict("yes", 0.9, 0.9))])
    told = answers(jury, [SUPPORTED])[0]

    assert isinstance(told, Verdict)
    assert str(nli) in told.explanation


def test_answers_are_remembered_by_the_folders_content(tmp_path: Path) -> None:
    folder, memory = tiny_onnx.entailment(tmp_path / "one"), InMemory()
    name = f"embedded+reader:{folder}"
    judge = build_judge(JudgeSession.of(JudgeConfig((name,))), memory).judge
    answers(judge, [SUPPORTED])
    count = len(memory.entries)
    answers(build_judge(JudgeSession.of(JudgeConfig((name,))), memory).judge, [SUPPORTED])
    assert len(memory.entries) == count

    before = judge.fingerprint("supported")
    (folder / "tokenizer.json").write_text((folder / "tokenizer.json").read_text() + " ")
    after = judge_named(name)
    assert after.fingerprint("supported") != before
    assert after.fingerprint("relevant") == judge.fingerprint("relevant")


def test_it_costs_nothing_and_says_what_memory_it_takes(nli: Path) -> None:
    one = built(f"embedded+reader:{nli}")

    assert one.judge.estimate([SUPPORTED]).price == 0.0
    assert one.hub_models[0].memory() > 100_000_000
