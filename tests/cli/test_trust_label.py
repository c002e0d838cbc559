"""`ragtriage trust label`: keys in, labels kept, the judge's verdicts only at the end."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CASES = [
    {"id": f"q{i}", "query": "What does a day pass cost?", "sources": ["A day pass costs 12 euros."], "response": said}
    for i, said in enumerate(["A day pass costs 12 euros.", "Horses sleep in the harbour hotel.", "It costs 12 euros."])
]


@pytest.fixture
def keys(command, monkeypatch: pytest.MonkeyPatch) -> object:
    """A function of what is typed and of arguments: the command over a run of three cases."""
    Path("answers.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES), encoding="utf-8")
    assert command("evaluate", "answers.jsonl", "--metrics", "groundedness,self_distinctness").code == 0

    def run(typed: str, *arguments: object):
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        return command("trust", "label", *arguments)

    return run


def labels(path: str = "labels.jsonl") -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def test_it_shows_items_keeps_labels_and_tells_the_verdicts_at_the_end_only(keys) -> None:
    said = keys("y\nno\ny\n", "--n", 3, "--by", "Ana")

    assert said.code == 0
    asked, told = said.out.split("You and the judge agree on ")
    assert asked.count("Do the sources support this claim, all of it?") == 3
    assert "judge" not in asked
    assert told.startswith(("0 of", "1 of", "2 of", "3 of"))
    kept = labels()
    assert [one["label"] for one in kept] == [True, False, True]
    assert {(one["run"], one["by"], one["pick"], one["chance"]) for one in kept} == {("1", "Ana", "random", 1.0)}


def test_the_end_of_the_input_is_a_stop_and_the_same_command_goes_on(keys) -> None:
    first = keys("y\n", "--n", 3)
    second = keys("what\ns\nb\nn\nn\n", "--n", 3)

    assert (first.code, second.code) == (3, 0)
    assert "2 of 3 are left; the same command goes on" in first.out
    assert "You and the judge" not in first.out
    assert "1 of 3 were labelled before" in second.out
    assert "(you skipped it)" in second.out
    assert [one["label"] for one in labels()] == [True, None, False, False]


class Interrupted(io.StringIO):
    """Standard input on which Ctrl-C is pressed once what was typed is read."""

    def __init__(self, lines: Iterator[str]) -> None:
        super().__init__()
        self._lines = lines

    def readline(self, size: int = -1) -> str:  # as the class has it
        """The next line that was typed."""
        for line in self._lines:
            return line
        raise KeyboardInterrupt


def test_ctrl_c_loses_nothing(keys, command, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", Interrupted(iter(["n\n"])))
    said = command("trust", "label", "--n", 3)

    assert (said.code, len(labels())) == (3, 1)
    assert "2 of 3 are left" in said.out


def test_json_stands_alone_on_standard_output(keys) -> None:
    said = keys("y\ny\ny\n", "--n", 3, "--json")

    found = said.json
    assert list(found)[:5] == ["run", "agree", "of", "share", "low"]
    assert found["agree"] + len(found["disagreements"]) == found["of"]
    assert "Do the sources support" in said.err


def test_picked_items_are_marked_in_the_file_and_on_screen(keys) -> None:
    said = keys("y\ny\n", "--n", 2, "--pick", "disagreements", "-o", "picked.jsonl")

    assert said.code == 0
    assert " ".join(said.out.split()).count("they say nothing about how often the judge is right") == 2
    assert "1 of 2, picked" in said.out
    assert {(one["pick"], one["chance"]) for one in labels("picked.jsonl")} == {("disagreements", None)}


def test_what_is_said_of_picked_items_fits_into_eighty_columns(keys) -> None:
    said = keys("y\ny\n", "--n", 2, "--pick", "disagreements", "-o", "picked.jsonl")

    assert max(map(len, said.out.splitlines())) <= 80


def test_a_smaller_n_changes_no_label_and_another_draw_is_refused(keys) -> None:
    assert keys("y\ny\n", "--n", 2).code == 0
    before = Path("labels.jsonl").read_bytes()
    assert keys("", "--n", 1).code == 0

    for further in (("--seed", 1), ("--metric", "all")):
        said = keys("", "--n", 3, *further)
        assert said.code == 2
        assert "use the same --metric and --seed, or name another file with -o" in said.err
    assert Path("labels.jsonl").read_bytes() == before
    assert keys("y\n", "--n", 1, "--metric", "self_distinctness").code == 0


def test_several_metrics_are_told_apart(keys) -> None:
    said = keys("y\n" * 6, "--n", 6, "--metric", "all")

    assert said.code == 0
    assert "Does it say something that no other sentence says?" in said.out
    told = said.out.split("You and the judge")[1]
    assert {"Grounded", "No"} <= {line.split(" ")[0] for line in told.splitlines() if line.strip()}
