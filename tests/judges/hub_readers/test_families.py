"""Every family: what the loading code reads of a tiny checkpoint is what its authors' own recipe gives.

All tests that need torch stand in this file, so that one worker imports it once.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from contract import answers
from hub_server import Repository, serving
from safetensors.torch import load_file, save_file
from tiny_readers import MAKERS, encoder_t5, entailment, made

from in_process import plain_environment, said_by
from ragtriage.core import questions as ask
from ragtriage.core.errors import ConfigError, JudgeError
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Verdict
from ragtriage.judges.build import BuiltJudge, build_judge
from ragtriage.judges.hub_readers.answering import PROMPT
from ragtriage.judges.hub_readers.answering import answers as answered
from ragtriage.judges.hub_readers.families import Said
from ragtriage.judges.hub_readers.folder import open_folder
from ragtriage.judges.hub_readers.hub_reader import PLACES, HubReader, Spans
from ragtriage.judges.hub_readers.known import known_reader
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.session import JudgeSession

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

DOCUMENT = (
    "Day tickets are valid until three in the morning. They cost six euros. Dogs travel free if they sit on a lap."
)
CLAIM = "A day ticket is valid until three in the morning."
PAIRS = [(DOCUMENT, CLAIM), (DOCUMENT[:50], "Dogs travel free."), ("They cost six euros.", CLAIM)]
CLOSE = {"abs": 2 * 10.0**-PLACES}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A tiny reader's folder, made once."""
    folder = tmp_path_factory.mktemp("readers")

    def reader(name: str) -> Path:
        return folder / name if (folder / name).exists() else made(name, folder / name)

    return reader


def opened(folder: Path) -> HubReader:
    return HubReader(open_folder(str(folder), folder))


def built(folder: Path) -> BuiltJudge:
    return build_judge(JudgeSession.of(JudgeConfig((f"embedded+reader:{folder}",))))


def own_tokenizer(folder: Path) -> transformers.PreTrainedTokenizerBase:
    return transformers.AutoTokenizer.from_pretrained(folder)


def test_an_entailment_classifier_reads_premise_and_hypothesis(tiny: Callable[[str], Path]) -> None:
    folder = tiny("entailment")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    said = opened(folder).read(PAIRS)

    for pair in PAIRS:
        with torch.inference_mode():
            chances = torch.softmax(model(**own_tokenizer(folder)(*pair, return_tensors="pt")).logits[0], -1)
        assert said[pair].yes == pytest.approx(float(chances[0]), **CLOSE)
        assert said[pair].against == pytest.approx(float(chances[2]), **CLOSE)


def test_labels_are_found_by_their_names(tiny: Callable[[str], Path], tmp_path: Path) -> None:
    folder = shutil.copytree(tiny("entailment"), tmp_path / "other")
    config = json.loads((folder / "config.json").read_text())
    config["id2label"] = {"0": "CONTRADICTION", "1": "ENTAILMENT", "2": "NEUTRAL"}
    (folder / "config.json").write_text(json.dumps(config))
    labels = open_folder("other", folder).labels

    assert (labels.yes, labels.against) == (1, 0)


@pytest.mark.parametrize("name", ["minicheck-roberta", "minicheck-deberta"])
def test_minicheck_reads_both_texts_as_one_around_its_end_token(tiny: Callable[[str], Path], name: str) -> None:
    folder = tiny(name)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = own_tokenizer(folder)
    said = opened(folder).read(PAIRS)

    for pair in PAIRS:
        given = tokenizer([tokenizer.eos_token.join(pair)], max_length=512, truncation=True, return_tensors="pt")
        with torch.inference_mode():
            chances = torch.softmax(model(**given).logits, dim=1)[0]
        assert said[pair].yes == pytest.approx(float(chances[1]), **CLOSE)


