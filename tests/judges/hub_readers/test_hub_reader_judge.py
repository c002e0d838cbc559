"""The judge with hub readers, without torch: ONNX folders, names, settings, cascade, jury, cache, errors."""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny_onnx
from contract import CHECKS, Candidate, answers
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from ragtriage.cli.evaluation_flags import JudgeFlags, judge_config
from ragtriage.config import Settings, read_settings
from ragtriage.core import questions as ask
from ragtriage.core.chances import log_odds
from ragtriage.core.errors import ConfigError, JudgeError
from ragtriage.core.verdicts import Verdict
from ragtriage.judges.build import build_judge, judge_named
from ragtriage.judges.decision_thresholds import LabelChance
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.embedded.encoder import Encoder
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.hub_readers.chunks import chunks, count_words, groups, stretches
from ragtriage.judges.hub_readers.external_data import external_data
from ragtriage.judges.hub_readers.families import FAMILIES
from ragtriage.judges.hub_readers.folder import open_folder
from ragtriage.judges.hub_readers.hub_reader import HubReader, batches
from ragtriage.judges.hub_readers.judge import HubReaderJudge
from ragtriage.judges.hub_readers.known import known_readers
from ragtriage.judges.hub_readers.languages import components_in, languages, undivided_reason
from ragtriage.judges.hub_readers.model_card import languages_of_card
from ragtriage.judges.hub_readers.repeats import repeat_threshold
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.judge_names import UNCALIBRATED, is_local, readers_of, with_readers
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers import Cascade, InMemory, Jury

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


@pytest.fixture(scope="module")
def reranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_onnx.reader(tmp_path_factory.mktemp("onnx") / "reranker")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_contract_of_judges(nli: Path, reranker: Path, check: Callable[[Candidate], None]) -> None:
    name = with_readers("embedded", [str(nli), str(reranker)])
    check(Candidate(lambda: judge_named(name)))


def test_an_onnx_model_is_run_as_its_graph_says(nli: Path) -> None:
    folder = open_folder("nli", nli)
    reader = HubReader(folder)
    said = reader.read([(TEXT, CLAIM)])[TEXT, CLAIM]
    ids = np.array(reader.tokens().two(TEXT, CLAIM).ids)
    table, layer = tiny_onnx.weights(3)
    logits = table[ids].mean(0) @ layer
    chances = np.exp(logits) / np.exp(logits).sum()

    assert said.yes == pytest.approx(float(chances[0]), abs=1e-3)
    assert said.against == pytest.approx(float(chances[2]), abs=1e-3)
    assert "torch" not in sys.modules or reader.folder.onnx


@pytest.mark.parametrize("precision", ["fp16", "int8"])
def test_half_precision_and_quantised_models_say_nearly_the_same(nli: Path, tmp_path: Path, precision: str) -> None:
    folder = tiny_onnx.entailment(tmp_path / precision)
    whole = folder / "onnx" / "model.onnx"
    other = folder / "onnx" / f"model_{precision}.onnx"
    if precision == "fp16":
        tiny_onnx.bag(other, 3, np.float16)
    else:
        quantize_dynamic(whole, other, weight_type=QuantType.QInt8)
    exact, near = HubReader(open_folder("whole", folder)), HubReader(open_folder("one file", other))

    assert exact.folder.weights == (whole,)
    assert near.folder.weights == (other,)
    assert near.folder.quantized == (precision == "int8")
    assert near.folder.path == folder
    pair = TEXT, CLAIM
    assert near.read([pair])[pair].yes == pytest.approx(exact.read([pair])[pair].yes, abs=0.05)
    assert near.folder.digest() != exact.folder.digest()


