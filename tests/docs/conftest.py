"""A folder as a reader of the docs has it: the cases of the quick start, and a run of them in a store."""

from pathlib import Path

import pytest

from in_process_pool import InProcess
from ragtriage import FakeJudge, Verdict, open_cases, open_store, thresholds_with
from ragtriage.core.files import folder_at
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import Answer, Component
from ragtriage.execution.coordinator import Coordinator
from ragtriage.execution.evaluate_file import evaluate_file
from ragtriage.execution.execute import execute
from ragtriage.execution.worker import Job, checked_versions
from ragtriage.judges.wrappers.cached import InMemory
from ragtriage.metrics import THELMA
from ragtriage.runs.cutting import survey
from ragtriage.runs.evaluation_config import EvaluationConfig, to_stored
from ragtriage.runs.manifest import Manifest, ReadOptions, parts_digest
from ragtriage.runs.selection import ALL_ROWS

DOCS = Path(__file__).parents[2] / "docs"
QUICKSTART = DOCS / "quickstart.md"


def answer(question: Question) -> Answer:
    """Whole texts as components; nothing repeats or declines, the meal isn't supported, all else is yes."""
    if question.kind in DECOMPOSITIONS:
        return (Component(question.subject, (0, len(question.subject))),)
    no = question.kind in {"similarity", "declines"} or "meal" in question.subject
    return Verdict("no" if no else "yes", 0.0 if no else 1.0, 1.0)


def jsonl(page: Path) -> str:
    """The first rows that a page shows."""
    return page.read_text(encoding="utf-8").split("```jsonl\n")[1].split("```")[0]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The present folder, with `answers.jsonl`, run 1 of it in `.ragtriage`, and the rows of a test set."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGTRIAGE_STORE", raising=False)
    rows = jsonl(QUICKSTART)
    Path("answers.jsonl").write_text(rows, encoding="utf-8")
    Path("rows.jsonl").write_text(jsonl(DOCS / "testsets.md"), encoding="utf-8")
    config = EvaluationConfig(THELMA, thresholds_with({}))
    with open_store() as store:
        result = evaluate_file(open_cases("answers.jsonl"), FakeJudge(answer), store, config)
        assert result.first.tally.summary().cases == len(rows.splitlines())
    _in_folder(config)
    return tmp_path


def _in_folder(config: EvaluationConfig) -> None:
    """The same cases as the run in the folder `run-42`."""
    names, found = tuple(m.name for m in config.metrics), survey(["answers.jsonl"], ReadOptions())
    manifest = Manifest(
        inputs=("answers.jsonl",),
        input_digest=parts_digest(found.plan),
        metrics=names,
        judge="fake",
        fingerprints={},
        configuration=to_stored(config, ALL_ROWS, {}),
        versions=checked_versions(),
        files=found.files,
        plan=found.plan,
        rows=found.rows,
        texts=False,
    )
    job = Job(folder_at("run-42").address, manifest, lambda: FakeJudge(answer), names, config.thresholds)
    assert execute(job, "run-42", lambda folder, _: InProcess(job, Coordinator(InMemory(), folder))).complete