def test_minicheck_flan_t5_is_asked_for_the_first_word(tiny: Callable[[str], Path]) -> None:
    folder = tiny("minicheck-t5")
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    tokenizer = own_tokenizer(folder)
    said = opened(folder).read(PAIRS)

    for pair in PAIRS:
        given = tokenizer(["predict: " + tokenizer.eos_token.join(pair)], max_length=2048, return_tensors="pt")
        start = torch.zeros((1, 1), dtype=torch.long)
        with torch.inference_mode():
            logits = model(
                input_ids=given["input_ids"], attention_mask=given["attention_mask"], decoder_input_ids=start
            ).logits.squeeze(1)
        chances = torch.softmax(logits[:, torch.tensor([3, 209])], -1)[0]
        assert said[pair].yes == pytest.approx(float(chances[1]), **CLOSE)


def test_hhem_is_read_at_the_first_token_and_its_code_is_not_run(tiny: Callable[[str], Path]) -> None:
    folder = tiny("hhem")
    config = transformers.AutoConfig.from_pretrained(folder / "foundation")
    model = transformers.T5ForTokenClassification(config).eval()
    stored = {name.removeprefix("t5."): value for name, value in load_file(folder / "model.safetensors").items()}
    stored["transformer.encoder.embed_tokens.weight"] = stored["transformer.shared.weight"]
    model.load_state_dict(stored)
    tokenizer = own_tokenizer(folder / "foundation")
    said = opened(folder).read(PAIRS)

    for text, claim in PAIRS:
        prompt = (
            f"<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {text}\n\nHypothesis: {claim}"
        )
        given = tokenizer([prompt], return_tensors="pt", padding=True)
        given.pop("token_type_ids", None)
        with torch.inference_mode():
            chances = torch.softmax(model(**given).logits[:, 0, :], -1)[0]
        assert given["input_ids"][0, 0] == 0
        assert said[text, claim].yes == pytest.approx(float(chances[1]), **CLOSE)


def test_a_classifier_of_spans_marks_the_words_of_the_answer(tiny: Callable[[str], Path]) -> None:
    folder = tiny("spans")
    model = transformers.AutoModelForTokenClassification.from_pretrained(folder).eval()
    tokenizer = own_tokenizer(folder)
    prompt = PROMPT.format(question="How long?", count=1, passages=f"passage 1: {DOCUMENT}")
    said = opened(folder).spans([(prompt, CLAIM)])[prompt, CLAIM]
    given = tokenizer(
        prompt, CLAIM, truncation="only_first", max_length=4096, return_offsets_mapping=True, return_tensors="pt"
    )
    offsets = given.pop("offset_mapping")[0]
    count = len(tokenizer(CLAIM, add_special_tokens=False)["input_ids"])
    first = given["input_ids"].shape[1] - count - 1
    with torch.inference_mode():
        chances = torch.softmax(model(input_ids=given["input_ids"], attention_mask=given["attention_mask"]).logits, -1)[
            0
        ]

    assert [piece[:2] for piece in said.pieces] == [tuple(map(int, pair)) for pair in offsets[first : first + count]]
    assert [piece[2] for piece in said.pieces] == pytest.approx(chances[first : first + count, 1].tolist(), **CLOSE)


@pytest.mark.parametrize("name", ["reranker-xlmr", "reranker-deberta"])
def test_a_reranker_gives_the_sigmoid_of_its_logit(tiny: Callable[[str], Path], name: str) -> None:
    folder = tiny(name)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    pairs = [(claim, text) for text, claim in PAIRS]
    said = opened(folder).read(pairs)

    for pair in pairs:
        with torch.inference_mode():
            logit = model(**own_tokenizer(folder)([pair], return_tensors="pt", max_length=512)).logits.view(-1)[0]
        assert said[pair].yes == pytest.approx(float(torch.sigmoid(logit)), **CLOSE)


