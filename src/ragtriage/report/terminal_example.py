"""What `testset example` wrote, in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from ragtriage.report.terminal_style import say, table
from ragtriage.report.words import plural
from ragtriage.testset.example import Example

if TYPE_CHECKING:
    from rich.console import Console


def print_example(console: Console, written: Example) -> None:
    """Print what lies in the folder, and how its application is asked."""
    say(console, Text(written.folder, style="bold"), 0, 2)
    grid = table()
    grid.show_header = False
    grid.add_column("", no_wrap=True)
    grid.add_column("", overflow="fold")
    people = f"{plural(written.employees, 'employee')}, {plural(written.clients, 'client')}"
    for name, what in (
        ("company.db", f"{people}, {plural(written.projects, 'project')}"),
        ("documents/", plural(written.documents, "document")),
        ("stated.jsonl", f"{plural(written.stated, 'fact')} of the database that some document states"),
        ("gaps.jsonl", f"{plural(written.gaps, 'fact')} of the database that no document states"),
        ("app.py", "an application over the documents; it needs no model"),
    ):
        grid.add_row(name, what)
    console.print(grid)
    where = f"{written.folder}/app.py:answer"
    say(console, Text(f"ragtriage collect questions.jsonl --app {where} -o cases.jsonl", style="dim"), 0, 2)
