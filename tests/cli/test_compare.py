"""`compare`, `baseline`, and `evaluate` against an earlier run."""

import json
import shutil
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest

from cli_rows import written
from compared_runs import ScriptedJudge, answers, store_run
from in_process import Said
from ragtriage import Case, Record, Score, open_store
from ragtriage.runs.manifest import RunIdentity

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


def test_what_became_worse_is_shown_with_the_gate_that_fails(two: Command) -> None:
    said = two("compare", "--cluster", "doc", "--by", "topic", *FALLS)

    assert said.code == 1
    assert said.out.startswith("base run 1  v1.jsonl")
    assert "40 cases paired by id, in 10 groups by doc" in said.out
    assert "changed: query 0 · sources 0 · response 17 · judge no" in said.out
    assert "same sources, other responses: a change of prompt or generator" in said.out
    assert "▼ Grounded" in said.out
    assert "not touched: Sources needed, Facts needed, Sources answer the question" in said.out
    assert "unsupported_claims" in said.out
    assert "worse by most (of 17): " in said.out
    assert "gate failed: groundedness is worse: −0.21" in " ".join(said.out.split())
    assert "By topic" in said.out


@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_line_is_wider_than_the_terminal(two: Command, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    said = two("compare", "--by", "topic", *FALLS)

    assert max(map(len, said.out.splitlines())) <= width
    assert "Grounded" in said.out
    assert "95 % interval" in said.out


def test_json_holds_all_numbers(two: Command) -> None:
    said = two("compare", "1", "2", "--json", "--by", "topic", "--fail-if-worse", "groundedness=0.9")
    metric = said.json["metrics"]["groundedness"]

    assert said.code == 0
    assert {
        "base", "new", "difference", "low", "high", "se", "p", "p_adjusted", "how", "sees", "cases", "changed",
        "defined", "lost", "gained", "p_defined", "noise_se", "verdict", "corrected", "bounds",
    } <= metric.keys()  # fmt: skip
    assert metric["verdict"] == "worse"
    assert metric["changed"] == 17
    assert said.json["pairs"]["paired"] == 40
    assert said.json["headlines"][0][0] == ""
    assert said.json["gates"][0]["outcome"] == "no worse"
    assert set(said.json["slices"]["topic"]) == {"t0", "t1"}
    assert {"base", "new", "pairs", "changed", "findings", "left_out"} <= said.json.keys()


def test_without_gates_the_code_is_0_and_gates_on_shares_and_means_count(two: Command) -> None:
    assert two("compare").code == 0
    assert two("compare", "--at-most", "unsupported_claims=2%").code == 1
    assert two("compare", "--at-most", "unsupported_claims=90%").code == 0
    assert two("compare", "--fail-below", "groundedness=0.95").code == 1
    failing = two("compare", "--json", "--fail-below", "groundedness=0.95")
    assert "gate failed: mean groundedness is 0.7" in failing.err
    unsure = "--fail-if-worse", "groundedness=0.25"
    assert two("compare", *unsure).code == 0
    assert two("compare", *unsure, "--cant-tell", "fail").code == 1


@pytest.mark.parametrize("flag", ["--fail-below", "--fail-above", "--fail-if-worse"])
def test_a_gate_on_a_metric_that_is_not_computed_is_refused(two: Command, flag: str) -> None:
    said = two("compare", flag, "context_recall=0.9")

    assert said.code == 2
    assert f"{flag} context_recall: it isn't computed here: there is" in " ".join(said.err.split())


def test_a_side_is_runs_by_number_several_or_last(two: Command) -> None:
    store_run(answers(40, (*BAD, 22)), "v3.jsonl")
    said = two("compare", "1", "2,3", "--json")

    assert said.json["new"]["runs"] == [2, 3]
    assert said.json["new"]["trials"] == 2
    assert said.json["metrics"]["groundedness"]["noise_se"] > 0
    assert two("compare", "1", "last", "--json").json["new"]["runs"] == [3]
    assert two("compare", "3", "2", "--json").json["notes"] == ["run 3 is newer than run 2"]
    assert two("compare", "2,3", "1", "--json").json["notes"] == ["runs 2 and 3 are newer than run 1"]
    assert two("compare", "--json").json["base"]["runs"] == [2]


def test_the_base_is_the_newest_complete_run_that_shares_half_of_the_cases(two: Command) -> None:
    store_run([{**row, "id": f"x{i}", "question": f"Else {i}?"} for i, row in enumerate(answers(40))], "else.jsonl")
    alone = two("compare")
    assert alone.code == 2
    assert "no complete run before run 3 shares half of its cases" in alone.err
    store_run(answers(25), "subset.jsonl")
    assert two("compare", "--json").json["base"]["runs"] == [2]


def test_one_run_alone_has_nothing_to_compare_with(command: Command) -> None:
    store_run(answers(3))
    said = command("compare")

    assert (said.code, said.out) == (2, "")
    assert "evaluate the new version" in said.err


def test_failures_and_too_few_pairs_are_incomplete(two: Command) -> None:
    store_run([*answers(39), {**answers(40)[39], "answer": "broken; claim"}], "v3.jsonl")
    failed = two("compare", "1", "3", "--fail-if-worse", "groundedness")
    assert failed.code == 3
    assert "Not complete: run 3: scores failed on 1 case" in failed.out
    store_run(answers(10, range(10)), "v4.jsonl")
    few = two("compare", "1", "4", "--fail-if-worse", "groundedness")
    assert few.code == 3
    assert "only 10 of the base side's 40 cases are paired" in " ".join(few.out.split())
    assert two("compare", "1", "4", "--fail-if-worse", "groundedness", "--min-paired", "20%").code == 1


def test_a_run_that_is_not_finished_is_incomplete(two: Command) -> None:
    cases = [Case(id=f"q{i}", query=f"What about {i}?", response="Claim") for i in range(40)]
    with open_store(".ragtriage") as store:
        identity = RunIdentity("0" * 32, ("groundedness",), store.run(1).info.fingerprints)
        with store.begin(identity, input="v3.jsonl", rows=40, judge="embedded") as run:
            for case in run.todo(cases[:38]):
                run.keep(Record(case, {}, {"groundedness": Score(0.0, 1)}))
    said = two("compare", "1", "3", "--fail-if-worse", "groundedness")

    assert said.code == 3
    assert "Not complete: run 3 isn't finished: 38 of 40 cases" in said.out
    assert "gate failed" in said.out
    assert two("compare", "--json").json["base"]["runs"] == [2]
    assert two("baseline", "3").code == 3


def test_another_judge_is_an_error_and_one_other_prompt_spoils_its_metrics_only(two: Command) -> None:
    store_run(answers(40, BAD), "v3.jsonl", judge=ScriptedJudge(("supported",)))
    said = two("compare", "2", "3")
    assert said.code == 0
    assert "Grounded: judged differently: the judge differs in supported" in " ".join(said.out.split())
    store_run(answers(40, BAD), "v4.jsonl", judge=ScriptedJudge(name="other"))
    refused = two("compare", "2", "4")
    assert refused.code == 2
    assert "were judged differently" in refused.err
    across = two("compare", "2", "4", "--across-judges", "--fail-if-worse", "groundedness", "--json")
    assert across.code == 0
    assert across.json["gates"] == []
    assert across.json["changed"]["reading"] == "the application is the same: any difference is the judge's"


def test_texts_that_were_deleted_leave_what_changed_unknown(two: Command) -> None:
    two("forget", "1", "--yes")
    said = two("compare", "1", "2", "--json")

    assert said.code == 0
    assert said.json["changed"]["unknown"] == 40
    assert said.json["metrics"]["groundedness"]["verdict"] == "worse"


def test_rows_without_ids_are_paired_by_the_question(command: Command) -> None:
    for file, rows in (("v1.jsonl", answers(12)), ("v2.jsonl", answers(12, range(8))[::-1])):
        store_run([{k: v for k, v in row.items() if k != "id"} for row in rows], file)
    said = command("compare", "--json")

    assert said.json["pairs"] | {"by": "query", "paired": 12, "only_base": 0} == said.json["pairs"]
    assert said.json["metrics"]["groundedness"]["changed"] == 8


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


def test_a_baseline_is_written_and_compared_with(two: Command) -> None:
    wrote = two("baseline", "1", "-o", "base.json", "--tags", "topic,doc")
    assert (wrote.code, wrote.out) == (0, "base.json\n")
    said = two("compare", "base.json", "--cluster", "doc", *FALLS)
    assert said.code == 1
    assert said.out.startswith("base baseline base.json  v1.jsonl")
    assert "▼ Grounded" in said.out
    assert two("baseline", "1", "--tags", "topics").code == 2
    assert two("compare", "base.json", "--threshold", "groundedness=0.5").code == 2
    assert two("baseline", "1", "-o", ".").code == 2


def test_two_files_are_compared_without_a_store(two: Command, tmp_path: Path) -> None:
    for run in ("1", "2"):
        assert two("baseline", run, "-o", f"{run}.json").code == 0
    (tmp_path / ".ragtriage").rename(tmp_path / "elsewhere")
    said = two("compare", "1.json", "2.json", *FALLS)

    assert said.code == 1
    assert "new  baseline 2.json" in said.out
    assert "▼ unsupported_claims" in said.out
    assert two("compare", "1.json").code == 2


def test_settings_name_the_base_and_the_gates_and_flags_go_first(two: Command) -> None:
    Path("ragtriage.toml").write_text(
        'baseline = "1"\n[fail_if_worse]\ngroundedness = 0.03\n[at_most]\nunsupported_claims = 0.9\n', encoding="utf-8"
    )
    assert two("compare").code == 1
    assert two("compare", "--fail-if-worse", "groundedness=0.5").code == 0
    Path("ragtriage.toml").write_text("[at_most]\nunsupported_claim = 0.9\n", encoding="utf-8")
    assert "did you mean unsupported_claims?" in two("compare").err


@pytest.fixture
def evaluated(command: Command) -> Command:
    """A dozen answers, evaluated by the embedded judge."""
    written(Path("v1.jsonl"), tickets())
    written(Path("v2.jsonl"), tickets(3))
    written(Path("v3.jsonl"), tickets(12))
    assert command("evaluate", "v1.jsonl").code == 0
    return command


def tickets(wrong: int = 0) -> list[dict[str, object]]:
    """A dozen rows, of which the first few claim what no source says."""
    free = "It includes a free lunch on board."
    return [
        {"id": f"t{i}", "question": f"What does a ticket for zone {i} cost?",
         "contexts": [f"A ticket for zone {i} costs {i + 3} euros."],
         "answer": f"A ticket for zone {i} costs {i + 3} euros.{' ' + free if i < wrong else ''}"}
        for i in range(12)
    ]  # fmt: skip


def test_evaluate_ends_with_what_changed_since_the_run_before(evaluated: Command) -> None:
    said = evaluated("evaluate", "v2.jsonl")
    assert said.code == 0
    assert "Compared with run 1: 12 cases, 3 responses changed" in said.out
    for word in ("▲ better: ", "▼ worse: ", "can't tell: "):
        assert word in said.out
    assert "more: ragtriage compare 1 2" in said.out
    again = evaluated("evaluate", "v2.jsonl")
    assert "Compared with" not in again.out
    assert "comparison" not in evaluated("evaluate", "v3.jsonl", "--json").json


def test_evaluate_is_held_against_a_baseline(evaluated: Command) -> None:
    assert evaluated("baseline").code == 0
    worse = evaluated("evaluate", "v3.jsonl", "--baseline", "ragtriage-baseline.json", *FALLS, "--json")
    assert worse.code == 1
    assert "gate failed: groundedness is worse: −0." in worse.err
    assert worse.json["comparison"]["metrics"]["groundedness"]["verdict"] == "worse"
    unsure = evaluated("evaluate", "v2.jsonl", "--baseline", "1", *FALLS)
    assert unsure.code == 0
    assert "gate: can't tell whether groundedness is worse by more than 0.03" in unsure.err
    assert evaluated("evaluate", "v3.jsonl", "--at-most", "unsupported_claims=2%").code in {0, 1}


def test_evaluate_gates_the_expected_number_by_itself_and_against_a_baseline(evaluated: Command) -> None:
    strict, loose = "unsupported_claims:expected=2%", "unsupported_claims:expected=95%"
    alone = evaluated("evaluate", "v3.jsonl", "--at-most", strict)
    assert alone.code == 1
    assert "of 12 cases are expected to have unsupported_claims, about " in alone.err
    assert evaluated("evaluate", "v3.jsonl", "--at-most", loose).code == 0
    files = "--baseline", "1", "--junit", "rag.xml", "--markdown", "rag.md"
    assert evaluated("evaluate", "v3.jsonl", "--at-most", strict, *files).code == 1
    assert "are expected to have unsupported_claims" in Path("rag.xml").read_text(encoding="utf-8")
    assert "| expected |" in Path("rag.md").read_text(encoding="utf-8")
    Path("ragtriage.toml").write_text('[at_most]\n"unsupported_claims:expected" = 0.02\n', encoding="utf-8")
    assert evaluated("evaluate", "v3.jsonl").code == 1
    assert evaluated("evaluate", "v3.jsonl", "--at-most", loose).code == 0


def test_an_expected_number_that_can_not_tell_warns_or_fails(evaluated: Command) -> None:
    flags = "evaluate", "v1.jsonl", "--at-most", "unsupported_claims:expected=0%"
    warned = evaluated(*flags)
    assert warned.code == 0
    assert "gate: can't tell whether too many have unsupported_claims" in warned.err
    assert evaluated(*flags, "--cant-tell", "fail").code == 1


def test_what_is_wrong_with_a_gate_is_said_before_anything_is_judged(evaluated: Command) -> None:
    wrong = (
        FALLS,
        ("--baseline", "nothing.json"),
        ("--baseline", "99"),
        ("--baseline", "1", "--fail-if-worse", "x"),
        ("--at-most", "unsupported_claim=2%"),
        ("--baseline", "1", "--fail-if-worse", "groundedness=nan"),
    )
    for flags in wrong:
        said = evaluated("evaluate", "v2.jsonl", *flags)
        assert (said.code, said.out) == (2, ""), flags
    assert len(json.loads(evaluated("runs", "--json").out)) == 1


def test_evaluate_writes_the_same_gates_as_its_exit_code(evaluated: Command) -> None:
    files = "--markdown", "out/rag.md", "--junit", "rag.xml"
    said = evaluated("evaluate", "v3.jsonl", "--baseline", "1", "--fail-below", "groundedness=0.9", *files)

    assert said.code == 1
    assert said.err.count("gate failed: ") == 1
    assert "### ragtriage: ❌ mean groundedness is too low" in Path("out/rag.md").read_text("utf-8")
    assert 'tests="1" failures="1"' in Path("rag.xml").read_text("utf-8")
    alone = evaluated("evaluate", "v2.jsonl", *files)
    assert (alone.code, alone.out) == (2, "")
    assert "--markdown, --junit: nothing to compare with: name a run or a file with --baseline" in alone.err


def test_one_comparison_is_written_to_three_files(two: Command) -> None:
    files = "--markdown", "c/rag.md", "--junit", "c/rag.xml", "--report", "c/rag.html"
    said = two("compare", *FALLS, *files, "--most", "3")
    markdown, junit, page = (Path(path).read_text("utf-8") for path in files[1::2])

    assert said.code == 1
    assert "### ragtriage: ❌ groundedness is worse" in markdown
    assert 'failures="1"' in junit
    assert "✗ groundedness is worse</h1>" in page
    assert "<del>good</del>" in page
    assert "good claim" not in markdown + junit
    assert two("compare", *FALLS, *files, "--quote").code == 1
    assert "good claim" in Path("c/rag.md").read_text("utf-8")
    assert two("compare", *FALLS, "--markdown", "c/rag.md", "--junit", "c/../c/rag.md").code == 2
    for place in ("v1.jsonl/rag.md", "c", "-"):
        wrong = two("compare", "--markdown", place)
        assert (wrong.code, wrong.out) == (2, ""), place
