"""The pages of measured values, from the values: each `*.json` of a folder is one section of the page of that name.

python bench/results/render.py  # writes accuracy.md and speed.md anew

A file has a title, the command that measured, when its figures were last written (by the history of the docs, where no
script wrote it), the machine (null where nobody noted it), what was measured, tables, notes. Values are kept as they
were printed.
"""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PAGES = {
    "accuracy": (
        "Measured accuracy of the embedded judge",
        "How often its verdicts are right. *Before* is the judge with the matcher, which the reader replaced.",
        ("out_of_fold", "agreement", "held_out", "details", "healthy", "faulty", "refusals", "diagnosis", "table1",
         "preferences", "training"),
    ),
    "speed": (
        "Measured speed, sizes and costs",
        "Run by hand; no test depends on a clock.",
        ("size", "embedded", "llm_cost", "llm_speed", "llm_faults", "letters", "protocols", "decisions", "report",
         "compare", "store", "scale", "scale_cost", "testsets"),
    ),
}  # fmt: skip
"""Page → title, first words, sections in order."""


def page_of(name: str) -> str:
    """One page as Markdown."""
    title, about, order = PAGES[name]
    sections = [_section(json.loads((FOLDER / name / f"{one}.json").read_text(encoding="utf-8"))) for one in order]
    return "\n\n".join([f"# {title}", f"{about} Written by `bench/results/render.py`.", *sections]) + "\n"


def _section(told: dict[str, Any]) -> str:
    command = f"`{told['command']}`; figures" if told["command"] else "Figures"
    machine = f"of {told['machine']}" if told["machine"] else "the machine wasn't noted"
    parts = [f"## {told['title']}", f"{command} written {told['written']}; {machine}.", told["about"]]
    for table in told["tables"]:
        lines = [table["columns"], ["---"] * len(table["columns"]), *table["rows"]]
        parts += [table["caption"], "\n".join(f"| {' | '.join(cells)} |" for cells in lines)]
    return "\n\n".join(part for part in [*parts, "\n".join(f"- {note}" for note in told["notes"])] if part)


if __name__ == "__main__":
    for each in PAGES:
        (FOLDER / f"{each}.md").write_text(page_of(each), encoding="utf-8")
