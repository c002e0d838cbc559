"""What stands on disk stays as it is, so that runs and answers that were kept before are read as they were."""

import json
import zlib
from pathlib import Path
from typing import Any

from stored_cases import FULL, case

from places import Place
from ragtriage.core.amount import Amount
from ragtriage.core.case import Record
from ragtriage.core.verdicts import (
    Citation,
    Component,
    Failure,
    Known,
    Missing,
    Outcome,
    Part,
    Score,
    Undefined,
    Verdict,
    Verdicts,
)
from ragtriage.judges.wrappers.cached import CachedAnswer
from ragtriage.runs.case_row import CaseHeading
from ragtriage.runs.manifest import RunIdentity
from ragtriage.runs.run import RejectedRow
from ragtriage.store import open_answers, open_store

EXPECTED = Path(__file__).parent / "stored_rows.json"
CHANGING = {"created", "finished", "versions", "seconds", "submitted", "heartbeat", "author"}
"""Columns that hold times, versions, and who is connected."""

VERDICTS = (
    Verdict("yes", 0.9, 0.7, "ü: because\n\x00"),
    Verdict("no", 1 / 3, None, "", sure=False, flag="no such quote"),
    Verdict("unknown"),
)
COMPONENTS = (
    Component("\\It is nine.", (0, 12)),
    Component("The price of the other one", (0, 26), 0),
    Component("Paraphrased.", None, 1, remark=True),
    Component("It is nine (a).", (1, 16), None, citations=(Citation("a", (0, 2)), Citation("9"))),
)
STEPS: dict[str, Known] = {
    "claims(response)": COMPONENTS,
    "supported(claims(response), each source)": Verdicts(
        COMPONENTS[:2], ((VERDICTS[0], None, VERDICTS[1]), (Failure("too long"), VERDICTS[2], VERDICTS[0]))
    ),
    "questions(query)": Missing("the query asks nothing", "query"),
    "facts(sources)": Missing("the judge failed", "sources", failed=True),
}
OUTCOMES: dict[str, Outcome] = {
    "groundedness": Score(0.5, 2, 1),
    "own": Score(1.0, 1, 0, (Part(COMPONENTS[0], VERDICTS[0], True), Part(COMPONENTS[2], None, None, "rude"))),
    "other": Undefined("no facts", failed=True),
}
RECORDS = (Record(FULL, STEPS, OUTCOMES, "en", 0.5), Record(case(1), {}, {"groundedness": Undefined("no claims")}))
ANSWERS = (*VERDICTS, COMPONENTS[:3], ())
READING = CaseHeading("failure", "generator", ("unsupported_claims", "incomplete"), sure=True)
KEYS = [bytes([i]) * 16 for i in range(len(ANSWERS))]


def rows_after_a_run(place: Place) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables as JSON can hold them."""
    identity = RunIdentity("r", tuple(OUTCOMES), {"claims": "1", "supported": "2"}, trial=1)
    configuration = {"thresholds": {"groundedness": 0.7}, "input": Path("a")}
    with (
        open_store(place, project="shop") as store,
        store.begin(identity, input="ä\0.jsonl", rows=2, judge="f", configuration=configuration) as run,
    ):
        for record in RECORDS:
            run.keep(record, READING)
        run.reject(RejectedRow(7, None, "it is no object"), RejectedRow(8, "sources", "is null"))
        run.count_spending(Amount(0.25))
        run.finish()
        with open_answers(store.database) as answers:
            answers.remember(
                CachedAnswer(key, "supported", "1", answer, batch="b" * (i % 2))
                for i, (key, answer) in enumerate(zip(KEYS, ANSWERS, strict=True))
            )
            answers.tickets().put({b"k" * 16: "batch"})
    tables = ("runs", "cases", "texts", "case_texts", "scores", "rejected", "readings", "answers", "tickets")
    return {table: [_readable(row) for row in place.rows(table)] for table in tables}


def _readable(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: zlib.decompress(value).decode() if name == "steps" else value.hex() if isinstance(value, bytes) else value
        for name, value in row.items()
        if name not in CHANGING
    }


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def test_rows_are_written_as_they_always_were_and_read_as_they_were_given(place: Place) -> None:
    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
    found = rows_after_a_run(place)
    assert found.keys() == expected.keys()
    for table, rows in found.items():
        assert in_order(rows) == in_order(expected[table]), table
    with open_store(place) as store:
        read = list(store.run().records())
        assert [(one.case, one.steps) for one in read] == [(one.case, one.steps) for one in RECORDS]
        assert open_answers(store.database).recall(KEYS) == dict(zip(KEYS, ANSWERS, strict=True))
