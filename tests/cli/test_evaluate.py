"""`ragtriage evaluate` through the console script, with the embedded judge, on very few rows."""

import json
import re
from pathlib import Path

import pytest

from cli_rows import RUN_KEYS, row, written
from ragtriage.metrics import THELMA

LEAN = ("--metrics", "self_distinctness")
KEYS = {"better", "mean", "low", "high", "n", "undefined", "failed"}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return written(tmp_path / "rows.jsonl", [row(i) for i in range(4)])


def test_the_whole_path_from_a_file_to_a_report(process, tmp_path: Path, rows: Path) -> None:
    said = process("evaluate", rows.name)

    assert said.code == 0
    assert "query ← question" in said.err
    assert "new run 1\n" in said.err
    assert "report: .ragtriage/run-1.html" in said.err
    assert all(m.title in said.out for m in THELMA)
    assert "ragtriage show 1" in said.out
    assert (tmp_path / ".ragtriage" / "run-1.html").read_text(encoding="utf-8").startswith("<!")
    assert (tmp_path / ".ragtriage" / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_json_is_one_object_of_the_stable_shape_and_nothing_else(process, rows: Path) -> None:
    said = process("evaluate", rows.name, "--json")

    assert said.code == 0
    assert said.out.count("\n") == 1
    found = json.loads(said.out, parse_constant=pytest.fail)
    assert list(found) == RUN_KEYS
    assert (found["run"], found["cases"]) == (1, 4)
    assert list(found["metrics"]) == [m.name for m in THELMA]
    for name, numbers in found["metrics"].items():
        assert set(numbers) == KEYS | ({"sampling"} if name != "self_distinctness" else set())  # which has no chances
        assert numbers["low"] <= numbers["mean"] <= numbers["high"]
        assert numbers["n"] + sum(numbers["undefined"].values()) + numbers["failed"] == 4
    assert sum(found["diagnosis"].values()) == 4


def test_rows_come_from_standard_input(process) -> None:
    said = process(
        "evaluate",
        "-",
        "--json",
        *LEAN,
        "--sample",
        2,
        stdin="".join(json.dumps(row(i)) + "\n" for i in range(3)),
    )

    assert (said.code, said.json["cases"]) == (0, 2)


def test_an_empty_standard_input_exits_with_2(process) -> None:
    said = process("evaluate", "-", "--json")

    assert said.code == 2
    assert "Traceback" not in said.err


def test_the_same_again_makes_a_new_run_and_says_how_many_rows_changed(command, tmp_path: Path, rows: Path) -> None:
    args = ("evaluate", rows.name, "--json", *LEAN)

    assert re.search(r"^new run 1$", command(*args).err, re.MULTILINE)
    assert "new run 2: 0 rows changed since run 1\n" in command(*args).err
    written(rows, [row(0), row(1, answer="No."), row(2, contexts=["Else."]), row(3)])
    assert "new run 3: 2 rows changed since run 2\n" in command(*args).err
    written(rows, [row(0), row(1, answer="No."), row(2, contexts=["Else."]), row(3), row(4)])
    assert "new run 4: 1 row changed since run 3\n" in command(*args).err
    assert [info["number"] for info in command("runs", "--json").json] == [4, 3, 2, 1]


def test_limit_takes_the_first_rows_and_sample_the_same_random_ones_in_any_order(command, rows: Path) -> None:
    def chosen(*flags: object) -> list[str]:
        assert command("evaluate", rows.name, "--json", *LEAN, *flags).code == 0
        command("export", "-o", "out.jsonl")
        return [json.loads(line)["id"] for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines()]

    written(rows, [row(i) for i in range(30)])
    assert chosen("--limit", 3) == ["r0", "r1", "r2"]
    assert len(chosen("--limit", 99)) == 30
    one, again, other = (set(chosen("--sample", 8, "--seed", seed)) for seed in (1, 1, 2))
    written(rows, [row(i) for i in reversed(range(30))])
    turned = set(chosen("--sample", 8, "--seed", 1))

    assert one == again == turned
    assert len(one) == 8
    assert one != other
    assert len(chosen("--sample", 99)) == 30


def test_a_gate_that_fails_exits_with_1_after_everything_was_printed(command, rows: Path) -> None:
    written(rows, [row(0, answer="It costs 3. It costs 3. It costs 3.")])

    failed = command("evaluate", rows.name, "--json", *LEAN, "--fail-below", "self_distinctness=0.5")
    passed = command("evaluate", rows.name, "--json", *LEAN, "--fail-below", "self_distinctness=0")

    assert (failed.code, failed.json["cases"]) == (1, 1)
    assert "gate failed: mean self_distinctness is 0.000, at least 0.5 was asked for\n" in failed.err
    assert (passed.code, passed.json["run"]) == (0, 2)


def test_a_gate_on_a_mean_that_is_undefined_fails(command, rows: Path) -> None:
    written(rows, [row(0, answer="")])

    said = command("evaluate", rows.name, "--json", *LEAN, "--fail-below", "self_distinctness=0.5")

    assert said.code == 1
    assert "self_distinctness is undefined on every case" in said.err


def test_an_incomplete_run_comes_before_a_failed_gate(command, rows: Path) -> None:
    written(rows, [row(0, answer="It costs 3. It costs 3."), row(1, question=3)])

    said = command("evaluate", rows.name, "--json", *LEAN, "--fail-below", "self_distinctness=0.5")

    assert said.code == 3
    assert "gate failed" in said.err


def test_a_gate_may_stand_in_the_settings_and_a_flag_comes_before_it(command, rows: Path) -> None:
    written(rows, [row(0, answer="It costs 3. It costs 3.")])
    Path("ragtriage.toml").write_text("[fail_below]\nself_distinctness = 0.9", encoding="utf-8")

    assert command("evaluate", rows.name, "--json", *LEAN).code == 1
    assert command("evaluate", rows.name, "--json", *LEAN, "--fail-below", "self_distinctness=0").code == 0


def test_slices_are_shown_by_a_tag(command, rows: Path) -> None:
    said = command("evaluate", rows.name, *LEAN, "--by", "topic")

    assert said.code == 0
    assert re.search(r"^even +2 ", said.out, re.MULTILINE)
    assert re.search(r"^odd +2 ", said.out, re.MULTILINE)


def test_the_report_goes_where_it_is_told_to(command, rows: Path) -> None:
    said = command("evaluate", rows.name, "--json", *LEAN, "--report", "out/report.html")

    assert said.code == 0
    assert Path("out/report.html").is_file()
    assert not Path(".ragtriage/run-1.html").exists()


def test_a_store_named_in_the_settings_is_read_by_the_other_commands_as_well(command, rows: Path) -> None:
    Path("pyproject.toml").write_text('[tool.ragtriage]\nstore = "kept"', encoding="utf-8")

    assert command("evaluate", rows.name, "--json", *LEAN).code == 0

    assert Path("kept/runs.sqlite").is_file()
    assert command("show", "--json").json["cases"] == 4
    assert "4 of 4 cases" in command("runs").out
    assert command("export", "-o", "out.csv").code == 0
    assert command("report").out.strip() == str(Path.cwd() / "kept/run-1.html")


def test_citations_from_a_file_to_a_case_and_an_export(command, tmp_path: Path) -> None:
    cited = [row(i, answer=f"Ticket {i} costs {i + 3} euros (source 1). It flies (source 9).") for i in range(2)]
    written(tmp_path / "rows.jsonl", [*cited, row(2)])
    (tmp_path / "ragtriage.toml").write_text("citation_mark = '\\[never (\\d)\\]'", encoding="utf-8")
    mark = ("--citation-mark", r"\(source (\d+)\)")

    found = command("evaluate", "rows.jsonl", "--metrics", "citations", *mark, "--matching", "binary", "--json").json
    planned = command("plan", "rows.jsonl", "--metrics", "citations", *mark, "--json").json
    unmarked = command("evaluate", "rows.jsonl", "--metrics", "citations", "--json").json
    shown = command("show", 1, "r1").out
    command("export", 1, "-o", "out.jsonl")

    assert found["citing"] == {"responses": 3, "cite": 2}
    assert unmarked["citing"] == {"responses": 3, "cite": 0}
    assert found["metrics"]["citation_groundedness"]["mean"] == 0.5
    assert planned["remembered"] > 0
    assert "Ticket 1 costs 4 euros. [1] – supported by what it cites" in " ".join(shown.split())
    segments = json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()[0])["segments"]
    assert [segment["kind"] for segment in segments] == [None, "dangling"]


def test_a_wrong_citation_mark_is_told_in_a_sentence(command, rows: Path) -> None:
    said = command("evaluate", rows.name, "--citation-mark", "(")

    assert said.code == 2
    assert said.err.startswith("ragtriage: the citation mark '(' is no regular expression: ")


def test_how_verdicts_count_is_kept_with_the_run_and_shown(command, tmp_path: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(i) for i in range(2)])
    evaluate = ("evaluate", "rows.jsonl", "--metrics", "groundedness")

    plain = command(*evaluate)
    counted = command(*evaluate, "--base-rate", "supported=0.9", "--matching", "binary")

    assert "judged by embedded ·" in plain.out
    assert "judged by embedded (supported at 0.9, binary)" in counted.out
    assert "judged by embedded (supported at 0.9, binary)" in " ".join(command("show", 2).out.split())
    assert command("show", 2, "--json").json["counting"] == "supported at 0.9, binary"
    assert "counting" not in command("show", 1, "--json").json
