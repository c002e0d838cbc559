"""`ragtriage plan`: numbers before anything is asked, and nothing left behind."""

import io
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from cli_rows import row, written
from ragtriage import Component, FakeJudge, Verdict, metrics_named, open_cases, open_store, thresholds_with
from ragtriage.core.errors import Stopped
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import Answer
from ragtriage.evaluation.estimate import EvaluationEstimate
from ragtriage.execution.estimate import MOST_SAMPLED, estimate_file
from ragtriage.execution.evaluate_file import evaluate_file
from ragtriage.judges.protocol import Estimate
from ragtriage.judges.wrappers.cached import Cached
from ragtriage.report.plan_document import duration, money, plan_document, requests_and_price
from ragtriage.report.terminal import print_document
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.store import open_answers

LEAN = ("--metrics", "self_distinctness")
CONFIG = EvaluationConfig(metrics_named(["groundedness", "response_precision"]), thresholds_with({}), ())
MODEL = ("--judge", "openai:some-model", "--base-url", "http://127.0.0.1:9/v1")
"""Nothing listens there."""


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return written(tmp_path / "rows.jsonl", [row(i) for i in range(4)])


def agreeable(question: Question) -> Answer:
    if question.kind in DECOMPOSITIONS:
        return (Component(question.subject, (0, len(question.subject))),)
    return Verdict("no", 0.1, 0.9)


def test_a_plan_needs_neither_a_key_nor_the_providers_package(command, rows: Path, monkeypatch) -> None:
    for package in ("pydantic_ai", "openai", "anthropic", "google.genai"):
        monkeypatch.setitem(sys.modules, package, None)
    asked = {"openai:gpt-5-mini": ["plan"], "anthropic:claude-haiku-4-5": ["plan"]}
    for judge, words in {**asked, "google:gemini-2.5-flash": ["trust", "test", "--dry-run"]}.items():
        said = command(*words, rows.name, "--judge", judge, "--limit", 1)
        assert (said.code, "$" in said.out) == (0, True), said.err
    assert [path.name for path in Path().iterdir()] == [rows.name]


def test_what_prompt_caching_saves_is_said_of_the_protocol_by_which_a_model_is_asked(command, rows: Path) -> None:
    paper = " ".join(command("plan", rows.name, *MODEL, "--protocol", "paper").out.split())
    written(rows, [row(i, answer="It floats. It is red.") for i in range(4)])
    embeddings = command("plan", rows.name, "--embeddings", "openai:e", "--base-url", "http://127.0.0.1:9/v1")
    beside = " ".join(embeddings.out.split())

    assert "sent once" not in paper
    assert (
        "The paper's protocol sends the sources again with every claim, so where the provider caches the beginning of "
        "prompts it can cost less."
    ) in paper
    assert "requests 1 1" in beside
    assert "caching" not in beside
    assert "a model may find more" not in beside
    assert "Requests that fail and are sent again come on top." in beside


def test_what_was_evaluated_before_is_left_out(command, rows: Path) -> None:
    command("evaluate", rows.name, "--json", *LEAN)

    done = command("plan", rows.name, *LEAN)
    more = command("plan", rows.name, *LEAN, "--json", "--limit", 1).json
    written(rows, [row(i) for i in range(5)])
    longer = command("plan", rows.name, *LEAN, "--json").json

    assert "No request is needed: every question was answered before." in done.out
    assert (more["questions"], more["remembered"]) == ({}, 1)
    assert (longer["questions"], longer["remembered"]) == ({"sentences": 1}, 4)


def test_a_large_file_is_estimated_from_a_sample_unless_all_of_it_is_asked_for(command, tmp_path: Path) -> None:
    rows = [row(i) for i in range(MOST_SAMPLED + 200)]
    written(tmp_path / "large.jsonl", rows)
    args = ("plan", "large.jsonl", *MODEL, "--metrics", "groundedness")

    exact = command(*args, "--exact", "--json").json
    sampled = command(*args, "--json").json
    shown = command(*args)
    written(tmp_path / "large.jsonl", rows[::-1])
    reversed_rows = command(*args, "--json").json

    assert exact["sampling"] is None
    assert exact["cases"] == sampled["cases"] == MOST_SAMPLED + 200
    looked_at, error = sampled["sampling"]["cases"], sampled["sampling"]["error"]
    assert looked_at <= MOST_SAMPLED
    assert sampled["most"]["tokens_in"] == pytest.approx(exact["most"]["tokens_in"], rel=error + 0.001)
    assert f"estimated from {looked_at} of {MOST_SAMPLED + 200} cases, to within" in " ".join(shown.out.split())
    assert reversed_rows == sampled


