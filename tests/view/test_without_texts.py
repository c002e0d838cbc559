"""What the viewer shows to a database role that may not read texts; and one case's file without texts."""

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html import unescape
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from viewed import CASES, CONFIG, Viewer, looked_at, some_records, stored, viewer_of

from examples import examples
from postgresql_server import new_schema, run_sql
from ragtriage.core.case import Record
from ragtriage.core.errors import NotPermittedError
from ragtriage.core.verdicts import Score, Undefined
from ragtriage.runs.case_row import CaseRow, Columns
from ragtriage.runs.run import Run
from ragtriage.runs.tally import MAX_SLICES, keep_counts, kept_counts, tally_of
from ragtriage.store import Store, open_store
from ragtriage.store.migrations import NUMBERS, READER, roles_sql
from ragtriage.view.server import StoreRuns

SECRET = "Zanzibarquery"
UNTOLD = "Zanzibarreason"
MAY_NOT = "role may not read texts"
_users = count(1)


class HiddenTexts:
    """A run in tables, to a user who may not read texts: what the server refuses is refused."""

    def __init__(self, place: Any, refused: list[str]) -> None:
        self._place, self._refused, self.info = place, refused, place.info

    def __getattr__(self, name: str) -> Any:
        return getattr(self._place, name)

    def _no(self) -> NotPermittedError:
        self._refused.append(self.info.called)
        return NotPermittedError("the store doesn't let you do this (permission denied for table cases)")

    def read(self, what: Columns, positions: range | None = None) -> Iterator[CaseRow]:
        """Numbers alone."""
        if what.steps or what.texts is not None or (what.scores and what.reasons):
            raise self._no()
        yield from self._place.read(what, positions)

    def rejected(self) -> Any:
        """Refused."""
        raise self._no()

    def texts_deleted(self) -> Any:
        """Refused."""
        raise self._no()


@dataclass(frozen=True)
class HiddenRuns(StoreRuns):
    """The runs of a store to such a user."""

    refused: list[str] = field(default_factory=list)

    def run(self, key: str) -> Run:
        """See `RunSource`."""
        return Run(HiddenTexts(self.store.run(key).place, self.refused))


def secret_records() -> list[Record]:
    """Records whose texts, and the reasons of whose undefined scores, can be told from anything else."""
    found = []
    for i, one in enumerate(some_records()):
        outcomes = {
            name: replace(o, reason=f"{UNTOLD} {o.reason}", failed=False) if isinstance(o, Undefined) else o
            for name, o in one.outcomes.items()
        }
        case = replace(one.case, id=f"case-{i:03}", query=f"{SECRET} {one.case.query}")
        found.append(replace(one, case=case, outcomes=outcomes))
    return found


def filled(store: Store) -> None:
    """Run 1, of which the counts are kept, and run 2, of which they aren't."""
    for _ in range(2):
        stored(store, "rows", secret_records())
    run = store.run(1)
    keep_counts(run, CONFIG, tally_of(run, CONFIG))


