"""Models with safetensors: what is read of a tiny checkpoint is what transformers' own recipe gives.

All tests that need torch stand in this file, so that one worker imports it once, and no other does.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from contract import answers

from ragtriage.core import questions as ask
from ragtriage.core.errors import ConfigError, JudgeError
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Verdict
from ragtriage.judges.build import BuiltJudge, build_judge
from ragtriage.judges.hub_models.folder import open_folder
from ragtriage.judges.hub_models.model import PLACES, HubModel, PairChances
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.session import JudgeSession

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

DOCUMENT = (
    "Day tickets are valid until three in the morning. They cost six euros. Dogs travel free if they sit on a lap."
)
CLAIM = "A day ticket is valid until three in the morning."
QUERY = "How long is a day ticket valid?"
PAIRS = [(DOCUMENT, CLAIM), (DOCUMENT[:50], "Dogs travel free."), ("They cost six euros.", CLAIM)]
CLOSE = {"abs": 2 * 10.0**-PLACES}
TINY = ("deberta", "xlmr", "bert")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A tiny model's folder, made once."""
    from tiny_torch import made  # noqa: PLC0415  # it imports torch

    folder = tmp_path_factory.mktemp("models")

    def model(name: str) -> Path:
        return folder / name if (folder / name).exists() else made(name, folder / name)

    return model


def opened(folder: Path) -> HubModel:
    return HubModel(open_folder(str(folder), folder))


def built(folder: Path) -> BuiltJudge:
    return build_judge(JudgeSession.of(JudgeConfig((f"embedded+reader:{folder}",))))


@pytest.mark.parametrize("name", TINY)
def test_a_classifier_reads_premise_and_hypothesis(tiny: Callable[[str], Path], name: str) -> None:
    import torch  # noqa: PLC0415  # a heavy package
    import transformers  # noqa: PLC0415  # a heavy package

    folder = tiny(name)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    said = opened(folder).read(PAIRS)

    for pair in PAIRS:
        with torch.inference_mode():
            chances = torch.softmax(model(**tokenizer(*pair, return_tensors="pt")).logits[0], -1)
        assert said[pair].yes == pytest.approx(float(chances[0]), **CLOSE)
        assert said[pair].against == pytest.approx(float(chances[2]), **CLOSE)
    assert max(one.yes for one in said.values()) > min(one.yes for one in said.values()) + 2 * CLOSE["abs"]


def test_labels_are_found_by_their_names(tiny: Callable[[str], Path], tmp_path: Path) -> None:
    folder = shutil.copytree(tiny("deberta"), tmp_path / "other")
    config = json.loads((folder / "config.json").read_text())
    config["id2label"] = {"0": "CONTRADICTION", "1": "ENTAILMENT", "2": "NEUTRAL"}
    (folder / "config.json").write_text(json.dumps(config))
    other = opened(folder)
    pair = PAIRS[0]

    assert (other.folder.yes, other.folder.against) == (1, 0)
    assert other.read([pair])[pair].against == opened(tiny("deberta")).read([pair])[pair].yes


@pytest.mark.parametrize("name", TINY)
def test_what_is_read_together_is_read_as_if_alone(tiny: Callable[[str], Path], name: str) -> None:
    pairs = [(DOCUMENT[:end], claim) for end in (20, 60, 110) for claim in ("Dogs travel free.", CLAIM)]
    model = opened(tiny(name))
    said = model.read(pairs)

    assert [said[p].yes for p in pairs] == pytest.approx([model.read([p])[p].yes for p in pairs], **CLOSE)


