"""The command's tree."""

import inspect
import re
import subprocess
import sys
from importlib import import_module

import pytest

from ragtriage import __version__
from ragtriage.cli import COMMANDS
from ragtriage.cli.flags import GROUPS, REGISTERED, TABLES
from ragtriage.testset.generation.phrasing.criteria import NAMES

EXPECTED = [
    "evaluate", "collect", "plan", "traces", "demo", "report", "show", "compare", "baseline", "export", "view", "watch",
    "windows", "send", "runs", "store", "forget", "testset", "judge", "trust",
]  # fmt: skip


def test_help_lists_exactly_the_commands(command) -> None:
    said = command("--help")

    listed = re.findall(r"^  ([a-z]+) {2,}\S", said.out.partition("Commands:")[2], re.MULTILINE)
    assert (said.code, listed) == (0, EXPECTED)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_commands_line_is_the_first_line_of_its_docstring(name: str) -> None:
    found = REGISTERED.get(name)

    assert found is None or inspect.getdoc(found).split("\n", 1)[0] == COMMANDS[name][1]


def spelled() -> list[str]:
    """Every command as it is typed, those of two words included."""
    for modules, _ in COMMANDS.values():
        for module in modules.split():
            import_module(f"ragtriage.cli.{module}")
    return [*dict.fromkeys([*COMMANDS, *REGISTERED])]


@pytest.mark.parametrize("name", [*spelled()])
def test_every_command_has_help(command, name: str) -> None:
    said = command(*name.split(), "--help")

    assert said.code == 0
    if name in COMMANDS:
        assert " ".join(COMMANDS[name][1].split()) in " ".join(said.out.split())


def test_the_version_is_told(command) -> None:
    assert command("--version").out == f"ragtriage {__version__}\n"


def test_the_package_can_be_run_as_the_command() -> None:
    said = subprocess.run([sys.executable, "-m", "ragtriage", "--version"], capture_output=True, text=True, check=True)

    assert said.stdout == f"ragtriage {__version__}\n"


@pytest.mark.parametrize("args", [(), ("frob",), ("evaluate",), ("evaluate", "x.jsonl", "--frob"), ("judge", "frob")])
def test_wrong_usage_exits_with_2_and_says_what_to_do(command, args: tuple[str, ...]) -> None:
    said = command(*args)

    assert said.code == 2
    assert "Usage:" in said.err + said.out


def test_every_text_in_the_table_of_flags_is_used() -> None:
    shown = {name: {*inspect.signature(REGISTERED[name]).parameters} for name in spelled() if name in REGISTERED}

    for place, texts in TABLES.items():
        of = [flags for name, flags in shown.items() if place in {name, name.partition(" ")[0], "settings", "shared"}]
        assert {text for text in texts if not any(text in flags for flags in of)} == set(), place


def test_the_help_lists_all_linguistic_criteria() -> None:
    assert ", ".join(NAMES) in TABLES["testset phrase"]["criteria"]


def test_a_long_help_lists_its_options_in_groups_and_a_short_one_in_one(command) -> None:
    said = command("evaluate", "--help").out
    sections = re.findall(r"^([A-Z][A-Za-z ]+):$", said, re.MULTILINE)

    others = {"Pairs", "Watch", "Privacy"}  # only compare and watch have these
    assert sections == ["Arguments", *dict.fromkeys(g for g in GROUPS.values() if g not in others), "Options"]
    assert "--base-url" in said.partition("Language model:")[2].partition("Application:")[0]
    assert re.findall(r"^([A-Z][A-Za-z ]+):$", command("runs", "--help").out, re.MULTILINE) == ["Options", "Commands"]


def test_every_grouped_option_is_one_of_a_command() -> None:
    known = {name for texts in TABLES.values() for name in texts}

    assert set(GROUPS) <= known
