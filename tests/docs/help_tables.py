"""What every command takes as Markdown, from the commands themselves: what several share once, then each one's own.

python tests/docs/help_tables.py  # writes it anew into docs/commands.md
"""

import re
import textwrap
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from typer.main import get_command

from ragtriage.cli import COMMANDS, app
from ragtriage.cli.flags import GROUPS

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
MARK = "<!-- the rest is written by tests/docs/help_tables.py -->\n"
ARGUMENTS, EVERYWHERE = "Arguments", "Most commands"
ORDER = (ARGUMENTS, *dict.fromkeys(GROUPS.values()), EVERYWHERE)
"""The groups of what is shared, as the page has them; what most commands have isn't told of each."""
WIDTH = 116
LINKED_FROM = 4
"""Parameters of a group from which on a command names the group instead of each."""


_ABOUT = re.compile(r"(?:[^\s,:;.]\S* ){3,}?[^\s,:;]+?(?=[,:;.](?: |$))")
"""The first words of a command's help, up to the first stop behind the fourth."""
SELDOM = 6
"""What fewer than one in so many commands of its group have is told of each of them."""


class Shown(NamedTuple):
    """A parameter as the page shows it; equal ones are the same, whatever commands have them."""

    group: str
    name: str
    text: str


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


def parameters(command: Any) -> dict[Shown, str]:
    """A command's parameters in order, arguments first → their defaults, empty where there is none to tell."""
    params = [p for p in command.params if p.name != "help"]
    return {_shown(p): _default(p) for kind in ("argument", "option") for p in params if p.param_type_name == kind}


def shared_by(known: dict[str, Any]) -> dict[str, dict[str, list[Shown]]]:
    """Where it stands (a command with sub-commands, or empty for all) → group → what several commands have."""
    users: dict[Shown, list[str]] = {}
    for name, command in known.items():
        for one in parameters(command):
            users.setdefault(one, []).append(name)
    most: dict[str, int] = {}
    for one, names in users.items():
        for key in (one.name, one.group):
            most[key] = max(most.get(key, 0), len(names))
    found: dict[str, dict[str, list[Shown]]] = {}
    for one, names in users.items():
        if len(names) == most[one.name] > max(1, most[one.group] // SELDOM):  # of two meanings of a name only one
            families = {name.partition(" ")[0] for name in names}
            family = families.pop() if len(families) == 1 else ""
            found.setdefault(family, {}).setdefault("" if family else one.group, []).append(one)
    found[""] = {group: found[""][group] for group in ORDER if group in found[""]}
    return found


def options_text(known: dict[str, Any]) -> str:
    """Everything below the mark."""
    shared = shared_by(known)
    lines = ["## Shared", ""]
    for group, inside in shared[""].items():
        lines += [f"### {group}", "", *_lines(inside, _usual(inside, known)), ""]
    for name in COMMANDS:
        if name not in known:
            family = [one for inside in shared.get(name, {}).values() for one in inside]
            lines += [f"## {name}", "", COMMANDS[name][1], "", *_lines(family, _usual(family, known))]
            lines += [""] if family else []
        for each in (one for one in known if one.partition(" ")[0] == name):
            lines += [f"##{'#' if ' ' in each else ''} {each}", "", *_command(each, known, shared), ""]
    return "\n".join(lines)


def _command(name: str, known: dict[str, Any], shared: dict[str, dict[str, list[Shown]]]) -> list[str]:
    """What a command does, what it shares with others, and its own parameters."""
    found = parameters(known[name])
    groups = {**shared[""], "": [one for inside in shared.get(name.partition(" ")[0], {}).values() for one in inside]}
    common = [one for inside in groups.values() for one in inside]
    usual = _usual(common, known)
    own = [one for one in found if one not in common]
    about = _ABOUT.match(" ".join((known[name].help or "").split()))
    told = ((group, inside) for group, inside in groups.items() if group != EVERYWHERE)
    taken = ", ".join(said for group, inside in told if (said := _taken(group, inside, found, usual)))
    lines = [
        f"{about[0] if about else name}. {taken}{':' if own else '.'}" if taken else f"{about[0] if about else name}."
    ]
    return [*lines, "", *_lines(own, found)] if own else lines


def _taken(group: str, inside: list[Shown], found: dict[Shown, str], usual: dict[Shown, str]) -> str:
    """Which of a shared group a command has: all, all but some, or some; with the default where it is another one."""
    taken = [one for one in inside if one in found]
    left_out = [one.name for one in inside if one not in found]
    told = {one: f"{one.name} [{found[one]}]" for one in taken if found[one] != usual[one]}
    if not group or len(taken) <= len(left_out) or len(inside) < LINKED_FROM:
        return ", ".join(told.get(one, one.name) for one in taken)
    link = f"[{group}](#{group.lower().replace(' ', '-')})"
    said = [*([f"not {', '.join(left_out)}"] if left_out else []), *told.values()]
    return link + (f" ({'; '.join(said)})" if said else "")


def _usual(inside: list[Shown], known: dict[str, Any]) -> dict[Shown, str]:
    """The default that most commands have."""
    defaults: dict[Shown, Counter[str]] = {one: Counter() for one in inside}
    for command in known.values():
        for one, default in parameters(command).items():
            if one in defaults:
                defaults[one][default] += 1
    return {one: counted.most_common(1)[0][0] for one, counted in defaults.items()}


def _shown(param: Any) -> Shown:
    text = " ".join(str(param.help or "").split()).replace("[default: ", "[")
    if param.param_type_name == "argument":
        name = str(getattr(param, "metavar", None) or param.name).upper()
        name = (name if param.required else f"[{name}]") + ("..." if param.nargs < 0 else "")
        return Shown(ARGUMENTS, f"`{name}`", text)
    needed = " Required." if param.required else ""
    group = EVERYWHERE if param.name in {"as_json", "store", "config", "project"} else GROUPS.get(param.name, "Output")
    return Shown(group, ", ".join(f"`{opt}`" for opt in param.opts), text + needed)


def _default(param: Any) -> str:
    untold = (
        param.required or param.default is None or param.default == "" or isinstance(param.default, bool | tuple | list)
    )
    return "" if untold or "[default" in str(param.help) or param.param_type_name == "argument" else str(param.default)


def _lines(inside: list[Shown], defaults: dict[Shown, str]) -> list[str]:
    """Name and text in two columns, indented, as in a terminal."""
    names = [one.name.replace("`", "") for one in inside]
    indent = max(map(len, names), default=0) + 6
    found: list[str] = []
    for name, one in zip(names, inside, strict=True):
        text = one.text + (f" [{defaults[one]}]" if defaults[one] else "")
        wrapped = textwrap.wrap(text, WIDTH - indent, break_long_words=False, break_on_hyphens=False)
        found += [f"    {name}".ljust(indent) + wrapped[0], *(" " * indent + line for line in wrapped[1:])]
    return found


def with_options(page: str) -> str:
    """The page with everything as it should be."""
    return f"{page.partition(MARK)[0]}{MARK}\n{options_text(commands())}"


if __name__ == "__main__":
    PAGE.write_text(with_options(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
