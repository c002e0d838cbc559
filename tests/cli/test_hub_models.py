"""Hub models at the command line: runs, their header, a kill, plans, languages, labels, missing packages."""

import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_models import Model, judging
from cli_processes import begun, until

from cli_rows import row, written
from ragtriage import Score, Verdict, open_store
from ragtriage.config import read_settings
from servers import Server

sys.path.append(str(Path(__file__).parents[1] / "judges" / "hub_models"))

import tiny_onnx

Command = Callable[..., Any]


@pytest.fixture
def nli(tmp_path: Path) -> Path:
    return tiny_onnx.entailment(tmp_path / "nli")


def test_a_run_says_what_read_and_that_it_is_not_calibrated(command: Command, tmp_path: Path, nli: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(i) for i in range(4)])
    said = command("evaluate", "rows.jsonl", "--judge", "embedded+reader:nli", "--metrics", "groundedness")
    shown = command("show", "--json").json

    assert said.code == 0, said.err
    assert "judged by embedded+reader:nli (uncalibrated: supported)" in " ".join(said.out.split())
    assert (shown["judge"], shown["counting"]) == ("embedded+reader:nli", "uncalibrated: supported")
    assert command("evaluate", "rows.jsonl", "--judge", "embedded", "--metrics", "groundedness", "--json").code == 0


def test_a_cascade_and_a_jury_say_that_a_hub_model_is_not_calibrated(
    command: Command, tmp_path: Path, nli: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    written(tmp_path / "rows.jsonl", [row(i) for i in range(2)])
    with Server(Model()) as server:
        judges = ("--judge", "embedded+reader:nli", *judging(server), "--metrics", "groundedness")
        cascade = command("evaluate", "rows.jsonl", *judges, "--cascade", "0:1")
        jury = command("evaluate", "rows.jsonl", *judges, "--jury", "majority", "--json").json

    head = "judged by embedded+reader:nli, then openai:m (uncalibrated: supported)"
    assert head in " ".join(cascade.out.split())
    assert jury["counting"] == "uncalibrated: supported"


def test_a_cascade_says_who_decided_first(
    command: Command, tmp_path: Path, nli: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    written(tmp_path / "rows.jsonl", [row(i) for i in range(2)])
    with Server(Model()) as server:
        given = ("rows.jsonl", "--judge", "embedded+reader:nli", *judging(server), "--cascade", "0:1")
        plain = ("rows.jsonl", *judging(server), "--cascade", "0:1")
        said, other = (command("evaluate", *flags, "--metrics", "groundedness") for flags in (given, plain))
        planned, other_plan = (command("plan", *flags, "--json").json["notes"] for flags in (given, plain))

    assert "\ncascade: embedded+reader:nli decided 0 verdicts and passed " in said.err
    assert "\ncascade: the embedded judge decided 0 verdicts and passed " in other.err
    assert "At least: if embedded+reader:nli decides all that it may; at most: if it decides nothing." in planned
    assert "At least: if the embedded judge decides all that it may; at most: if it decides nothing." in other_plan


def test_settings_name_the_hub_model(command: Command, tmp_path: Path, nli: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(0)])
    (tmp_path / "ragtriage.toml").write_text('reader = "nli"\n')
    said = command("evaluate", "rows.jsonl", "--json")
    plain = command("evaluate", "rows.jsonl", "--json", "--judge", "embedded")

    assert said.json["judge"] == f"embedded+reader:{nli}"
    assert plain.json["judge"] == "embedded"


def test_a_killed_run_goes_on_with_its_hub_model_where_it_stopped(command: Command, tmp_path: Path, nli: Path) -> None:
    rows = 240
    written(tmp_path / "rows.jsonl", [row(i, answer=f"Ticket {i} costs {i} euros. It is red.") for i in range(rows)])
    given = ("evaluate", "rows.jsonl", "--judge", "embedded+reader:nli", "--metrics", "groundedness", "--json")

    def done() -> int:
        with open_store(tmp_path / ".ragtriage", create=False) as store:
            return store.runs()[0].done

    with begun(tmp_path, *given) as child:
        until(lambda: (tmp_path / ".ragtriage").exists() and kept(done) > 0, child)
        child.send_signal(signal.SIGKILL)
        child.wait()
    before = done()
    after = command(*given)

    assert child.returncode == -signal.SIGKILL
    assert 0 < before < rows
    assert after.code == 0, after.err
    assert f"continuing run 1: {before} of {rows}" in after.err + after.out
    assert (after.json["run"], after.json["cases"]) == (1, rows)
    whole = command(*given[:-1], "--store", "other", "--json").json
    assert whole["metrics"] == after.json["metrics"]


def kept(count: Callable[[], int]) -> int:
    """A count of what is stored; 0 while there is nothing to count."""
    try:
        return count()
    except Exception:  # noqa: BLE001 - the store is being made
        return 0


def test_a_plan_tells_memory_and_loads_nothing(command: Command, tmp_path: Path, nli: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(i) for i in range(4)])
    model = nli / "onnx" / "model.onnx"
    model.write_bytes(bytes(model.stat().st_size))
    said = command("plan", "rows.jsonl", "--judge", "embedded+reader:nli")

    assert said.code == 0, said.err
    assert "The hub model nli takes about 0.4 GB of memory" in " ".join(said.out.split())


