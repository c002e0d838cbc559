"""`ragtriage evaluate` through the console script, with the embedded judge, on very few rows."""

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

from cli_rows import row, written
from ragtriage.metrics import THELMA

LEAN = ("--metrics", "self_distinctness")


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


def test_a_mean_that_is_undefined_fails_its_gate_and_an_incomplete_run_comes_first(command, rows: Path) -> None:
    flags = ("evaluate", rows.name, "--json", *LEAN, "--fail-below", "self_distinctness=0.5")
    written(rows, [row(0, answer="")])
    undefined = command(*flags)
    written(rows, [row(0, answer="It costs 3. It costs 3."), row(1, question=3)])
    incomplete = command(*flags)

    assert (undefined.code, incomplete.code) == (1, 3)
    assert "self_distinctness is undefined on every case" in undefined.err
    assert "gate failed" in incomplete.err


def test_a_gate_may_stand_in_the_settings_and_a_flag_comes_before_it(command, rows: Path) -> None:
    written(rows, [row(0, answer="It costs 3. It costs 3.")])
    Path("ragtriage.toml").write_text("[fail_below]\nself_distinctness = 0.9", encoding="utf-8")

    assert command("evaluate", rows.name, "--json", *LEAN).code == 1
    assert command("evaluate", rows.name, "--json", *LEAN, "--fail-below", "self_distinctness=0").code == 0


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


def test_waste_is_shown_in_money_where_the_price_is_known(command, tmp_path: Path) -> None:
    lines = files("ragtriage.demo").joinpath("data", "cases.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "rows.jsonl").write_bytes(b"".join(lines[7:12]))  # among them are sources that nobody needs
    settings = tmp_path / "ragtriage.toml"
    settings.write_text("application_price = 250", encoding="utf-8")
    found = command("evaluate", "rows.jsonl", "--json").json["findings"]
    settings.unlink()  # the price is the run's
    (group, *_) = (group for group in found if group["kind"] == "waste")
    case = group["worst"][0]
    shown, shown_case = (" ".join(command("show", *what).out.split()) for what in ((), ("last", case)))
    command("report", "last", "-o", "r.html")
    page = Path("r.html").read_text(encoding="utf-8").replace("&#39;", "'")

    assert group["price"] == pytest.approx(group["tokens"] * 250 / 1_000_000)
    assert f"about {group['tokens']:,} tokens of sources that were not needed, ${group['price']:.2f}" in shown
    assert f"${group['price']:.2f} of the application's cost" in page
    ((tokens, price),) = re.findall(r"about ([\d,]+) tokens not needed, \$([\d.]+\d)", shown_case)
    assert float(price) == pytest.approx(int(tokens.replace(",", "")) * 250 / 1_000_000, abs=0.005)
    assert f"About {tokens} tokens of sources not needed, ${price} of the application's cost." in page
