"""What tests looked at: in values that travel with their reports, and as the lines that a session ends with."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragtriage.core.case import Record
from ragtriage.core.display import dollars, one_line, plural
from ragtriage.core.metric import Metric
from ragtriage.core.statistics import ranked
from ragtriage.core.verdicts import Score
from ragtriage.diagnosis.findings import Finding
from ragtriage.diagnosis.rules import is_bad
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.testing.judging import Judged

FAILED = "failed: "
"""What stands before the reason where the judge failed: see `Undefined`."""
LONGEST_REASON = 200
"""Characters of why a score is undefined."""


class Results:
    """Gathers what is told of each test, and gives it away with the test's report."""

    def __init__(self) -> None:
        self._cases: dict[tuple[str, str], dict[str, Any]] = {}
        self._told: list[dict[str, Any]] = []

    def looked_at(self, name: str, record: Record, config: EvaluationConfig) -> tuple[Finding, ...]:
        """A test uses a record; returns its findings."""
        findings = config.diagnose(record)
        self._cases[name, record.case.id] = {
            "list": name,
            "id": record.case.id,
            "weight": record.case.weight,
            "scores": {m.name: _value(record, m) for m in config.metrics},
            "titles": {m.name: m.title for m in config.metrics},
            "low": low_scores(record, config),
            "findings": list(dict.fromkeys(finding.rule for finding in findings)),
        }
        return findings

    def judged(self, name: str, judged: Judged) -> None:
        """The cases of a list were judged, or read."""
        counts = {one: getattr(judged, one) for one in ("cases", "answers", "remembered", "seconds", "cost")}
        self._told.append({"list": name, "run": judged.number, **counts})
        if judged.stopped and judged.answers:  # not each process that finds nothing left to spend
            self.note(judged.stopped)

    def whole(self, name: str, numbers: dict[str, Any]) -> None:
        """A test uses the run of a whole list, in numbers; see `ragtriage.testing.judged_run`."""
        self._told.append({"list": name, "whole": numbers})

    def wrote(self, path: Path) -> None:
        """A file that is to be deleted when the session ends."""
        self._told.append({"file": str(path)})

    def note(self, sentence: str) -> None:
        """Something else that the summary is to say."""
        self._told.append({"note": sentence})

    def properties(self) -> Iterator[tuple[str, Any]]:
        """The scores of the cases that were looked at, as a test's user properties."""
        for case in self._cases.values():
            for name, value in case["scores"].items():
                yield f"ragtriage.{name}", value
            yield "ragtriage.findings", ", ".join(case["findings"])

    def taken(self) -> dict[str, Any] | None:
        """What was gathered since the last time, in basic types; None if there is nothing."""
        cases, told = list(self._cases.values()), self._told
        self._cases, self._told = {}, []
        return {"cases": cases, "told": told} if cases or told else None


def _value(record: Record, metric: Metric) -> float | str:
    """A score with six decimals, or why there is none."""
    outcome = record.outcomes.get(metric.name)
    return round(outcome.value, 6) if isinstance(outcome, Score) else one_line(str(outcome), LONGEST_REASON)


def low_scores(record: Record, config: EvaluationConfig) -> list[str]:
    """The names of the metrics whose scores lie on the bad side of their thresholds."""
    scores = [(m, record.outcomes.get(m.name)) for m in config.metrics]
    return [
        m.name
        for m, found in scores
        if isinstance(found, Score) and is_bad(found.value, config.thresholds.get(m.name), m.better)
    ]


MOST_FINDINGS = 6
"""Kinds of findings that a line lists."""


def summary_lines(gathered: Iterable[Mapping[str, Any]], crashed: Sequence[str]) -> list[str]:
    """The summary of what came with the reports (see `Results.taken`), and the workers that crashed."""
    cases: dict[str, dict[str, Mapping[str, Any]]] = {}
    judged: dict[str, list[Mapping[str, Any]]] = {}
    whole: dict[str, Mapping[str, Any]] = {}
    notes: dict[str, None] = {}
    for one in gathered:
        for case in one["cases"]:
            known = cases.setdefault(case["list"], {})
            known[case["id"]] = _merged(known.get(case["id"]), case)
        for told in one["told"]:
            if "note" in told:
                notes[told["note"]] = None
            elif "whole" in told:
                whole[told["list"]] = told["whole"]
            elif "list" in told:
                judged.setdefault(told["list"], []).append(told)
    lines: list[str] = []
    for name in dict.fromkeys([*cases, *whole, *judged]):
        numbers = whole.get(name) or _numbers(list(cases.get(name, {}).values()))
        lines += _list_lines(name, numbers, judged.get(name, []))
    lines += notes
    lines += [f"worker {name} crashed: what it judged is in the store, some counts may be missing" for name in crashed]
    return lines


