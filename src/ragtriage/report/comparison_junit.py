"""A comparison's gates as a JUnit file, a test case a gate.

It keeps to what Jenkins' schema junit-10, GitLab and GitHub's reporters have in common: no properties in a test case,
and the message stands in the body too, since GitLab shows nothing else. Can't tell is skipped; what isn't complete is
an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

from ragtriage.core.display import STAND_IN, sanitize
from ragtriage.core.files import ORDINARY_FILE, PRIVATE_FILE, atomic_write
from ragtriage.report.comparison_words import Quotes, id_text, worst_of
from ragtriage.runs.compare.comparison import Comparison, GateResult

MOST_SAID = 1_000
"""Characters of a message."""
MOST_TEXT = 2_000
"""Characters of a text that is quoted."""
MOST_CASES = 10
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_comparison_junit(path: Path, found: Comparison, quotes: Quotes | None = None, seconds: float = 0.0) -> None:
    """Write the gates of a comparison as JUnit; with quotes only its owner may read the file.

    Raises:
        OSError: it can't be written.
    """
    with atomic_write(path, newline="\n", mode=PRIVATE_FILE if quotes else ORDINARY_FILE) as file:
        file.write(comparison_junit(found, quotes, seconds))


def comparison_junit(found: Comparison, quotes: Quotes | None = None, seconds: float = 0.0) -> str:
    """The gates of a comparison as JUnit.

    Without a gate, or where the comparison isn't complete, one test case says whether it is: some readers take a file
    without a test case for a mistake.

    Args:
        found: the comparison.
        quotes: texts of the cases that changed most; none are written without them.
        seconds: how long it took.
    """
    cases = [_case(found, gate, quotes or {}) for gate in found.gates]
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
        says = _line("; ".join(found.incomplete))
        error = ET.SubElement(case, "error", {"type": "incomplete", "message": says})
        error.text = says
    return case


def _case(found: Comparison, gate: GateResult, quotes: Quotes) -> ET.Element:
    name = _line(gate.name)
    case = ET.Element("testcase", {"classname": f"ragtriage.{gate.kind}", "name": name, "time": "0"})
    says = _line(gate.says)
    if gate.failed:
        failure = ET.SubElement(case, "failure", {"type": gate.outcome, "message": says})
        failure.text = "\n".join([says, *_behind(found, gate, quotes)])
    elif gate.outcome == "can't tell":
        ET.SubElement(case, "skipped", {"message": says}).text = says
    return case


def _behind(found: Comparison, gate: GateResult, quotes: Quotes) -> Iterator[str]:
    worst = worst_of(found, gate)
    if not worst:
        return
    more = ", …" if len(worst) > MOST_CASES else ""
    yield f"worst cases: {', '.join(_allowed(id_text(name)) for name in worst[:MOST_CASES])}{more}"
    for name in worst[:MOST_CASES]:
        if quote := quotes.get(name):
            told = (("query", quote.query), ("base", quote.base), ("new", quote.new))
            yield f"\n{_allowed(id_text(name))}"
            yield from (f"{which}: {_allowed(sanitize(text[:MOST_TEXT]))}" for which, text in told if text is not None)


def _line(text: str) -> str:
    """A message on one line, with what XML 1.0 allows."""
    line = " ".join(_allowed(text[: 2 * MOST_SAID]).split())
    return line if len(line) <= MOST_SAID else line[: MOST_SAID - 1] + "…"


def _allowed(text: str) -> str:
    return _FORBIDDEN.sub(STAND_IN, text)
