"""A stored run in a notebook: what `ragtriage show`, `compare` and `report` say of it, each shown by itself."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from ragtriage.config import find_settings
from ragtriage.core.case import Record
from ragtriage.planning.levels import plan
from ragtriage.report.case_document import case_document
from ragtriage.report.case_report import case_report, listed_case
from ragtriage.report.comparison_document import comparison_document
from ragtriage.report.document import Document
from ragtriage.report.run_document import cases_document, run_document
from ragtriage.report.run_page import write_run_page
from ragtriage.report.run_report import RunReport, stored_run_report
from ragtriage.report.terminal import print_document
from ragtriage.runs.claim_rows import COLUMNS, claim_rows
from ragtriage.runs.compare.compare import Chosen, CompareOptions, choose_side, compare_chosen
from ragtriage.runs.compare.comparison import Comparison
from ragtriage.runs.evaluation_config import EvaluationConfig, config_of
from ragtriage.runs.run import Run
from ragtriage.runs.tally import diagnosed_records, tally_of
from ragtriage.store import Store, open_store, project_meant

if TYPE_CHECKING:
    from pandas import DataFrame

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
        """A row for each verdict on a claim, a fact or another component: see `ragtriage.runs.claim_rows`.

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
        limits = config.rules, config.thresholds, config.metrics
        rows = (listed_case(record, findings, *limits) for record, findings in diagnosed_records(self.stored, config))
        worst = cases_document(rows, MOST_CASES, config.metrics, WIDTH, config.rules)
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
        read_with = own.thresholds, own.metrics, own.rules, own.application_price
        return as_html([*case_document(case_report(self.record, own.diagnose(self.record), *read_with), WIDTH)])


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
