"""A comparison as files for a pipeline: Markdown, a JUnit file, and JSON.

Markdown is for a comment on a pull request or the summary of a pipeline. Its first line is a mark by which a workflow
finds its own comment. It has ids and numbers only, unless quotes are given. What comes from outside is written with
character references, which are text in Markdown and in HTML alike.

JUnit has a test case for each gate. It keeps to what Jenkins' schema junit-10, GitLab and GitHub's reporters have in
common: no properties in a test case, and the message stands in the body too, since GitLab shows nothing else. Can't
tell is skipped; what isn't complete is an error.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import accumulate, chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from ragtriage.core.display import STAND_IN, one_line, plural, sanitize
from ragtriage.core.files import ORDINARY_FILE, PRIVATE_FILE, atomic_write
from ragtriage.core.validation import as_builtins
from ragtriage.report.comparison_document import (
    case_blocks,
    fault_blocks,
    finding_blocks,
    metric_blocks,
    outcome_blocks,
)
from ragtriage.report.comparison_words import (
    SIGNS,
    Quotes,
    changed_counts,
    fault_lines,
    id_text,
    paired_text,
    unpaired_text,
    verdict_of,
    worst_of,
)
from ragtriage.report.document import DocumentBlock, markdown_lines
from ragtriage.runs.compare.comparison import (
    ChangedCases,
    Comparison,
    FaultChanges,
    FindingComparison,
    GateResult,
    MetricComparison,
    SideHeader,
    SliceMetric,
)
from ragtriage.runs.compare.statistics import MeanDifference

MARK = "<!-- ragtriage compare -->"
"""The first line: a workflow finds the comment that it is to replace by it."""
MOST = 60_000
"""Characters; GitHub takes 65,536 in a comment."""
KEPT_FREE = 300
"""For the lines that tell what was left out."""
MOST_LINE = 2_000
"""Characters of a line or a cell."""
WIDE = 200
"""Characters of a terminal that would show as much."""
MOST_TEXT = 400
"""Characters of a text that is quoted."""
PICTURES = {"✗": "❌", "!": "⚠️", "✓": "✅"}
"""What stands for a sign in the title of a comment."""
DETAILS, DETAILS_END = "<details>", "</details>"
_REFERENCES = {ord(sign): f"&#{ord(sign)};" for sign in "\\`*[]|~$#!<>&\"'"}
_UNDERSCORE = re.compile(r"(?<![^\W_])_|_(?![^\W_])")
_UNJOINED = (("@", "@\u200b"), ("://", ":\u200b//"), ("www.", "www\u200b."))
"""So that nobody is notified, and no address becomes a link."""


def write_comparison_markdown(path: Path, found: Comparison, quotes: Quotes | None = None) -> None:
    """Write a comparison as Markdown; with quotes only its owner may read the file."""
    with atomic_write(path, "replace", newline="\n", mode=PRIVATE_FILE if quotes else ORDINARY_FILE) as file:
        file.write(comparison_markdown(found, quotes))


def comparison_markdown(found: Comparison, quotes: Quotes | None = None) -> str:
    """A comparison as Markdown, at most `MOST` characters. Texts are quoted only if they are given."""
    state, says = verdict_of(found)
    title = " ".join(filter(None, ("### ragtriage:", PICTURES.get(SIGNS[state], SIGNS[state]), escaped(says, 300))))
    lines = [MARK, title, _facts(found), ""]
    lines += _lines(chain(metric_blocks(found), outcome_blocks(found), fault_blocks(found)))
    details = [*_lines(chain(finding_blocks(found), case_blocks(found, WIDE))), *_quoted(found, quotes or {})]
    if details:
        told = "Findings and worst cases" if found.findings else "Worst cases"
        lines += [DETAILS, f"<summary>{told}</summary>", "", *details, DETAILS_END]
    lengths = accumulate(len(line) + 1 for line in lines)
    fitting = sum(length <= MOST - KEPT_FREE for length in lengths)
    if left := len(lines) - fitting:
        ends = [DETAILS_END] if DETAILS in lines[:fitting] else []
        lines = [*lines[:fitting], "", f"and {left:,} more lines", "", *ends]
    return "\n".join(lines).rstrip() + "\n"


def _lines(blocks: Iterable[DocumentBlock]) -> Iterator[str]:
    """Lines of Markdown, of which no two are empty one behind the other."""
    ended = True
    for block in blocks:
        for line in markdown_lines(block, lambda text: escaped(text, MOST_LINE), "####"):
            if line or not ended:
                yield line
            ended = not line


def escaped(text: str, most: int = 80) -> str:
    """A text from outside on one line: no Markdown, no HTML, nobody notified."""
    shown = _UNDERSCORE.sub("&#95;", one_line(text, most).translate(_REFERENCES))
    for sign, instead in _UNJOINED:
        shown = re.sub(re.escape(sign), instead, shown, flags=re.IGNORECASE)
    return shown


def _facts(found: Comparison) -> str:
    changes, pairs = found.changes, found.pairs
    counted = [f"{what} changed" for what in changed_counts(changes)]
    same = "" if changes.sources or changes.source_order or not changes.response else ", sources the same"
    facts = (
        f"{_side(found.new)} against {_side(found.base, found.base.created[:10])}",
        f"{paired_text(found)} paired",
        plural(pairs.groups, "group") if pairs.cluster else "",
        "another judge" if changes.judge else "same judge",
        (", ".join(counted) or "no text changed") + same,
        unpaired_text(pairs),
    )
    return " · ".join(filter(None, facts))


def _side(side: SideHeader, *more: str) -> str:
    facts = [escaped(fact) for fact in (*side.about.facts, *more) if fact]
    return escaped(side.name) + (f" ({', '.join(facts)})" if facts else "")


def _quoted(found: Comparison, quotes: Quotes) -> Iterator[str]:
    for cases in (found.worse, found.better):
        for case in cases.cases if cases else ():
            if quote := quotes.get(case.id):
                told = (("query", quote.query), ("base", quote.base), ("new", quote.new))
                texts = (f"<b>{name}</b> {escaped(text, MOST_TEXT)}" for name, text in told if text is not None)
                yield from (f"<b>{escaped(case.id)}</b><br>{'<br>'.join(texts)}", "")


MOST_SAID = 1_000
"""Characters of a message."""
MOST_JUNIT_TEXT = 2_000
"""Characters of a text that is quoted."""
MOST_CASES = 10
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_comparison_junit(path: Path, found: Comparison, quotes: Quotes | None = None, seconds: float = 0.0) -> None:
    """Write the gates of a comparison as JUnit; with quotes only its owner may read the file."""
    with atomic_write(path, newline="\n", mode=PRIVATE_FILE if quotes else ORDINARY_FILE) as file:
        file.write(comparison_junit(found, quotes, seconds))


def comparison_junit(found: Comparison, quotes: Quotes | None = None, seconds: float = 0.0) -> str:
    """The gates of a comparison as JUnit.

    Without a gate, or where the comparison isn't complete, one test case says whether it is: some readers take a file
    without a test case for a mistake. Texts are quoted only if they are given.
    """
    cases = [_testcase(found, gate, quotes or {}) for gate in found.gates]
    if found.incomplete or not cases:
        cases.insert(0, _complete(found))
    counts = {name: str(sum(case.find(tag) is not None for case in cases)) for name, tag in
              (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))}  # fmt: skip
    whole = {"name": "ragtriage", "tests": str(len(cases)), "failures": counts["failures"], "errors": counts["errors"]}
    took = f"{seconds:.3f}"
    root = ET.Element("testsuites", {**whole, "time": took})
    suite = {"name": "ragtriage.gates", "skipped": counts["skipped"], "time": took}
    if found.new.created:
        suite["timestamp"] = _allowed(found.new.created[:19])
    ET.SubElement(root, "testsuite", {**whole, **suite}).extend(cases)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, "unicode") + "\n"


def _complete(found: Comparison) -> ET.Element:
    case = ET.Element("testcase", {"classname": "ragtriage.compare", "name": "complete", "time": "0"})
    if found.incomplete:
        says = _one_line_of_xml("; ".join(found.incomplete))
        error = ET.SubElement(case, "error", {"type": "incomplete", "message": says})
        error.text = says
    return case


def _testcase(found: Comparison, gate: GateResult, quotes: Quotes) -> ET.Element:
    name = _one_line_of_xml(gate.name)
    case = ET.Element("testcase", {"classname": f"ragtriage.{gate.kind}", "name": name, "time": "0"})
    says = _one_line_of_xml(gate.says)
    if gate.failed:
        failure = ET.SubElement(case, "failure", {"type": gate.outcome, "message": says})
        failure.text = "\n".join([says, *_behind(found, gate, quotes)])
    elif gate.outcome == "can't tell":
        ET.SubElement(case, "skipped", {"message": says}).text = says
    return case


def _behind(found: Comparison, gate: GateResult, quotes: Quotes) -> Iterator[str]:
    yield from (_allowed(f"{what}: {cases}") for what, cases in fault_lines(found.faults))
    worst = worst_of(found, gate)
    if not worst:
        return
    more = ", …" if len(worst) > MOST_CASES else ""
    yield f"worst cases: {', '.join(_allowed(id_text(name)) for name in worst[:MOST_CASES])}{more}"
    for name in worst[:MOST_CASES]:
        if quote := quotes.get(name):
            told = (("query", quote.query), ("base", quote.base), ("new", quote.new))
            yield f"\n{_allowed(id_text(name))}"
            yield from (
                f"{which}: {_allowed(sanitize(text[:MOST_JUNIT_TEXT]))}" for which, text in told if text is not None
            )


def _one_line_of_xml(text: str) -> str:
    """A message on one line, with what XML 1.0 allows."""
    line = " ".join(_allowed(text[: 2 * MOST_SAID]).split())
    return line if len(line) <= MOST_SAID else line[: MOST_SAID - 1] + "…"


def _allowed(text: str) -> str:
    return _FORBIDDEN.sub(STAND_IN, text)


_MEASURED = ("base", "new", "difference", "low", "high", "se", "sees", "cases", "groups", "changed")
_SIDE = ("name", "runs", "baseline", "input", "created", "cases", "judge", "trials", "version", "incomplete")


def comparison_json(found: Comparison) -> dict[str, Any]:
    """What `compare --json` prints."""
    pairs = asdict(found.pairs)
    return {
        "base": _side_json(found.base),
        "new": _side_json(found.new),
        "pairs": pairs,
        "changed": asdict(found.changes),
        "metrics": {row.name: _metric_json(row) for row in found.metrics},
        "findings": {row.rule: _finding_json(row) for row in found.findings},
        "headlines": [] if found.headlines is None else [
            ["", *found.headlines.components],
            *([name, *counts] for name, counts in zip(found.headlines.components, found.headlines.counts, strict=True)),
        ],
        "slices": {
            tag: {
                one.value: {"pairs": one.pairs, "metrics": {m.name: _slice_metric(m) for m in one.metrics}}
                for one in some
            }
            for tag, some in found.slices.items()
        },
        "gates": [
            {
                "gate": f"{gate.kind} {gate.name}", "kind": gate.kind, "metric": gate.metric, "limit": gate.limit,
                "slice": gate.slice, "outcome": gate.outcome, "failed": gate.failed, "value": gate.value,
                "expected": gate.expected,
                "low": gate.low, "high": gate.high, "level": gate.level, "says": gate.says,
            }
            for gate in found.gates
        ],
        "cases": {
            "worse": _cases_json(found.worse), "better": _cases_json(found.better), **_faults_json(found.faults),
        },
        "left_out": asdict(found.left_out),
        "notes": list(found.notes),
        "incomplete": list(found.incomplete),
        "gated": found.gated,
        "hint": found.hint or None,
    }  # fmt: skip


def _side_json(side: SideHeader) -> dict[str, Any]:
    return {**{name: getattr(side, name) for name in _SIDE}, **side.about.stored()}


def _measured(found: MeanDifference | None) -> dict[str, Any]:
    return {name: getattr(found, name) if found else None for name in _MEASURED}


def _metric_json(row: MetricComparison) -> dict[str, Any]:
    named = (
        "title", "better", "base_mean", "new_mean", "p", "p_adjusted", "how", "defined", "lost", "gained", "p_defined",
        "lost_cases", "failed", "bounds", "noise_se", "verdict", "perhaps", "corrected", "why",
    )  # fmt: skip
    told = as_builtins({name: getattr(row, name) for name in named})
    return {**_measured(row.paired), **told, "perhaps": row.perhaps or None, "why": row.why or None}


def _finding_json(row: FindingComparison) -> dict[str, Any]:
    named = ("kind", "component", "fixed", "broken", "decided", "p", "p_adjusted", "how", "verdict")
    measured = {name: value for name, value in _measured(row.paired).items() if name not in {"base", "new"}}
    cases = {"fixed_cases": list(row.fixed_cases), "broken_cases": list(row.broken_cases)}
    expected = asdict(row.expected) if row.expected else None
    told = {name: getattr(row, name) for name in named}
    return {"base": row.base, "new": row.new, **measured, **told, "expected": expected, **cases}


def _slice_metric(one: SliceMetric) -> dict[str, Any]:
    return {**_measured(one.paired), "p": one.p, "p_adjusted": one.p_adjusted, "verdict": one.verdict}


def _faults_json(faults: FaultChanges | None) -> dict[str, Any]:
    if faults is None:
        return {}
    lists = {"fixed": faults.fixed, "broken": faults.broken, "other_faults": faults.others}
    return {
        name: {"of": count, "cases": [as_builtins(asdict(case)) for case in cases]}
        for (name, cases), count in zip(lists.items(), faults.counts, strict=True)
    }


def _cases_json(cases: ChangedCases | None) -> dict[str, Any] | None:
    if cases is None:
        return None
    told = [
        {
            "id": case.id,
            "base_id": case.base_id,
            "scores": {name: [base, new] for name, base, new in case.scores},
            "sources": case.sources,
            "headline": list(case.headline),
        }
        for case in cases.cases
    ]
    return {"metric": cases.metric, "of": cases.of, "cases": told}