def test_a_sentence_encoder_pools_as_its_folder_says(tiny: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tiny("encoder")
    model = transformers.AutoModel.from_pretrained(folder).eval()
    given = own_tokenizer(folder)([CLAIM, "They cost six euros."], padding=True, return_tensors="pt")
    with torch.inference_mode():
        states = model(**given).last_hidden_state
    mask = given["attention_mask"][:, :, None].float()
    wanted = {
        "mean": (states * mask).sum(1) / mask.sum(1),
        "cls": states[:, 0],
        "max": states.masked_fill(mask == 0, -torch.inf).max(1).values,
    }
    for pooling, vectors in wanted.items():
        own = shutil.copytree(folder, tmp_path / pooling)
        switches = {
            f"pooling_mode_{name}": name.startswith(pooling) for name in ("mean_tokens", "cls_token", "max_tokens")
        }
        (own / "1_Pooling" / "config.json").write_text(json.dumps(switches))
        found = opened(own).vectors([CLAIM, "They cost six euros."])
        unit = torch.nn.functional.normalize(vectors, dim=1).numpy()
        assert np.allclose([found[CLAIM], found["They cost six euros."]], unit, atol=1e-5), pooling


@pytest.mark.parametrize("whole", [False, True])
def test_a_sentence_encoder_on_a_t5_has_its_encoder_alone(tmp_path: Path, *, whole: bool) -> None:
    torch.manual_seed(7)
    folder = tmp_path / "t5"
    folder.mkdir()
    encoder_t5(folder, decoder=whole)
    model = transformers.T5EncoderModel.from_pretrained(folder).eval()
    given = own_tokenizer(folder)([CLAIM, "They cost six euros."], padding=True, return_tensors="pt")
    given.pop("token_type_ids", None)
    with torch.inference_mode():
        states = model(**given).last_hidden_state
    mask = given["attention_mask"][:, :, None].float()
    dense = load_file(folder / "2_Dense" / "model.safetensors")["linear.weight"]
    wanted = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1) @ dense.T, dim=1).numpy()
    reader = opened(folder)
    found = reader.vectors([CLAIM, "They cost six euros."])

    assert reader.folder.family.name == "encoder"
    assert reader.folder.length == 256
    assert np.allclose([found[CLAIM], found["They cost six euros."]], wanted, atol=1e-5)


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_read_together_is_read_as_if_alone(tiny: Callable[[str], Path], name: str) -> None:
    pairs = [(DOCUMENT[:end], claim) for end in (20, 60, 110) for claim in ("Dogs travel free.", CLAIM)]
    together, alone = opened(tiny(name)), opened(tiny(name))
    if name.startswith("encoder"):
        texts = [text for text, _ in pairs]
        many, one = together.vectors(texts), [alone.vectors([text])[text] for text in texts]
        assert np.allclose([many[text] for text in texts], one, atol=1e-5)
    elif name == "spans":
        shared = together.spans(pairs)
        for pair in pairs:
            chances = [[piece[2] for piece in some[pair].pieces] for some in (shared, alone.spans([pair]))]
            assert chances[0] == pytest.approx(chances[1], **CLOSE)
    else:
        said = together.read(pairs)
        assert [said[p].yes for p in pairs] == pytest.approx([alone.read([p])[p].yes for p in pairs], **CLOSE)