def test_an_exported_t5_is_run_as_encoder_and_decoder(tmp_path: Path) -> None:
    reader = HubReader(open_folder("t5", tiny_onnx.sequence_to_sequence(tmp_path / "t5")))
    said = reader.read([(TEXT, CLAIM), (CLAIM, CLAIM)])
    ids = reader.tokens().one(f"predict: {TEXT}[SEP]{CLAIM}").ids
    states, (table, layer) = tiny_onnx.weights(1)[0][np.array(ids)], tiny_onnx.weights(tiny_onnx.VOCABULARY)
    logits = (states.sum(0) + table[0]) @ layer
    odds = float(logits[209] - logits[3])

    assert said[TEXT, CLAIM].yes == pytest.approx(1 / (1 + np.exp(-odds)), abs=1e-3)


def test_an_exported_hhem_and_encoder_are_read(tmp_path: Path) -> None:
    hhem = HubReader(open_folder("hhem", tiny_onnx.hhem(tmp_path / "hhem")))
    encoder = HubReader(open_folder("encoder", tiny_onnx.encoder(tmp_path / "encoder")))
    vector = encoder.vectors([CLAIM])[CLAIM]
    mean = tiny_onnx.weights(1)[0][np.array(encoder.tokens().one(CLAIM).ids)].mean(0)

    assert hhem.folder.family.name == "hhem"
    assert 0 < hhem.read([(TEXT, CLAIM)])[TEXT, CLAIM].yes < 1
    assert np.allclose(vector, mean / np.linalg.norm(mean), atol=1e-5)


def test_passes_of_a_quantised_model_are_run_one_at_a_time() -> None:
    assert list(batches([5, 9, 7], alone=True)) == [[1], [2], [0]]
    assert list(batches([5, 9, 7])) == [[1, 2, 0]]
    assert [len(some) for some in batches([3000, 3000, 10])] == [1, 1, 1]
    assert [len(some) for some in batches([4] * 40)] == [16, 16, 8]
    assert list(batches([])) == []


def test_names_of_judges_with_readers() -> None:
    assert readers_of("embedded+reader:a+reader:models/b+c") == ("a", "models/b+c")
    assert readers_of("embedded") == readers_of("openai:gpt") == ()
    assert is_local("embedded+reader:a")
    assert not is_local("openai:embedded+reader:a")
    assert with_readers("embedded", ["a", "b"]) == "embedded+reader:a+reader:b"
    assert with_readers("openai:m", ["a"]) == "openai:m"
    for name, words in {
        "embedded+reader:": "names no reader",
        "embedded+reader:a+reader:a": "twice",
        "embedded+reader:a,b": "comma",
    }.items():
        with pytest.raises(ConfigError, match=words):
            JudgeConfig((name,))


def test_settings_name_a_reader_and_a_folder_beside_the_file(tmp_path: Path, nli: Path) -> None:
    settings = tmp_path / "ragtriage.toml"
    (tmp_path / "own").mkdir()
    settings.write_text('reader = "own"\n')
    assert read_settings(settings).reader == (str(tmp_path / "own"),)
    settings.write_text('reader = ["hhem-2.1-open", "bge-reranker-v2-m3"]\n')
    assert read_settings(settings).reader == ("hhem-2.1-open", "bge-reranker-v2-m3")


def test_a_reader_that_is_not_there_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGTRIAGE_READERS", str(tmp_path))
    for name, words in {
        "hhem-2.1-open": "ragtriage readers get hhem-2.1-open",
        "hhem-2.1-opne": "did you mean hhem-2.1-open",
        "models/nothing": "isn't there: give a folder",
    }.items():
        with pytest.raises(ConfigError, match=words):
            judge_named(f"embedded+reader:{name}")


def test_weights_beside_the_model_are_part_of_it(tmp_path: Path) -> None:
    folder = tiny_onnx.entailment(tmp_path / "large")
    inside = open_folder("large", folder)
    said, size, digest = HubReader(inside).read([(TEXT, CLAIM)])[TEXT, CLAIM], inside.size(), inside.digest()
    data = tiny_onnx.with_data_beside(folder / "onnx" / "model.onnx")
    beside = open_folder("large", folder)

    assert beside.data == (data,)
    assert HubReader(beside).read([(TEXT, CLAIM)])[TEXT, CLAIM] == said
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
    with pytest.raises(ConfigError, match=r"model\.onnx keeps its weights in model\.onnx_data, which isn't beside it"):
        open_folder("large", folder)