def _merged(known: Mapping[str, Any] | None, case: Mapping[str, Any]) -> Mapping[str, Any]:
    """A case that several tests looked at, with all of its metrics."""
    if known is None:
        return case
    both = {**known, **case}
    for key in ("scores", "titles"):
        both[key] = {**known[key], **case[key]}
    for key in ("low", "findings"):
        both[key] = list(dict.fromkeys([*known[key], *case[key]]))
    return both


def files_to_delete(gathered: Iterable[Mapping[str, Any]]) -> list[str]:
    """The paths of files that only the session needed."""
    return [told["file"] for one in gathered for told in one["told"] if "file" in told]


def _list_lines(name: str, numbers: Mapping[str, Any], judged: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield f"{one_line(name, 120)}: {_judged_words(judged, numbers['cases'])}"
    metrics = numbers["metrics"].values()
    if metrics:
        width = max(len(one["title"]) for one in metrics)
        yield f"  {'':{width}}  mean  low  undefined"
        for one in metrics:
            mean = "–" if one["mean"] is None else f"{one['mean']:.2f}"
            failed = f"  and {one['failed']} failed" if one["failed"] else ""
            yield f"  {one['title']:{width}}  {mean:>4}  {one['low']:>3}  {one['undefined']:>9}{failed}"
    findings = ranked(Counter(numbers["findings"]))
    if findings:
        shown = [f"{rule} {count}" for rule, count in list(findings.items())[:MOST_FINDINGS]]
        more = len(findings) - len(shown)
        yield f"  findings: {', '.join(shown)}{f' and {more} more' if more else ''}"


def _judged_words(judged: Sequence[Mapping[str, Any]], cases: int) -> str:
    parts = [plural(cases, "case")] if cases else []
    runs = dict.fromkeys(str(told["run"]) for told in judged if told["run"])
    if runs:
        parts.append(f"run{'s' if len(runs) > 1 else ''} {' and '.join(runs)}")
    now, answers, remembered = (sum(told[key] for told in judged) for key in ("cases", "answers", "remembered"))
    if not now and not answers:
        return " · ".join([*parts, "judged before"])
    seconds = max(told["seconds"] for told in judged if told["cases"] or told["answers"])
    asked = f"{plural(answers, 'answer')} by the judge, {remembered:,} remembered"
    cost = sum(told["cost"] for told in judged)
    price = f" for {dollars(cost)}" if cost else ""
    return " · ".join([*parts, f"{now:,} judged now ({asked}) in {seconds:.1f} s{price}"])


def _numbers(cases: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Some cases in numbers: see `ragtriage.testing.judged_run`, which gives the same of a whole file."""
    titles = {metric: title for case in cases for metric, title in case["titles"].items()}
    return {
        "cases": len(cases),
        "metrics": {metric: {"title": title, **_metric_numbers(metric, cases)} for metric, title in titles.items()},
        "findings": Counter(finding for case in cases for finding in case["findings"]),
    }


def _metric_numbers(metric: str, cases: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The weighted mean over the cases that have a score, how many of them are low, and how many have none."""
    known = [(case["scores"][metric], case["weight"]) for case in cases if metric in case["scores"]]
    defined = [(value, weight) for value, weight in known if not isinstance(value, str)]
    most = max((weight for _, weight in defined), default=1.0)
    total = sum(weight / most for _, weight in defined)
    mean = sum(value * (weight / most) for value, weight in defined) / total if defined else None
    low = sum(metric in case["low"] for case in cases)
    failed = sum(isinstance(value, str) and value.startswith(FAILED) for value, _ in known)
    return {"mean": mean, "low": low, "undefined": len(known) - len(defined) - failed, "failed": failed}