def cut_off(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


@pytest.mark.parametrize(
    ("spoil", "file", "words"),
    [
        (cut_off, "onnx/model.onnx", "can't be loaded by onnxruntime"),
        (cut_off, "tokenizer.json", "the tokenizer"),
        (Path.unlink, "tokenizer.json", "there is no tokenizer.json in"),
    ],
)
def test_a_hub_model_that_cannot_be_loaded_is_told_before_a_run_begins(
    command: Command, tmp_path: Path, nli: Path, spoil: Callable[[Path], None], file: str, words: str
) -> None:
    written(tmp_path / "rows.jsonl", [row(0)])
    judge = ("--judge", "embedded+reader:nli")
    spoil(nli / file)
    said = command("evaluate", "rows.jsonl", *judge)
    with open_store(tmp_path / ".ragtriage") as store:
        assert store.runs() == []
    claim = {"id": "a", "claim": "It costs six euros.", "sources": ["They cost six."], "label": 1}
    written(tmp_path / "claims.jsonl", [claim])
    asked = command("trust", "agreement", "claims.jsonl", *judge)

    assert (said.code, asked.code) == (2, 2)
    for err in (said.err, asked.err):
        last = err.strip().splitlines()[-1]
        assert last.startswith("ragtriage: the hub model 'nli': ")
        assert words in last


def test_a_claim_that_no_pass_holds_is_unknown_and_the_others_are_judged(
    command: Command, tmp_path: Path, nli: Path
) -> None:
    long = "Day tickets cost " + "six euros and thirty-five pounds and " * 200 + "are valid until three."
    written(tmp_path / "rows.jsonl", [row(0, answer=f"Dogs travel free. {long}", contexts=["Dogs travel free."])])
    said = command("evaluate", "rows.jsonl", "--judge", "embedded+reader:nli", "--metrics", "groundedness", "--json")
    with open_store(tmp_path / ".ragtriage") as store:
        (record,) = store.run().records()
    score = record.outcomes["groundedness"]

    assert said.code == 0, said.err
    assert isinstance(score, Score)
    assert score.unknown >= 1
    assert score.judged >= 1
    told = [one.cell.explanation for one in score.parts if isinstance(one.cell, Verdict) and one.good is None]
    assert all(text.endswith("is too long to be read whole: the model takes 512 word pieces") for text in told)


def test_other_languages_are_judged_where_a_hub_model_reads_them(command: Command, tmp_path: Path) -> None:
    tiny_onnx.entailment(tmp_path / "xnli", "[de, fr, es, en, zh]")
    rows = Path(__file__).parents[2] / "examples" / "languages.jsonl"
    said = command("evaluate", rows, "--judge", "embedded+reader:xnli", "--metrics", "groundedness", "--json")
    with open_store(tmp_path / ".ragtriage") as store:
        found = {record.case.id: record.outcomes["groundedness"] for record in store.run().records()}

    assert said.code == 0, said.err
    scores = {code: outcome for code, outcome in found.items() if isinstance(outcome, Score)}
    assert list(scores) == ["de", "fr", "es"]
    assert [len(score.parts) for score in scores.values()] == [2, 2, 2]
    assert "which Chinese isn't known to be written with" in str(found["zh"])


def test_labels_make_chances_of_a_hub_models_verdicts(command: Command, tmp_path: Path) -> None:
    tiny_onnx.entailment(tmp_path / "two", labels=("not_entailment", "entailment"))
    words = "day tickets are valid until three morning cost six euros dogs travel free lap fee".split()
    draw = random.Random(5)
    said = [" ".join(draw.choices(words, k=6)).capitalize() + "." for _ in range(90)]
    source = ["Day tickets are free."]
    written(tmp_path / "rows.jsonl", [row(i, answer=text, contexts=source) for i, text in enumerate(said)])
    given = ("evaluate", "rows.jsonl", "--judge", "embedded+reader:two", "--metrics", "groundedness")
    assert command(*given).code == 0
    labels = []
    with open_store(tmp_path / ".ragtriage") as store:
        for record in store.run().records():
            outcome = record.outcomes["groundedness"]
            assert isinstance(outcome, Score)
            for place, part in enumerate(outcome.parts):
                assert isinstance(part.cell, Verdict)
                labels.append(
                    {"run": "1", "case": record.case.id, "metric": "groundedness", "component": place,
                     "text": part.component.text, "label": (part.cell.value == "yes") != (draw.random() < 0.2),
                     "verdict": part.cell.value,
                     "score": part.cell.score, "chance": 1.0, "pick": "random", "by": ""}
                )  # fmt: skip
    assert min(sum(one["label"] for one in labels), sum(not one["label"] for one in labels)) >= 10
    written(tmp_path / "labels.jsonl", labels)
    calibrated = command("trust", "calibrate", "labels.jsonl", "--write", "ragtriage.toml")
    told = read_settings(tmp_path / "ragtriage.toml").chance_curves["supported"]
    again = command(*given, "--json")
    with open_store(tmp_path / ".ragtriage") as store:
        chances = {
            part.cell.score: part.cell.chance
            for record in store.run().records()
            if isinstance(outcome := record.outcomes["groundedness"], Score)
            for part in outcome.parts
            if isinstance(part.cell, Verdict)
        }

    assert calibrated.code == 0, calibrated.err
    assert told.judge == "embedded+reader:two"
    assert len(chances) > 10
    assert chances == {p: pytest.approx(told.at(p)) for p in chances}
    assert again.json["counting"] == "supported known from labels"


def test_a_missing_package_is_told_with_its_extra(process: Command, tmp_path: Path, nli: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(0)])
    said = process("evaluate", "rows.jsonl", "--judge", "embedded+reader:nli", without="tokenizers")

    assert said.code == 2
    assert "pip install '.[readers]'" in said.err