def test_weights_in_the_nodes_and_branches_of_a_model_are_found(tmp_path: Path) -> None:
    outside = [tiny_onnx.outside(name) for name in ("table", "branch", "../other", "/else/where")]
    branch = helper.make_graph([helper.make_node("Constant", [], ["c"], value=outside[1])], "branch", [], [])
    nodes = [
        helper.make_node("Constant", [], ["a"], value=outside[0]),
        helper.make_node("If", ["a"], ["b"], then_branch=branch, else_branch=branch),
        *(helper.make_node("Constant", [], [f"d{at}"], value=one) for at, one in enumerate(outside[2:])),
    ]
    model = tmp_path / "model.onnx"
    model.write_bytes(helper.make_model(helper.make_graph(nodes, "graph", [], [])).SerializeToString())

    assert external_data(model) == (tmp_path / "branch", tmp_path / "table")


def test_what_is_no_model_has_no_weights_beside_it(tmp_path: Path) -> None:
    whole = (tiny_onnx.entailment(tmp_path / "nli") / "onnx" / "model.onnx").read_bytes()
    draw = random.Random(3)
    for number, content in enumerate(
        [b"", b"nothing", bytes(500), whole[:300], *(draw.randbytes(draw.randrange(1, 300)) for _ in range(300))]
    ):
        path = tmp_path / f"{number}.onnx"
        path.write_bytes(content)
        assert external_data(path) == ()


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("modules.json", "{", "modules.json can't be read"),
        ("modules.json", '{"path": ""}', "isn't a list of modules"),
        ("modules.json", "[1]", "isn't a list of modules"),
        ("config.json", '{"id2label": {"x": "a"}}', "id2label is {'x': 'a'}"),
        ("config.json", '{"id2label": ["a"]}', r"id2label is \['a'\]"),
        ("config.json", '{"num_labels": "two"}', "num_labels is 'two'"),
        ("config.json", '{"max_position_embeddings": "many"}', "max_position_embeddings is 'many'"),
        ("config.json", '{"architectures": 5, "max_position_embeddings": -1}', "max_position_embeddings is -1"),
        ("sentence_bert_config.json", '{"max_seq_length": [64]}', r"max_seq_length is \[64\]"),
        ("1_Pooling/config.json", None, "incomplete: 1_Pooling/config.json isn't there"),
    ],
)
def test_a_corrupt_folder_is_told_in_a_line(tmp_path: Path, file: str, text: str | None, words: str) -> None:
    folder = tiny_onnx.encoder(tmp_path / "encoder")
    if text is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(text)
    with pytest.raises(ConfigError, match=words) as raised:
        open_folder("encoder", folder)
    assert "\n" not in str(raised.value)