@pytest.fixture(scope="module", params=["a fake", "a server"])
def hidden(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    if request.param == "a fake":
        with open_store(tmp_path_factory.mktemp("hidden")) as store:
            filled(store)
            found = viewer_of(HiddenRuns(store), writing=True)
            yield found
            found.runs.close()
        return
    address, schema = new_schema()
    with open_store(address) as store:
        filled(store)
    run_sql(roles_sql(schema))
    user = f"viewer_{next(_users)}"
    run_sql(f"CREATE USER {user} IN ROLE {NUMBERS}")
    with open_store(address.replace("postgres:@", f"{user}@")) as store:
        found = viewer_of(StoreRuns(store), writing=True)
        yield found
        found.runs.close()


def told(viewer: Viewer, path: str, status: int = 200) -> str:
    """A page without anything that a customer wrote."""
    page = unescape(viewer.text(path, status))
    assert SECRET not in page
    assert UNTOLD not in page
    return page


@pytest.mark.parametrize("row", examples("addresses", "without texts"))
def test_a_page_shows_numbers_or_says_that_it_needs_texts(hidden: Viewer, row: dict[str, Any]) -> None:
    page = hidden.shows(row)
    assert SECRET not in page
    assert UNTOLD not in page


def test_runs_lists_and_cases_hold_their_numbers(hidden: Viewer) -> None:
    assert re.search(r"\d\.\d\d", told(hidden, "/runs/1"))
    assert told(hidden, "/runs/1/cases?sort=input").count("[not readable]") == 50
    assert hidden.ids("/runs/1/cases?sort=input&tag.tenant=b")[:3] == ["1", "3", "5"]
    assert len(hidden.ids("/runs/1/cases?sort=unsupported_claims")) == 50
    scores = [one.outcomes["groundedness"] for one in secret_records()]
    low = sum(isinstance(one, Score) and one.value <= 0.5 for one in scores)
    assert f"{low} of {CASES} cases" in told(hidden, "/runs/1/cases?groundedness=..0.5")
    findings = CONFIG.diagnose(secret_records()[3])
    assert findings
    page = told(hidden, "/runs/1/cases/3")
    assert [one.rule for one in findings if f"<li>{one.rule.replace('_', ' ')}</li>" not in page] == []


def test_exports_hold_numbers(hidden: Viewer) -> None:
    rows = [json.loads(line) for line in told(hidden, "/runs/1/export.jsonl?texts=0&sort=input").splitlines()]
    records = secret_records()
    assert [row["id"] for row in rows] == [one.case.id for one in records]
    for row, record in zip(rows, records, strict=True):
        heading = CONFIG.heading(record, CONFIG.assess(record))
        assert row["findings"] == list(heading.rules)
        assert (row["component"], row["sure"]) == (heading.component, heading.sure)
        values = {name: o.value if isinstance(o, Score) else None for name, o in record.outcomes.items()}
        assert row["scores"] == values
    table = list(csv.DictReader(io.StringIO(hidden.get("/runs/1/export.csv?texts=0&sort=input").text)))
    assert [row["tag.tenant"] for row in table] == [str(one.case.tags["tenant"]) for one in records]
    assert hidden.get("/runs/1/export.parquet?texts=0").content[:4] == b"PAR1"


def test_it_is_found_out_once_a_run(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        filled(store)
        source = HiddenRuns(store)
        viewer = viewer_of(source, writing=True)
        for path in ("/", "/runs/1", "/runs/1/cases", "/runs/1/cases/3", "/runs/2/cases", "/runs/1/label", "/"):
            viewer.text(path, 403 if "label" in path else 200)
        viewer.text("/runs/2", 403)
        viewer.text("/runs/1/cases?q=x", 403)
        viewer.runs.close()
    assert sorted(source.refused) == ["run 1", "run 2"]


def test_who_may_read_texts_does_on_a_server_too() -> None:
    address, schema = new_schema()
    with open_store(address) as store:
        stored(store, "rows", secret_records()[:5])
    run_sql(roles_sql(schema))
    run_sql(f"CREATE USER viewer_{(user := next(_users))} IN ROLE {READER}")
    with open_store(address.replace("postgres:@", f"viewer_{user}@")) as store:
        viewer = viewer_of(StoreRuns(store))
        assert SECRET in viewer.text("/runs/1/cases")
        assert MAY_NOT not in viewer.text("/runs/1")
        assert SECRET in viewer.text("/runs/1/cases/3")
        viewer.runs.close()


def test_the_file_of_a_case_can_leave_out_its_texts(tmp_path: Path) -> None:
    records = secret_records()[:12]
    with looked_at(tmp_path, lambda there: stored(there, "rows", records)) as (_, viewer):
        assert 'href="/runs/1/cases/3.html?texts=0"' in viewer.text("/runs/1/cases/3")
        for position, record in enumerate(records):
            page = told(viewer, f"/runs/1/cases/{position}.html?texts=0")
            assert SECRET in viewer.page(f"/runs/1/cases/{position}.html")
            assert f"case-{position:03}" in page
            assert "<dt>tenant</dt>" in page
            for finding in CONFIG.diagnose(record):
                assert f"<li>{finding.rule.replace('_', ' ')}</li>" in page
                assert not [one.text for one in finding.evidence if one.text in page]
            texts = [record.case.response or "", *(source.text for source in record.case.known_sources)]
            assert not any(text and text in page for text in texts)


def test_every_slice_leads_to_its_cases_or_is_no_link(tmp_path: Path) -> None:
    records = some_records()
    for i, one in enumerate(records):
        tags = {"flag": (True, False, None)[i % 3], "many": f"v{i % (MAX_SLICES + 5)}", "mixed": (True, "True")[i % 2]}
        records[i] = replace(one, case=replace(one.case, tags=tags))
    row = r'<th scope="row" dir="auto">(?:<a href="([^"]*)">)?([^<]+)(?:</a>)?</th><td class="num">(\d+)</td>'
    slices = {}
    with looked_at(tmp_path, lambda there: stored(there, "rows", records)) as (_, viewer):
        viewer.text("/runs/1/cases")
        for by in ("flag", "many", "mixed"):
            page = viewer.text(f"/runs/1?by={by}").partition('id="slices"')[2].partition("</table>")[0]
            slices[by] = {label: (unescape(to), int(cases)) for to, label, cases in re.findall(row, page)}
            for to, cases in slices[by].values():
                assert not to or f"{cases} of {CASES} cases" in viewer.text(to)
    assert all(slices["flag"][label][0] for label in ("True", "False", "(none)"))
    assert [label for label, (to, _) in slices["many"].items() if not to] == ["others"]
    assert len(slices["many"]) == MAX_SLICES + 1
    assert slices["mixed"] == {"True": ("", CASES)}


def test_counts_with_a_reason_that_may_quote_a_case_are_not_kept_in_a_shared_store(tmp_path: Path) -> None:
    with open_store(tmp_path) as there:
        run = there.run(stored(there, "rows", some_records(4)))
        counted = tally_of(run, CONFIG)
        keep_counts(run, CONFIG, counted, shared=True)
        assert kept_counts(run.place) is None
        keep_counts(run, CONFIG, counted)
        assert kept_counts(run.place) is not None