def test_rows_are_selected_as_an_evaluation_does(command, rows: Path) -> None:
    flags = ("--sample", 2, "--seed", 1)
    written(rows, [row(i, answer=" ".join("It floats." for _ in range(i + 1))) for i in range(9)])

    before = command("plan", rows.name, *LEAN, "--json", *flags).json
    command("evaluate", rows.name, *LEAN, "--json", *flags)
    after = command("plan", rows.name, *LEAN, "--json", *flags).json

    assert before["cases"] == after["cases"] == 2
    assert before["remembered"] == 0
    assert before["questions"] != {}
    assert after["questions"] == {}


def test_the_rest_of_a_run_that_stopped_is_what_is_asked_when_it_goes_on(tmp_path: Path, rows: Path) -> None:
    class Limited(FakeJudge):
        def _answer(self, question: Question) -> Answer:
            if len(self.asked) > 9:
                raise Stopped("enough")
            return super()._answer(question)

    cases = open_cases(str(rows))
    with open_store(tmp_path / "store") as store:
        stopped = evaluate_file(cases, Limited(agreeable), store, CONFIG, name="rows").first
        memory = open_answers(store.database)
        judge = Cached(FakeJudge(agreeable), memory)
        rest, counts = estimate_file(cases, [judge], CONFIG, memory=memory)
        whole = FakeJudge(agreeable)
        evaluate_file(cases, whole, store, CONFIG, name="rows")
        nothing, _ = estimate_file(cases, [judge], CONFIG, memory=memory)

    assert stopped.stopped == "enough"
    assert 0 < len(whole.asked) < 16
    assert (counts.selected, rest.least, rest.most) == (4, rest.most, whole.estimate(whole.asked))
    assert requests_and_price(rest) == f"{len(whole.asked)} requests"
    assert requests_and_price(nothing) == "no request"


ESTIMATE = EvaluationEstimate(
    cases=500,
    least=Estimate(4000, 3_100_000, 800_000, 1.1),
    most=Estimate(5500, 4_000_000, 900_000, 1.62),
    seconds=(500.0, 687.5),
    shared={"claims(response)": ("response_precision", "groundedness")},
    questions={"claims": 500},
    remembered=0,
    concurrency=16,
    seconds_per_request=2.0,
)


def shown(estimate: EvaluationEstimate, *, width: int = 100, notes: Sequence[str] = ()) -> str:
    file = io.StringIO()
    told = plan_document(estimate, input="cases.jsonl", judge="openai:x", notes=notes)
    print_document(Console(file=file, width=width), told)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def test_a_person_reads_a_table() -> None:
    assert shown(ESTIMATE, notes=["So it is."]) == (
        "plan of cases.jsonl · 500 cases · openai:x\n"
        "\n"
        "                at least    at most\n"
        "requests           4,000      5,500\n"
        "prompt tokens  3,100,000  4,000,000\n"
        "reply tokens     800,000    900,000\n"
        "price              $1.10      $1.62\n"
        "time               9 min     12 min  at 16 in flight, 2 s a request\n"
        "shared: claims(response) by response_precision, groundedness\n"
        "Numbers of claims and facts are counted by rules; a model may find more. Requests that fail and are\n"
        "sent again come on top. Prompt caching makes it hardly cheaper: a text is sent once for all that is\n"
        "asked about it.\n"
        "So it is."
    )


def test_a_table_fits_a_narrow_terminal_and_tells_what_is_left_out_and_how_often_it_is_done() -> None:
    text = shown(replace(ESTIMATE, remembered=1, trials=5), width=50)

    assert "plan of cases.jsonl · 500 cases · openai:x · 5\n  times\n" in text
    assert "left out: 1 question was answered before\n" in text
    assert max(map(len, text.splitlines())) <= 50
    unpriced = replace(ESTIMATE, least=Estimate(1, price=None), most=Estimate(2, price=None))
    assert "price                 –        –  not known: give --price IN:OUT\n" in shown(unpriced)


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({}, "4,000 to 5,500 requests, $1.10 to $1.62"),
        ({"least": ESTIMATE.most}, "5,500 requests, $1.62"),
        ({"most": Estimate()}, "no request"),
        ({"least": Estimate(1, price=None), "most": Estimate(2, price=None)}, "1 to 2 requests"),
    ],
)
def test_requests_and_price_on_a_line(changed: dict[str, Estimate], line: str) -> None:
    assert requests_and_price(replace(ESTIMATE, **changed)) == line  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize(
    ("price", "text"),
    [(None, "not known: give --price IN:OUT"), (0.0, "free"), (0.00001, "$0.0001"), (0.0123, "$0.0123"),
     (0.1, "$0.10"), (1.1, "$1.10"), (1.101, "$1.11"), (1234.5, "$1,234.50")],
)  # fmt: skip
def test_prices_are_never_rounded_down(price: float | None, text: str) -> None:
    assert money(price) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (0.4, "1 s"), (90, "90 s"), (91, "2 min"), (3599, "60 min"), (5400, "1 h 30 min"),
     (100_000, "27 h 47 min")],
)  # fmt: skip
def test_times_are_told_in_words(seconds: float, text: str) -> None:
    assert duration(seconds) == text