def test_folders_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    folder = tiny_onnx.reader(tmp_path / "pickled")
    (folder / "onnx" / "model.onnx").rename(folder / "pytorch_model.bin")
    with pytest.raises(ConfigError, match=r"pytorch_model\.bin, a pickle"):
        open_folder("pickled", folder)
    (folder / "pytorch_model.bin").unlink()
    with pytest.raises(ConfigError, match="holds no weights"):
        open_folder("empty", folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(ConfigError, match=r"config\.json can't be read"):
        open_folder("broken", folder)
    (folder / "config.json").unlink()
    with pytest.raises(ConfigError, match=r"no config\.json"):
        open_folder("none", folder)


def test_a_broken_model_ends_the_run_and_not_one_question(tmp_path: Path) -> None:
    folder = tiny_onnx.entailment(tmp_path / "broken")
    (folder / "onnx" / "model.onnx").write_bytes(b"nothing")
    with pytest.raises(JudgeError, match="can't be loaded by onnxruntime"):
        answers(judge_named(f"embedded+reader:{folder}"), [SUPPORTED])


def test_two_readers_of_one_kind_are_refused(nli: Path, tmp_path: Path) -> None:
    other = tiny_onnx.entailment(tmp_path / "other")
    with pytest.raises(ConfigError, match="both for 'supported'"):
        judge_named(f"embedded+reader:{nli}+reader:{other}")


def test_a_score_is_no_chance_until_labels_say_what_it_is_worth(nli: Path) -> None:
    name = f"embedded+reader:{nli}"
    raw = built(name)
    own = raw.judge.fingerprint("supported")
    told = built(name, label_chances={"supported": LabelChance(name, 0.93, 0.2, own)})
    before, after = (answers(one.judge, [SUPPORTED])[0] for one in (raw, told))

    assert own.startswith(UNCALIBRATED)
    assert isinstance(before, Verdict)
    assert isinstance(after, Verdict)
    assert before.chance is None
    assert after.chance == (0.93 if before.value == "yes" else 0.2)
    assert raw.counting == "uncalibrated: supported"
    assert told.counting == "supported known from labels"


def test_in_a_cascade_and_a_jury_too_it_is_said_that_scores_are_no_chances(nli: Path, tmp_path: Path) -> None:
    one, other = f"embedded+reader:{nli}", f"embedded+reader:{tiny_onnx.entailment(tmp_path / 'other')}"
    own = judge_named(one).fingerprint("supported")
    told = {"supported": LabelChance(one, 0.93, 0.2, own)}
    cascade = {"cascade": "0.1:0.9", "first": one, "options": MODEL}
    jury = {"jury": "majority", "options": MODEL}

    assert built("openai:m", **cascade).counting == "uncalibrated: supported"
    assert built("openai:m", **cascade, label_chances=told).counting == "supported known from labels"
    assert built("embedded", one, "openai:m", **jury).counting == "uncalibrated: supported"
    assert built(one, "openai:m", **jury, label_chances=told).counting == "supported known from labels"
    assert built(one, other, **jury).counting == "uncalibrated: supported"
    assert built(one, other, **jury, label_chances=told).counting == (
        f"supported known from labels, uncalibrated: supported by {other}"
    )
    assert built("openai:m", cascade="0.1:0.9", options=MODEL).counting == ""
    assert built("embedded", "openai:m", **jury).counting == ""


def test_a_measured_temperature_makes_a_chance(nli: Path) -> None:
    known = next(one for one in known_readers().values() if one.family == "entailment")
    folder = replace(open_folder("nli", nli), known=replace(known, temperature=2.0))
    warm, raw = HubReaderJudge(folder, EmbeddedJudge()), HubReaderJudge(open_folder("nli", nli), EmbeddedJudge())
    told, score = answers(warm, [SUPPORTED])[0], answers(raw, [SUPPORTED])[0]

    assert isinstance(told, Verdict)
    assert isinstance(score, Verdict)
    assert score.score is not None
    assert told.chance == told.score == pytest.approx(1 / (1 + np.exp(-log_odds(score.score) / 2.0)))
    assert not warm.fingerprint("supported").startswith(UNCALIBRATED)
    assert raw.fingerprint("supported").startswith(UNCALIBRATED)


def test_a_base_rate_of_a_kind_without_chances_is_refused(nli: Path) -> None:
    with pytest.raises(ConfigError, match="base rate of supported"):
        built(f"embedded+reader:{nli}", base_rates={"supported": 0.9})
    built(f"embedded+reader:{nli}", base_rates={"answered": 0.9})


def test_a_reader_stands_first_in_a_cascade_with_bands_of_its_own(nli: Path) -> None:
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


def test_the_first_judge_of_a_cascade_is_named_first_or_has_the_readers_of_the_settings(nli: Path) -> None:
    first = f"embedded+reader:{nli}"
    named = judge_config(JudgeFlags(judge=[first, "openai:m"], cascade="0.1:0.9"), Settings())
    inherited = judge_config(JudgeFlags(), Settings(judge=("openai:m",), cascade="0.1:0.9", reader=(str(nli),)))

    assert (named.first, named.names) == (first, ("openai:m",))
    assert (inherited.first, inherited.names) == (first, ("openai:m",))
    with pytest.raises(ConfigError, match="name a model"):
        judge_config(JudgeFlags(judge=[first], cascade="0.1:0.9"), Settings())
    with pytest.raises(ConfigError, match="jury"):
        judge_config(JudgeFlags(judge=[first, "openai:m"]), Settings())


def test_a_reader_votes_in_a_jury(nli: Path) -> None:
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
    (folder / "tokenizer_config.json").write_text(json.dumps({"pad_token": "[PAD]", "sep_token": "[SEP]"}))
    after = judge_named(name)
    assert after.fingerprint("supported") != before
    assert after.fingerprint("relevant") == judge.fingerprint("relevant")


def test_an_estimate_tells_time_and_memory(nli: Path) -> None:
    one = built(f"embedded+reader:{nli}")
    few, many = (one.judge.estimate([ask.supported(f"{CLAIM} {n}", (TEXT,), QUERY) for n in range(k)]) for k in (1, 50))

    assert 0 < few.seconds < many.seconds
    assert (few.requests, few.price) == (0, 0.0)
    assert one.readers[0].memory() > 100_000_000


def test_chunks_are_whole_sentences_and_lose_nothing() -> None:
    text = "One two three. Four five six.\nSeven eight nine ten. " + "word " * 30
    found = chunks(text, 8, count_words)

    assert " ".join(found).split() == text.split()
    assert max(map(count_words, found)) <= 8
    assert found[0] == "One two three. Four five six."
    assert chunks("  ", 8, count_words) == ()
    assert chunks("a b", 8, count_words) == ("a b",)
    assert groups(["a b", "c d", "e " * 12], 5, count_words) == (
        ("a b", "c d"),
        (" ".join("e" * 5),),
        (" ".join("e" * 5),),
        ("e e",),
    )
    assert groups([], 5, count_words) == ((),)


@given(
    st.text("ab. 日本。é✓\n?!\t", max_size=300), st.integers(1, 12), st.integers(1, 40), st.sampled_from([0, 1])
)  # fmt: skip
def test_chunks_keep_every_letter_and_all_limits(text: str, words: int, letters: int, line: int) -> None:
    def measure(part: str) -> int:  # letters, of which two that meet count once more, and lines
        return len(part.replace("\n", "")) + len(re.findall("aa|é", part)) + line * part.count("\n")

    found = chunks(text, words, count_words, (max(2, letters), measure))

    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(count_words(chunk) <= words for chunk in found)
    assert all(measure(chunk) <= max(2, letters) for chunk in found)
    whole = stretches(text, words, count_words)
    assert "".join(text[a:b] for a, b in whole) == text


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


@pytest.mark.parametrize(
    ("code", "text", "claims", "remarks"),
    [
        (
            "fr",
            "Le billet coûte 99 euros ! Il est valable un an ! Avez-vous une autre question sur les billets ?",
            2,
            1,
        ),
        ("fr", "Il est vendu dans les gares. Il coûte 99 euros ! Souhaitez-vous autre chose ?", 2, 1),
        ("fr", "Il coûte 99 euros\u202f! 20 trains partent\u00a0! Souhaitez-vous autre chose\u202f?", 2, 1),
        ("fr", "Il coûte 99 euros, etc. Souhaitez-vous autre chose ?", 1, 0),
        ("fr", "Il coûte 99 euros ; souhaitez-vous autre chose ?", 1, 0),
        ("fr", "Le billet est valable en zone C : souhaitez-vous autre chose ?", 1, 0),
        ("fr", "Deux tarifs existent : le plein ; le réduit. Le plein coûte 99 euros !", 2, 0),
        ("fr", "Le panneau dit « Attention ! Danger ! » et il est rouge.", 1, 0),
        ("fr", "Attention ! le train part à dix heures.", 1, 0),
        ("fr", "Il coûte 99 euros, n’est-ce pas ?", 1, 0),
        ("fr", "Souhaitez-vous autre chose ?", 0, 1),
        ("es", "Los perros viajan gratis, etc. ¿Quiere saber algo más?", 1, 1),
        ("es", "Los perros viajan gratis.¿Quiere saber algo más?", 1, 1),
        ("es", "No vale en EE. UU. ¡Cuesta 99 euros! ¿Quiere saber algo más?", 2, 1),
        ("es", "Cuesta 99 euros, ¿verdad?", 1, 0),
        ("es", "¿Conoce a la Sra. Ruiz?", 0, 1),
        ("es", "Si quiere más información, ¿le explico las tarifas?", 0, 1),
        ("es", "Cuesta 99 euros y, por cierto, ¿quiere algo más?", 1, 0),
        ("es", "Por cierto, ¿quiere algo más?", 0, 1),
        ("de", "Der Bau kostete 99 Mio. Haben Sie noch Fragen?", 1, 0),
        ("de", "Es kostet 99 Euro! Haben Sie noch Fragen?", 1, 1),
        ("de", "Es kostet 99 Euro, oder?", 1, 0),
    ],
)
def test_a_statement_is_never_a_remark_for_the_question_behind_it(
    code: str, text: str, claims: int, remarks: int
) -> None:
    found = components_in("claims", ask.claims(text), code)

    assert (sum(not one.remark for one in found), sum(one.remark for one in found)) == (claims, remarks), found
    assert "".join("".join(one.text.split()) for one in found) == "".join(text.split())
    assert all(text[slice(*(one.span or (0, 0)))].split() == one.text.split() for one in found)
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


def test_a_german_text_is_split_where_a_reader_reads_german(tmp_path: Path) -> None:
    folder = tiny_onnx.entailment(tmp_path / "xnli", "[de, en, zh]")
    judge = judge_named(f"embedded+reader:{folder}")
    split = answers(
        judge, [ask.claims(GERMAN), ask.claims("It costs six euros. It was built in 1900 and opened in 1902.")]
    )

    assert [len(one) for one in split if isinstance(one, tuple)] == [4, 3]  # English is split within sentences too
    assert judge.unsupported_reason("supported", "zh") is None
    assert "Chinese" in (judge.unsupported_reason("claims", "zh") or "")
    assert (
        judge.unsupported_reason("claims", "fr") == "the embedded judge was measured on English only, and this case "
        "seems to be in French"
    )


def test_the_threshold_of_repeats_found_by_pairs_is_near_the_one_that_was_measured() -> None:
    encoder = Encoder()
    found = repeat_threshold(lambda texts: {t: one.vector for t, one in encoder.encode(list(texts)).items()}, ("en",))

    assert found == pytest.approx(0.80, abs=0.05)  # of all-MiniLM-L6-v2 it was fitted on labels


def test_an_encoder_that_cannot_tell_repeats_calls_nothing_one() -> None:
    same = np.array([1.0, 0.0])
    assert repeat_threshold(lambda texts: dict.fromkeys(texts, same), ("en",)) == 1.0


def test_every_known_reader_is_of_a_family_and_pinned_by_a_whole_commit_or_not_at_all() -> None:
    for name, one in known_readers().items():
        assert one.family in FAMILIES, name
        assert one.revision == "" or (len(one.revision) == 40 and set(one.revision) <= set("0123456789abcdef")), name
        assert one.source.startswith("https://"), name
        assert not any(pattern.endswith((".bin", ".py", "*")) for pattern in one.files), name
        assert all(len(digest) == 64 for digest in one.sha256.values()), name
