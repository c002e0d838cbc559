"""`compare` and `evaluate` against an earlier run: which is the base, flags before settings, gates that can't tell."""

import shutil
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest

from cli_rows import written
from compared_runs import answers, store_run
from in_process import Said

Command = Callable[..., Said]
BAD = tuple(range(3, 20))
FALLS = ("--fail-if-worse", "groundedness=0.03")


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of the same 40 questions, the second with worse answers, and their files."""
    folder = tmp_path_factory.mktemp("two")
    with chdir(folder):
        store_run(answers(40, topic=lambda i: f"t{i % 2}", doc=lambda i: f"d{i % 10}"), "v1.jsonl")
        store_run(answers(40, BAD, topic=lambda i: f"t{i % 2}", doc=lambda i: f"d{i % 10}"), "v2.jsonl")
    return folder


@pytest.fixture
def two(command: Command, two_runs: Path) -> Command:
    """The command in a folder of its own with two runs."""
    shutil.copytree(two_runs, Path(), dirs_exist_ok=True)
    return command


@pytest.mark.parametrize("width", [80, 100])
def test_no_line_is_wider_than_the_terminal(two: Command, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    said = two("compare", "--by", "topic", *FALLS)

    assert max(map(len, said.out.splitlines())) <= width
    assert "Grounded" in said.out
    assert "95 % interval" in said.out


def test_the_base_is_the_newest_complete_run_that_shares_half_of_the_cases(two: Command) -> None:
    store_run([{**row, "id": f"x{i}", "question": f"Else {i}?"} for i, row in enumerate(answers(40))], "else.jsonl")
    alone = two("compare")
    assert alone.code == 2
    assert "no complete run before run 3 shares half of its cases" in alone.err
    store_run(answers(25), "subset.jsonl")
    assert two("compare", "--json").json["base"]["runs"] == [2]


def test_an_id_that_is_no_text_for_a_terminal_is_shown_harmless(command: Command) -> None:
    odd = "a|<b>\x1b[31m" + "x" * 5000
    for file, bad in (("v1.jsonl", ()), ("v2.jsonl", (0,))):
        rows = answers(12, bad)
        rows[0]["id"] = odd
        store_run(rows, file)
    said = command("compare")

    assert "\x1b" not in said.out
    assert "a|<b>�[31mxxx" in said.out
    assert max(map(len, said.out.splitlines())) <= 200


def test_settings_name_the_base_and_the_gates_and_flags_go_first(two: Command) -> None:
    Path("ragtriage.toml").write_text(
        'baseline = "1"\n[fail_if_worse]\ngroundedness = 0.03\n[at_most]\nunsupported_claims = 0.9\n', encoding="utf-8"
    )
    assert two("compare").code == 1
    assert two("compare", "--fail-if-worse", "groundedness=0.5").code == 0


def tickets(wrong: int = 0) -> list[dict[str, object]]:
    """A dozen rows, of which the first few claim what no source says."""
    free = "It includes a free lunch on board."
    return [
        {"id": f"t{i}", "question": f"What does a ticket for zone {i} cost?",
         "contexts": [f"A ticket for zone {i} costs {i + 3} euros."],
         "answer": f"A ticket for zone {i} costs {i + 3} euros.{' ' + free if i < wrong else ''}"}
        for i in range(12)
    ]  # fmt: skip


@pytest.fixture
def evaluated(command: Command) -> Command:
    """A dozen answers, evaluated by the embedded judge, and a file of them that are all wrong."""
    written(Path("v1.jsonl"), tickets())
    written(Path("v3.jsonl"), tickets(12))
    assert command("evaluate", "v1.jsonl").code == 0
    return command


def test_evaluate_gates_the_expected_number_by_itself_and_against_a_baseline(evaluated: Command) -> None:
    strict, loose = "unsupported_claims:expected=2%", "unsupported_claims:expected=95%"
    files = "--baseline", "1", "--junit", "rag.xml", "--markdown", "rag.md"
    against = evaluated("evaluate", "v3.jsonl", "--at-most", strict, *files)
    assert against.code == 1
    assert "are expected to have unsupported_claims" in Path("rag.xml").read_text(encoding="utf-8")
    assert "| expected |" in Path("rag.md").read_text(encoding="utf-8")
    Path("ragtriage.toml").write_text('[at_most]\n"unsupported_claims:expected" = 0.02\n', encoding="utf-8")
    alone = evaluated("evaluate", "v3.jsonl")
    assert alone.code == 1
    assert "of 12 cases are expected to have unsupported_claims, about " in alone.err
    assert "Compared with" not in alone.out  # with a run of the same rows, which nothing changed since
    assert evaluated("evaluate", "v3.jsonl", "--at-most", loose).code == 0


def test_an_expected_number_that_can_not_tell_warns_or_fails(evaluated: Command) -> None:
    flags = "evaluate", "v1.jsonl", "--at-most", "unsupported_claims:expected=0%"
    warned = evaluated(*flags)
    assert warned.code == 0
    assert "gate: can't tell whether too many have unsupported_claims" in warned.err
    assert evaluated(*flags, "--cant-tell", "fail").code == 1