def test_readers_may_be_the_first_to_import_transformers_at_once(tiny: Callable[[str], Path]) -> None:
    folders = [str(tiny(name)) for name in ("hhem", "reranker-xlmr", "encoder")]
    code = f"""
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from ragtriage.judges.hub_readers.folder import open_folder
from ragtriage.judges.hub_readers.hub_reader import HubReader
with ThreadPoolExecutor(3) as pool:
    list(pool.map(lambda name: HubReader(open_folder(name, Path(name))).load(), {folders}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stderr


def test_readers_that_are_loaded_at_once_leave_each_other_alone(tiny: Callable[[str], Path]) -> None:
    names = ("minicheck-t5", "spans", "reranker-xlmr", "encoder")
    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(lambda folder: opened(folder).load(), map(tiny, names)))
    opened(tiny("minicheck-t5")).load()


QUERY = "How long is a day ticket valid?"
ASKED: dict[str, Question] = {
    "supported": ask.supported(CLAIM, (DOCUMENT,), QUERY, CLAIM),
    "essential": ask.essential(QUERY, DOCUMENT),
    "answered": ask.answered(QUERY, (DOCUMENT,)),
    "similarity": ask.similarity(CLAIM, (CLAIM, "They cost six euros."), 0),
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_judge_with_a_reader_answers_its_kinds_by_it_and_the_rest_as_ever(
    tiny: Callable[[str], Path], name: str
) -> None:
    judge = built(tiny(name)).judge
    embedded = build_judge(JudgeSession.of(JudgeConfig())).judge
    own = open_folder(name, tiny(name)).family.kinds
    for kind, question in ASKED.items():
        there, here = answers(judge, [question])[0], answers(embedded, [question])[0]
        assert isinstance(there, Verdict)
        assert isinstance(here, Verdict)
        assert (judge.fingerprint(question.kind) == embedded.fingerprint(question.kind)) == (kind not in own)
        if kind in own:
            assert there.chance is None  # nobody measured that it is calibrated
        else:
            assert there == here


def test_a_source_beyond_the_end_of_a_pass_is_read_in_chunks(tiny: Callable[[str], Path]) -> None:
    reader = opened(tiny("minicheck-roberta"))
    far = " ".join([DOCUMENT] * 40)
    judge = built(tiny("minicheck-roberta")).judge
    told = answers(judge, [ask.supported(CLAIM, (far,), QUERY)])[0]

    assert isinstance(told, Verdict)
    assert "chunks" in told.explanation
    assert reader.tokens().count(far) > 1000


def test_the_order_of_the_sources_changes_nothing(tiny: Callable[[str], Path]) -> None:
    sources = ("They cost six euros.", DOCUMENT, "Large dogs need a child ticket.")
    for name in ("entailment", "spans", "hhem"):
        judge = built(tiny(name)).judge
        one, two = answers(judge, [ask.supported(CLAIM, some, QUERY) for some in (sources, sources[::-1])])
        assert one == two, name


def test_a_span_is_named_in_the_words_of_the_response(tiny: Callable[[str], Path]) -> None:
    response = "A day ticket is valid until three in the morning. It costs six euros."
    claim = "It costs six euros."
    told = answers(built(tiny("spans")).judge, [ask.supported(claim, (DOCUMENT,), QUERY, response)])[0]

    assert isinstance(told, Verdict)
    assert told.value == "no"
    assert told.explanation.startswith("the sources don't support “")
    for part in told.explanation.split("“")[1:]:
        assert part.partition("”")[0] in response


def test_a_known_reader_is_fetched_with_its_foundation_and_judges_by_its_name(
    tiny: Callable[[str], Path], tmp_path: Path
) -> None:
    known = known_reader("hhem-2.1-open")
    assert known is not None
    whole = Repository.of(tiny("hhem"), known.revision).files
    inside = "foundation/"
    own = {name: text for name, text in whole.items() if not name.startswith(inside)}
    base = {name.removeprefix(inside): text for name, text in whole.items() if name.startswith(inside)}
    hub_of = {
        known.repository: Repository(known.revision, own),
        known.foundation: Repository(known.foundation_revision, base | {"model.safetensors": b"three gigabytes"}),
    }
    with serving(hub_of) as hub, plain_environment(RAGTRIAGE_READERS=str(tmp_path), HF_ENDPOINT=hub.url):
        got = said_by(["readers", "get", known.name])
        judge = build_judge(JudgeSession.of(JudgeConfig((f"embedded+reader:{known.name}",)))).judge
        told = answers(judge, [ask.supported(CLAIM, (DOCUMENT,), QUERY)])[0]

    assert got.code == 0, got.err
    assert f"--judge embedded+reader:{known.name}" in got.out
    assert isinstance(told, Verdict)
    assert told.score == opened(tiny("hhem")).read([(DOCUMENT, CLAIM)])[DOCUMENT, CLAIM].yes
    assert not any(name.endswith(".py") for name in hub.fetched())
    assert hub.fetched().count("model.safetensors") == 1


def test_weights_that_lack_a_layer_are_refused(tiny: Callable[[str], Path], tmp_path: Path) -> None:
    for name, layer in (("reranker-xlmr", "classifier.out_proj.weight"), ("hhem", "t5.classifier.weight")):
        folder = shutil.copytree(tiny(name), tmp_path / name)
        weights = load_file(folder / "model.safetensors")
        weights.pop(layer)
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        with pytest.raises(JudgeError, match="don't fit its configuration"):
            opened(folder).load()


@pytest.mark.parametrize("file", ["model.safetensors", "2_Dense/model.safetensors", "tokenizer.json"])
def test_files_that_are_cut_off_are_told_in_a_line_before_anything_is_asked(
    tiny: Callable[[str], Path], tmp_path: Path, file: str
) -> None:
    folder = shutil.copytree(tiny("encoder-t5"), tmp_path / "encoder")
    content = (folder / file).read_bytes()
    (folder / file).write_bytes(content[: len(content) // 2])
    with pytest.raises(ConfigError, match=re.escape(str(folder / file).partition("/model.")[0])) as raised:
        built(folder).open()

    assert "\n" not in str(raised.value)


def test_a_folder_of_no_known_family_is_told(tiny: Callable[[str], Path], tmp_path: Path) -> None:
    folder = shutil.copytree(tiny("minicheck-roberta"), tmp_path / "sentiment")
    config = json.loads((folder / "config.json").read_text())
    config["id2label"] = {"0": "negative", "1": "positive"}
    (folder / "config.json").write_text(json.dumps(config))

    with pytest.raises(ConfigError, match="labels negative, positive"):
        open_folder("sentiment", folder)


def test_a_german_case_is_read_by_a_reader_that_reads_german(tmp_path: Path) -> None:
    torch.manual_seed(7)
    folder = tmp_path / "xnli"
    folder.mkdir()
    entailment(folder, ("multilingual", "de", "en", "zh"))
    judge = built(folder).judge

    assert judge.unsupported_reason("supported", "de") is None
    assert judge.unsupported_reason("claims", "de") is None
    assert "Chinese" in (judge.unsupported_reason("claims", "zh") or "")
    assert "reads German, English" in (judge.unsupported_reason("supported", "pl") or "")
    assert judge.unsupported_reason("declines", "de") is not None


def test_a_failure_of_one_question_leaves_the_others_alone(tiny: Callable[[str], Path]) -> None:
    reader = opened(tiny("entailment"))
    setting = build_judge(JudgeSession.of(JudgeConfig((f"embedded+reader:{tiny('entailment')}",)))).readers[0]._setting
    found = answered([ask.supported(CLAIM, (" ",)), ask.supported(CLAIM, (DOCUMENT,))], setting)

    assert not isinstance(found[0], Verdict)
    assert isinstance(found[1], Verdict)
    assert reader.folder.temperature is None


HOSTILE = {
    "short lines": "\n".join(f"{hour:02}:{minute:02}" for hour in range(6, 22) for minute in range(0, 60, 3)),
    "addresses": " ".join(f"https://example.org/{n}/fares?valid={n * 7919}" for n in range(110)),
    "no spaces": "".join(f"第{n}号日票的价格是{n % 9}欧元，" for n in range(150)),
    "one word": "".join(f"{n * 104729:x}" for n in range(500)),
    "lines of marks": "\n".join("✓" if n % 3 else "Dogs travel free" for n in range(500)),
}
"""Sources that a count of sentences, words or pieces without line breaks takes for shorter than they are."""
ON_CLAIMS = ("entailment", "minicheck-roberta", "minicheck-deberta", "minicheck-t5", "hhem", "spans")


class Listening:
    """A reader that keeps what it was asked to read."""

    def __init__(self, reader: HubReader) -> None:
        self.folder, self.tokens, self.pieces = reader.folder, reader.tokens, reader.pieces
        self.reader = reader
        self.pairs: list[tuple[str, str]] = []

    def read(self, pairs: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], Said]:
        """As the reader does."""
        self.pairs += (given := list(pairs))
        return self.reader.read(given)

    def spans(self, pairs: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], Spans]:
        """As the reader does."""
        self.pairs += (given := list(pairs))
        return self.reader.spans(given)


def read_for(folder: Path, question: Question) -> tuple[Answer, list[tuple[str, str]]]:
    """The answer of a reader, and the pairs that it read for it."""
    listening = Listening(opened(folder))
    setting = replace(built(folder).readers[0]._setting, reader=listening)  # type: ignore[type-var]
    return answered([question], setting)[0], listening.pairs


def without_spaces(parts: Iterable[str]) -> str:
    return "".join(re.sub(r"\s", "", part) for part in parts)


def passages_of(prompt: str) -> str:
    """What a classifier of spans is given before a response, without the prompt around it."""
    shown = prompt.partition("passages:\n")[2].partition("\nIn case the passages")[0]
    return re.sub(r"(^|\n)passage \d+: ", " ", shown)


@pytest.mark.parametrize("source", HOSTILE)
@pytest.mark.parametrize("name", ON_CLAIMS)
def test_the_whole_source_is_read_beside_the_whole_claim(tiny: Callable[[str], Path], name: str, source: str) -> None:
    text = HOSTILE[source]
    told, pairs = read_for(tiny(name), ask.supported(CLAIM, (text,), QUERY))
    reader = opened(tiny(name))
    tokens, count = reader.tokens(), reader.tokens().count

    assert isinstance(told, Verdict)
    assert told.value != "unknown"
    assert without_spaces(passages_of(one) if name == "spans" else one for one, _ in pairs) == without_spaces([text])
    for first, second in pairs:
        ids = reader.folder.family.encode(tokens, first, second).ids
        assert second == CLAIM
        assert count(first) + count(second) - 2 <= len(ids) <= reader.folder.length
        assert ids[-4:] == tokens.one(CLAIM).ids[-4:]


def test_minicheck_counts_line_breaks_as_its_authors_do(tiny: Callable[[str], Path]) -> None:
    tokenizer = own_tokenizer(tiny("minicheck-roberta"))
    _, pairs = read_for(tiny("minicheck-roberta"), ask.supported(CLAIM, (HOSTILE["short lines"],), QUERY))
    counts = [len(tokenizer(text, add_special_tokens=False)["input_ids"]) for text, _ in pairs]

    assert max(counts) <= 400
    assert min(counts[:-1]) > 390


@pytest.mark.parametrize("name", [*ON_CLAIMS, "reranker-xlmr", "reranker-deberta"])
def test_what_does_not_fit_beside_any_source_is_unknown_with_the_reason(tiny: Callable[[str], Path], name: str) -> None:
    long = "Day tickets are valid until three in the morning if they cost six euros and dogs travel free, and " * 260
    asked = ask.essential(long, DOCUMENT) if name.startswith("reranker") else ask.supported(long, (DOCUMENT,), QUERY)
    told = answers(built(tiny(name)).judge, [asked])[0]
    length = open_folder(name, tiny(name)).length

    assert isinstance(told, Verdict)
    assert (told.value, told.score, told.chance) == ("unknown", None, None)
    assert told.explanation.endswith(f"is too long to be read whole: the reader takes {length} word pieces")


def test_of_a_long_response_the_part_with_the_claim_is_read(tiny: Callable[[str], Path]) -> None:
    claim = "Dogs cost fifty-three euros."
    response = " ".join([DOCUMENT] * 120 + [claim] + [DOCUMENT] * 120)
    told, pairs = read_for(tiny("spans"), ask.supported(claim, (DOCUMENT * 3,), QUERY, response))
    reader = opened(tiny("spans"))

    assert reader.tokens().count(response) > reader.folder.length
    assert isinstance(told, Verdict)
    assert told.value != "unknown"
    ((_, part),) = set(pairs)
    assert claim in part
    assert part in response
    assert reader.tokens().count(part) > 1000  # the sentences around it are read too


def test_an_encoder_reads_a_long_sentence_to_its_end(tiny: Callable[[str], Path]) -> None:
    reader = opened(tiny("encoder"))
    begun = "Day tickets are valid until three in the morning, and they cost six euros, " * 6
    one, other = begun + "and dogs travel free.", begun + "if they sit on a lap."
    found = reader.vectors([one, other])

    assert reader.tokens().count(begun) > reader.folder.length
    assert not np.allclose(found[one], found[other], atol=1e-3)
    assert np.linalg.norm(found[one]) == pytest.approx(1.0, abs=1e-5)
