"""What the commands and the first Python block of the quick start print, shortened; and the plan of its rows.

python tests/docs/quickstart_output.py  # writes it anew into docs/quickstart.md and docs/operations.md

It isn't compared by a test: the embedded judge's verdicts may change with every new version of it. (The plan is: it
hangs on no verdict.)
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (DOCS / "quickstart.md", DOCS / "operations.md")
PLAN = "plan answers.jsonl --judge openai:NAME --base-url http://127.0.0.1:8000/v1 --price 0.25:2"
WIDTH = 110
_PLACE = re.compile(r"(<!-- output: (\w+) -->\n```\n)(.*?)(```\n)", re.DOTALL)
_GROUP = re.compile(r"[^\s\w] .* · \d+ cases?")


def outputs(page: str) -> dict[str, str]:
    """What is shown at each place, from running the commands, and the first Python block, on the rows of the page."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "answers.jsonl").write_text(rows_of(page), encoding="utf-8")
        plan = _run(folder, *PLAN.split()).stdout  # first, as what a store remembers is left out
        evaluated = _run(folder, "evaluate", "answers.jsonl")
        case = _run(folder, "show", "last", "q2").stdout
        shown = _started(folder, sys.executable, "-c", page.split("```python\n")[1].split("```", maxsplit=1)[0]).stdout
        gate = _run(folder, "evaluate", "answers.jsonl", "--fail-below", "groundedness=0.95").stderr
    return {
        "table": _shortened(evaluated.stdout.splitlines()),
        "case": case.split("Which question")[0].rstrip() + "\n\n…",
        "gate": next(line for line in gate.splitlines() if line.startswith("gate failed")),
        "plan": plan,
        "python": shown,
    }


def _run(folder: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return _started(folder, str(Path(sys.executable).with_name("ragtriage")), *arguments)


def _started(folder: str, *command: str) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if name != "RAGTRIAGE_STORE"}
    return subprocess.run(  # our own command
        command, cwd=folder, env=own | {"COLUMNS": str(WIDTH)}, capture_output=True, text=True, check=False
    )


def _shortened(lines: list[str]) -> str:
    """The metrics, the first group of the diagnosis and what to look at next."""
    begin = next(i for i, line in enumerate(lines) if line.startswith("metric"))
    first = next(i for i, line in enumerate(lines) if _GROUP.match(line))
    return "\n".join([*lines[begin : lines.index("", first)], "", "…", "", *lines[-2:]])


def rows_of(page: str) -> str:
    """The rows of the quick start."""
    return page.split("```jsonl\n")[1].split("```", maxsplit=1)[0]


def clean(text: str) -> str:
    """An output as it stands in a page."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def with_outputs(page: str, found: dict[str, str]) -> str:
    """The page with every output as it is now."""
    return _PLACE.sub(lambda m: f"{m[1]}{clean(found[m[2]])}\n{m[4]}", page)


if __name__ == "__main__":
    now = outputs(PAGES[0].read_text(encoding="utf-8"))
    for path in PAGES:
        path.write_text(with_outputs(path.read_text(encoding="utf-8"), now), encoding="utf-8")
