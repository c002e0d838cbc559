"""A row of a harness: put together as a line of a file would be, and what is told of it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragtriage.core.case import Case, Record
from ragtriage.core.display import shortened
from ragtriage.core.errors import RagtriageError
from ragtriage.core.verdicts import Outcome, Part, Score, Undefined, Verdict
from ragtriage.diagnosis.headline import UNDETERMINED, Headline
from ragtriage.diagnosis.rules import is_bad
from ragtriage.metrics import metric_named
from ragtriage.metrics.thelma import groundedness, source_precision
from ragtriage.monitor.outputs.scores import LONGEST, explanation_of
from ragtriage.readers import Rejected
from ragtriage.readers.field_values import ALIASES
from ragtriage.runs.evaluation_config import EvaluationConfig

TRUE_ANSWERS = ("expected_response", *ALIASES["reference"], *ALIASES["response"])
"""Names under which a framework's expectations hold the true answer."""
_FLAG = re.compile(r"--map '?(\w+)=([^\s']+)'?")


@dataclass(frozen=True, slots=True)
class JudgedRow:
    """What is told of one row."""

    record: Record
    """Where nothing was judged, every outcome of it says why."""
    head: Headline
    config: EvaluationConfig

    def outcome(self, metric: str) -> Outcome:
        """One score, or why there is none."""
        return self.record.outcomes[metric]

    def why(self, metric: str) -> str:
        """What a score rests on, which quotes the case: what speaks against the answer; or why there is no score."""
        outcome = self.outcome(metric)
        if isinstance(outcome, Undefined):
            return shortened(outcome.reason, LONGEST)
        return explanation_of(metric_named(metric, self.config.metrics), outcome) or ""

    def passing(self, metric: str) -> bool | None:
        """Whether a score is on the good side of its threshold; None without one of them."""
        outcome, own = self.outcome(metric), metric_named(metric, self.config.metrics)
        threshold = self.config.thresholds.get(metric)
        if own is None or threshold is None or not isinstance(outcome, Score):
            return None
        return not is_bad(outcome.value, threshold, own.better)

    def needed_sources(self) -> list[tuple[int, Verdict]]:
        """The verdict on every source that was judged: whether the query needs it; sources by place, from 0."""
        needed = self.record.verdicts(source_precision.needs["needed"])
        found = zip(needed.components, needed.best(), strict=True) if needed else ()
        return [(one.source, cell) for one, cell in found if one.source is not None and isinstance(cell, Verdict)]

    def claims(self) -> Sequence[Part]:
        """The claims of the response, and whether the sources support each; none where groundedness has no score."""
        outcome = self.record.outcomes.get(groundedness.name)
        return outcome.parts if isinstance(outcome, Score) else ()

    @property
    def reason(self) -> str:
        """Why scores are missing, each reason once; empty where none is."""
        missing = (outcome for outcome in self.record.outcomes.values() if isinstance(outcome, Undefined))
        return shortened("; ".join(dict.fromkeys(map(str, missing))), LONGEST)


def not_judged(why: Rejected | RagtriageError, config: EvaluationConfig, case: Case | None = None) -> JudgedRow:
    """A row that can't be used, or that the judge or the store failed on."""
    if isinstance(why, Rejected):
        said = f"field {why.field!r}: {why.reason}" if why.field else why.reason
        found = Undefined(_FLAG.sub(r'fields={"\1": "\2"}', said))
    else:
        found = Undefined(str(why), failed=True)
    outcomes = dict.fromkeys((m.name for m in config.metrics), found)
    head = Headline("undetermined", UNDETERMINED, "", found.reason, sure=False)
    return JudgedRow(Record(case or Case("", ""), {}, outcomes), head, config)


def merged_row(inputs: Any, outputs: Any, expected: Any = None, *, raw: bool = False) -> dict[str, Any]:
    """One row: what the application was given, what it gave, and the true answer, if one is known.

    A text as inputs is the query, as outputs the response. With `raw` all three are kept also as they are, so that a
    path such as `outputs.docs` can name a part.
    """
    row = dict(inputs) if isinstance(inputs, Mapping) else {"query": inputs}
    if "query" not in row and "messages" in row:
        row["query"] = row.pop("messages")
    row |= outputs if isinstance(outputs, Mapping) else {"response": outputs}
    known = expected if isinstance(expected, Mapping) else {"reference": expected}
    reference = next((known[name] for name in TRUE_ANSWERS if known.get(name) is not None), None)
    if reference is not None and not any(name in row for name in ALIASES["reference"]):
        row["reference"] = reference
    if raw:
        row |= {"inputs": inputs, "outputs": outputs, "expectations": expected}
    return row


def with_sources(row: Mapping[str, Any], sources: Any) -> dict[str, Any]:
    """The row with these sources, and no other column that could be taken for them."""
    return {key: value for key, value in row.items() if key not in ALIASES["sources"]} | {"sources": sources}
