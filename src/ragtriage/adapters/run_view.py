"""A stored run in a notebook: what `ragtriage show`, `compare` and `report` say of it; its claims as rows."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from ragtriage.config import find_settings
from ragtriage.core.case import Record
from ragtriage.core.metric import Metric
from ragtriage.core.steps import Match, Step
from ragtriage.core.verdicts import Cell, Component, Failure, Verdict, Verdicts, chance_of
from ragtriage.planning.levels import plan
from ragtriage.report.case_document import case_document
from ragtriage.report.case_report import case_report, listed_case
from ragtriage.report.comparison_document import comparison_document
from ragtriage.report.document import Document
from ragtriage.report.run_document import cases_document, run_document
from ragtriage.report.run_page import write_run_page
from ragtriage.report.run_report import RunReport, stored_run_report
from ragtriage.report.terminal import print_document
from ragtriage.runs.compare.compare import Chosen, CompareOptions, choose_side, compare_chosen
from ragtriage.runs.compare.comparison import Comparison
from ragtriage.runs.evaluation_config import EvaluationConfig, config_of
from ragtriage.runs.run import Run
from ragtriage.runs.tally import diagnosed_records, tally_of
from ragtriage.store import Store, open_store, project_meant

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = (
    "id", "step", "metrics", "unit", "of", "number", "text", "start", "end", "source", "source_id", "remark",
    "relation", "against", "value", "chance", "sure", "contradicted", "flag", "explanation",
)  # fmt: skip


def claim_rows(
    records: Iterable[Record], steps: Sequence[Step], metrics: Sequence[Metric]
) -> Iterator[Mapping[str, Any]]:
    """A row for each verdict on a component, and one for each component without any, in the order of the text.

    Its columns: `id` of the case; `step`, what was asked, and the `metrics` that count it; the component: its `unit`
    (claims, facts, questions, …), what it is a part `of`, its `number` from 1 there, its `text`, where that stands
    (`start`, `end`: characters from 0; of a fact in its `source`, counted from 1, with its `source_id`), whether it is
    a `remark` about the answer; what was asked about it (`relation`, `against`), the verdict: `value` (yes, no,
    unknown, failed; null where nobody was asked), `chance` of yes as the scores count it, `sure`, `contradicted` (the
    evidence says otherwise), `flag` (what a check found against it), `explanation`. Against single sources the verdict
    is the one that counts.

    Args:
        records: of a run.
        steps: in the order of the plan.
        metrics: of the run.
    """
    used = {step: [m.name for m in metrics if step in m.needs.values()] for step in steps}
    for record in records:
        judged: set[tuple[Step, Component]] = set()
        for step in steps:
            if isinstance(step, Match) and (found := record.verdicts(step)):
                for row, component, cell in _judged(found):
                    judged.add((step.components, component))
                    yield _row(record, step, used[step], row, component, cell)
        for step in steps:
            for row, component in enumerate(record.components(step) or ()):
                if (step, component) not in judged:
                    yield _row(record, step, used[step], row, component, None)


def _row(record: Record, step: Step, metrics: list[str], row: int, component: Component, cell: Cell) -> dict[str, Any]:
    parts = step.components if isinstance(step, Match) else step
    listed = record.components(parts) or ()
    start, end = component.span or (None, None)
    source = component.source
    told = dict.fromkeys(COLUMNS) | {
        "id": record.case.id,
        "step": str(step),
        "metrics": metrics,
        "unit": parts.into,
        "of": parts.of,
        "number": (listed.index(component) if component in listed else row) + 1,
        "text": component.text,
        "start": start,
        "end": end,
        "remark": component.remark,
    }
    if source is not None:
        told |= {"source": source + 1, "source_id": (record.case.sources or ())[source].id}
    if isinstance(step, Match):
        told |= {"relation": step.relation, "against": step.criterion or step.against}
    if isinstance(cell, Failure):
        told |= {"value": "failed", "explanation": cell.cause}
    if isinstance(cell, Verdict) and isinstance(step, Match):
        names = ("value", "sure", "contradicted", "flag", "explanation")
        told |= {name: getattr(cell, name) for name in names} | {"chance": chance_of(cell)}
    return told


def _judged(found: Verdicts) -> Iterator[tuple[int, Component, Cell]]:
    """Each component that was asked about, with the cell that counts."""
    for row, (component, cell) in enumerate(zip(found.components, found.best(), strict=True)):
        if cell is not None:
            yield row, component, cell


WIDTH = 100
"""Characters of a line in a notebook."""
MOST_CASES = 10
"""Cases that a run shows, the worst."""
_FRAME = (
    '<pre style="white-space: pre; overflow-x: auto; font-size: 13px; line-height: 1.35; font-family: Menlo, Consolas, '
    '\'DejaVu Sans Mono\', monospace"><code style="font-family: inherit">{code}</code></pre>'
)


def open_run(run: int | str = "last", *, store: str | Path | None = None, project: str | None = None) -> RunView:
    """A stored run to look at.

    Args:
        run: its number, or `last`: the newest that a command or `ragtriage.pandas.evaluate` made.
        store: as for `open_store`; that of the settings if None.
        project: whose last run is meant; as for `ragtriage show` if None.

    Raises:
        NotStoredError: there is no such run, or no store; says which there are.
        StoreError: the store can't be read.
    """
    settings = find_settings(Path.cwd())
    where = settings.store if store is None else store
    there = open_store(where, create=False, project=project_meant(project or settings.project, where))
    return RunView(there, there.run(run))


@dataclass(frozen=True, slots=True, repr=False)
class RunView:
    """A stored run; a notebook shows its numbers and its worst cases."""

    _store: Store
    stored: Run

    @property
    def number(self) -> int:
        """What `ragtriage show` takes."""
        return self.stored.number

    def report(self, path: str | Path = "report.html") -> Path:
        """Write the run as one HTML file that loads nothing; returns where."""
        to = Path(path)
        write_run_page(to, self._report(), partial(diagnosed_records, self.stored, self._config))
        return to

    def claims(self) -> DataFrame:
        """A row for each verdict on a claim, a fact or another component: see `ragtriage.adapters.run_view`.

        Needs pandas.
        """
        from pandas import DataFrame as Frame  # noqa: PLC0415  # the user's own

        config = self._config
        steps = plan(config.metrics, config.diagnosis_steps).steps
        return Frame(claim_rows(self.stored.records(), steps, config.metrics), columns=list(COLUMNS))

    def case(self, case_id: str) -> CaseView:
        """One case in full; a NotStoredError says which ids are near."""
        return CaseView(self.stored.record(case_id), self._config)

    def compare(self, base: int | str) -> ComparisonView:
        """Hold this run against an older one, case by case; see `ragtriage compare` for what is raised."""
        older, newer = choose_side(self._store, str(base)), Chosen((self.stored,))
        return ComparisonView(compare_chosen(older, newer, self._config, CompareOptions()))

    def __repr__(self) -> str:
        info = self.stored.info
        return f"<run {info.number}: {info.input}, {info.done + info.failed} cases, judged by {info.judge}>"

    def _repr_html_(self) -> str:
        config = self._config
        rows = (listed_case(record, findings, config) for record, findings in diagnosed_records(self.stored, config))
        worst = cases_document(rows, config, MOST_CASES, WIDTH)
        return as_html([*run_document(self._report(), WIDTH)], [*worst])

    @property
    def _config(self) -> EvaluationConfig:
        return config_of(self.stored.info)

    def _report(self) -> RunReport:
        return stored_run_report(self.stored, self._config, tally_of(self.stored, self._config))


@dataclass(frozen=True, slots=True, repr=False)
class CaseView:
    """One case; a notebook shows its texts with what is wrong in them."""

    record: Record
    _config: EvaluationConfig

    def __repr__(self) -> str:
        return str(self.record)

    def _repr_html_(self) -> str:
        own = self._config
        return as_html([*case_document(case_report(self.record, own.diagnose(self.record), own), WIDTH)])


@dataclass(frozen=True, slots=True, repr=False)
class ComparisonView:
    """Two runs, compared; a notebook shows what became better and worse."""

    found: Comparison

    def __repr__(self) -> str:
        return _printed([*comparison_document(self.found, WIDTH)]).export_text()

    def _repr_html_(self) -> str:
        return as_html([*comparison_document(self.found, WIDTH)])


def as_html(*documents: Document) -> str:
    """Documents as the terminal shows them, as HTML that brings its own colours."""
    return _printed(*documents).export_html(inline_styles=True, code_format=_FRAME)


def _printed(*documents: Document) -> Console:
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, force_jupyter=False, color_system="truecolor"
    )
    for document in documents:
        print_document(console, document)
        console.print()
    return console
