"""The options of every command as Markdown tables, from the commands themselves.

python tests/docs/help_tables.py  # writes them anew into docs/commands.md
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

from typer.main import get_command

from ragtriage.cli import COMMANDS, app
from ragtriage.cli.flags import help_sections

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
_PLACE = re.compile(r"(<!-- help: ([a-z0-9 ]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def commands() -> dict[str, Any]:
    """Every command and sub-command that can be called → its click command."""
    root: Any = get_command(app)
    found: dict[str, Any] = {}
    for name in COMMANDS:
        command = root.get_command(None, name)
        inner = getattr(command, "commands", None)
        if not inner or any(p.name != "help" for p in command.params):
            found[name] = command
        found |= {f"{name} {sub}": one for sub, one in (inner or {}).items()}
    return found


def table_of(name: str, command: Any) -> str:
    """One command's first lines and its parameters."""
    sections = help_sections([p for p in command.params if p.name != "help"])
    arguments = sections.pop("Arguments", [])
    usage = " ".join(["ragtriage", name, *(_shown(p) for p in arguments), *(["[OPTIONS]"] if sections else [])])
    rows = [f"| {_left(p)} | {_right(p)} |" for p in arguments]
    for title, options in sections.items():
        if len(sections) > 1:
            rows.append(f"| **{title}** | |")
        rows += [f"| {_left(p)} | {_right(p)} |" for p in options]
    head = ["", f"`{usage}`", "", textwrap.fill(" ".join((command.help or "").split()), 120), "", "| | |", "|---|---|"]
    return "\n".join([*head, *rows, "", ""])


def _shown(param: Any) -> str:
    name = str(getattr(param, "metavar", None) or param.name).upper()
    return (name if param.required else f"[{name}]") + ("..." if param.nargs < 0 else "")


def _left(param: Any) -> str:
    if param.param_type_name == "argument":
        return f"`{_shown(param)}`"
    return ", ".join(f"`{opt}`" for opt in param.opts)


def _right(param: Any) -> str:
    text = " ".join(str(param.help or "").split()).replace("|", "\\|")
    plain = param.default is None or isinstance(param.default, bool | tuple | list)
    shown = not plain and "[default" not in text
    needed = " Required." if param.required and param.param_type_name == "option" else ""
    return text + (f" [default: {param.default}]" if shown and not param.required else "") + needed


def with_tables(page: str) -> str:
    """The page with every table as it should be."""
    known = commands()
    return _PLACE.sub(lambda m: m[1] + table_of(m[2], known[m[2]]) + m[4], page)


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