def test_models_may_be_the_first_to_import_transformers_at_once(tiny: Callable[[str], Path]) -> None:
    folders = [str(tiny(name)) for name in TINY]
    code = f"""
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from ragtriage.judges.hub_models.folder import open_folder
from ragtriage.judges.hub_models.model import HubModel
with ThreadPoolExecutor(3) as pool:
    list(pool.map(lambda name: HubModel(open_folder(name, Path(name))).load(), {folders}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stderr


def test_models_that_are_loaded_at_once_leave_each_other_alone(tiny: Callable[[str], Path]) -> None:
    with ThreadPoolExecutor(len(TINY)) as pool:
        found = list(pool.map(lambda folder: opened(folder).read(PAIRS), map(tiny, TINY)))

    assert found == [opened(tiny(name)).read(PAIRS) for name in TINY]


@pytest.mark.parametrize("name", TINY)
def test_a_judge_with_a_hub_model_answers_about_claims_by_it_and_the_rest_as_ever(
    tiny: Callable[[str], Path], name: str
) -> None:
    judge, embedded = built(tiny(name)).judge, build_judge(JudgeSession.of(JudgeConfig())).judge
    supported = ask.supported(CLAIM, (DOCUMENT,), QUERY, CLAIM)
    others = [
        ask.essential(QUERY, DOCUMENT),
        ask.answered(QUERY, (DOCUMENT,)),
        ask.similarity(CLAIM, (CLAIM, "They cost six euros."), 0),
    ]
    told = answers(judge, [supported])[0]

    assert isinstance(told, Verdict)
    assert told.chance is None  # nobody measured that it is calibrated
    assert told.score == opened(tiny(name)).read([(DOCUMENT, CLAIM)])[DOCUMENT, CLAIM].yes
    assert answers(judge, others) == answers(embedded, others)
    assert all(judge.fingerprint(one.kind) == embedded.fingerprint(one.kind) for one in others)
    assert judge.fingerprint("supported") != embedded.fingerprint("supported")


def test_the_order_of_the_sources_changes_nothing(tiny: Callable[[str], Path]) -> None:
    sources = ("They cost six euros.", DOCUMENT, "Large dogs need a child ticket.")
    judge = built(tiny("deberta")).judge
    one, two = answers(judge, [ask.supported(CLAIM, some, QUERY) for some in (sources, sources[::-1])])

    assert one == two


def test_weights_that_lack_a_layer_are_refused(tiny: Callable[[str], Path], tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file  # noqa: PLC0415  # it imports torch

    folder = shutil.copytree(tiny("xlmr"), tmp_path / "xlmr")
    weights = load_file(folder / "model.safetensors")
    weights.pop("classifier.out_proj.weight")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(JudgeError, match=r"don't fit its configuration: classifier\.out_proj\.weight"):
        opened(folder).load()


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json"])
def test_files_that_are_cut_off_are_told_in_a_line_before_anything_is_asked(
    tiny: Callable[[str], Path], tmp_path: Path, file: str
) -> None:
    folder = shutil.copytree(tiny("bert"), tmp_path / "bert")
    content = (folder / file).read_bytes()
    (folder / file).write_bytes(content[: len(content) // 2])
    with pytest.raises(ConfigError, match=re.escape(str(folder))) as raised:
        built(folder).open()

    assert "\n" not in str(raised.value)


def test_code_in_a_folder_is_not_run(tiny: Callable[[str], Path], tmp_path: Path) -> None:
    folder = shutil.copytree(tiny("bert"), tmp_path / "bert")
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoModelForSequenceClassification": "modeling.Own"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "modeling.py").write_text("raise SystemExit('code of a model was run')\n")

    assert opened(folder).read(PAIRS) == opened(tiny("bert")).read(PAIRS)


def test_the_languages_are_those_of_the_card(tiny: Callable[[str], Path]) -> None:
    judge = built(tiny("deberta")).judge

    assert judge.unsupported_reason("supported", "de") is None
    assert judge.unsupported_reason("claims", "de") is None
    assert "Chinese" in (judge.unsupported_reason("claims", "zh") or "")
    assert "reads German, English, Chinese" in (judge.unsupported_reason("supported", "pl") or "")
    assert judge.unsupported_reason("declines", "de") is not None


def test_a_failure_of_one_question_leaves_the_others_alone(
    tiny: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(self: HubModel, pairs: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], PairChances]:
        some = list(pairs)
        if any(claim == "They cost six euros." for _, claim in some):
            raise ValueError("no")
        return own(self, some)

    own = HubModel.read
    monkeypatch.setattr(HubModel, "read", read)
    asked = [ask.supported(claim, (source,)) for claim, source in [(CLAIM, " "), ("They cost six euros.", DOCUMENT)]]
    found = answers(built(tiny("deberta")).judge, [*asked, ask.supported(CLAIM, (DOCUMENT,))])

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
@pytest.mark.parametrize("name", TINY)
def test_the_whole_source_is_read_beside_the_whole_claim(
    tiny: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, name: str, source: str
) -> None:
    text = HOSTILE[source]
    told, pairs = read_for(tiny(name), ask.supported(CLAIM, (text,), QUERY), monkeypatch)
    model = opened(tiny(name))

    assert isinstance(told, Verdict)
    assert told.value != "unknown"
    assert told.explanation.endswith(f"(the best of {len(pairs)} chunks)") == (len(pairs) > 1)
    assert without_spaces(chunk for chunk, _ in pairs) == without_spaces([text])
    for chunk, claim in pairs:
        assert claim == CLAIM
        assert model.count(chunk) + model.count(claim) < model.pieces(chunk, claim) <= model.folder.length


@pytest.mark.parametrize("name", TINY)
def test_what_does_not_fit_beside_any_source_is_unknown_with_the_reason(tiny: Callable[[str], Path], name: str) -> None:
    long = "Day tickets are valid until three in the morning if they cost six euros and dogs travel free, and " * 60
    told = answers(built(tiny(name)).judge, [ask.supported(long, (DOCUMENT,), QUERY)])[0]
    length = 128 if name == "bert" else 512

    assert isinstance(told, Verdict)
    assert (told.value, told.score, told.chance) == ("unknown", None, None)
    assert told.explanation == f"the claim is too long to be read whole: the model takes {length} word pieces"
    with pytest.raises(ValueError, match="word pieces are more than"):
        opened(tiny(name)).read([(DOCUMENT, long)])
