"""The docs can't rot: everything public has its place in them, every block runs, every link leads somewhere."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, get_args

import help_tables
import pytest
import quickstart_output

import ragtriage
from examples import rows_of
from ragtriage.cli import COMMANDS, app
from ragtriage.cli.console import ExitCode
from ragtriage.config import Settings, read_settings
from ragtriage.core.case import WINDOW
from ragtriage.core.statistics import RESAMPLES
from ragtriage.core.steps import Relation, Target, Unit
from ragtriage.diagnosis.rules import KINDS, RULES
from ragtriage.judges.decision_thresholds import BANDS, NEVER_NO, NEVER_YES
from ragtriage.judges.embedded.encoder import LENGTH
from ragtriage.judges.judge_config import BATCH_WINDOW, EMBEDDED_WINDOW
from ragtriage.judges.llm import admission, channel, embedding_judge, requests
from ragtriage.judges.llm.options import LLM_BATCH, LLMOptions
from ragtriage.judges.llm.prompts import ASKED, HEAD
from ragtriage.metrics import GROUPS, METRICS
from ragtriage.readers.columns import SHAPES
from ragtriage.readers.field_values import ALIASES
from ragtriage.readers.problems import RowLimits
from ragtriage.report import run_page
from ragtriage.trust.exam import exam_cases, naming_rules

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SRC = ROOT / "src" / "ragtriage"
BESIDE = ("README.md", "CONTRIBUTING.md", "examples/README.md")
RESULTS = ROOT / "bench" / "results"
PAGES = sorted(
    [*DOCS.rglob("*.md"), *RESULTS.glob("*.md"), *(ROOT / "changes").glob("*.md"), *(ROOT / name for name in BESIDE)]
)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
RUNNABLE = [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")]
WITH_SETTINGS = [page for page in PAGES if "```toml" in page.read_text(encoding="utf-8")]
LINK = re.compile(r"""(?:\[[^\]]*\]\(|<img src=")([^)\s"]+)""")
CHEAP = {"show", "export", "report", "runs"}
SHORT = {
    "source_precision": "SP",
    "source_query_coverage": "SQC",
    "response_precision": "RP",
    "response_query_coverage": "RQC",
    "self_distinctness": "SD",
    "groundedness": "GR",
    "citation_groundedness": "CG",
    "irrelevant_noise_sensitivity": "INS",
    "relevant_noise_sensitivity": "RNS",
    "answer_recall": "AR",
}
"""The short names of the table of rules."""


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def text(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def blocks(page: Path, language: str) -> list[str]:
    return [body for found, body in BLOCK.findall(page.read_text(encoding="utf-8")) if found == language]


def headings(markdown: str) -> list[str]:
    return [heading.strip("`") for heading in HEADING.findall(BLOCK.sub("", markdown))]


def rows(markdown: str) -> list[list[str]]:
    """The cells of all tables."""
    lines = (line for line in markdown.splitlines() if line.startswith("|"))
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def commands() -> Iterator[tuple[str, str]]:
    """(page, command line) of every `$ ragtriage` in a console block."""
    for page in PAGES:
        for block in blocks(page, "console"):
            for line in block.splitlines():
                if found := re.match(r"\$ \S*\bragtriage (.*)", line):
                    yield name_of(page), f"ragtriage {re.split(' [#>] ', found[1])[0]}"


def split_command(line: str) -> tuple[str, list[str]]:
    """(command, its arguments); commands such as `judge ask` are two words."""
    words = shlex.split(line)[1:]
    size = 2 if words[0] in {"judge", "readers", "store", "testset", "trust"} else 1
    return " ".join(words[:size]), words[size:]


def extras() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["optional-dependencies"]]


def undefined_reasons() -> set[str]:
    worked = (ROOT / "tests" / "worked").glob("undefined*.jsonl")
    return {why for path in worked for row in rows_of(path) for why in row["expected"].values() if isinstance(why, str)}


NAMED: dict[str, tuple[str, str, Collection[str]]] = {
    "groups of metrics": ("metrics.md", "`{}`", GROUPS),
    "reasons for an undefined score": ("metrics.md", "{}", undefined_reasons()),
    "kinds of findings": ("diagnosis.md", "**{}**", KINDS),
    "extras, as headings": ("operations.md", "# {}\n", extras()),
    "fields and their names": ("input.md", "`{}`", [name for names in ALIASES.values() for name in names]),
    "shapes of other tools": ("input.md", "\n| {} |", [one.name for one in SHAPES if one.refused is None]),
    "shapes that are refused": ("input.md", "{}", [one.name for one in SHAPES if one.refused is not None]),
    "units and targets": ("own-metrics.md", "{}", [*get_args(Unit), *(one.split()[-1] for one in get_args(Target))]),
}
"""What → the page that names all of it, and how it stands there."""


@pytest.mark.parametrize(("page", "form", "names"), NAMED.values(), ids=list(NAMED))
def test_everything_of_a_kind_is_named(page: str, form: str, names: Collection[str]) -> None:
    assert names
    assert [name for name in names if form.format(name) not in text(page)] == []


def test_every_setting_and_word_of_the_code_is_explained() -> None:
    page, own = text("quickstart.md"), text("own-metrics.md")
    words = [*KINDS, *get_args(Relation), "none", "undetermined"]

    keys = [field.name for field in fields(Settings)]
    assert [key for key in keys if not re.search(rf"^\| `\[*{key}\]*` \|", page, re.MULTILINE)] == []
    assert [word for word in words if not re.search(rf"\b{word}\b", own)] == []


@pytest.mark.parametrize("metric", METRICS, ids=lambda m: m.name)
def test_every_metric_has_a_heading_with_its_title(metric: ragtriage.Metric) -> None:
    page = text("metrics.md")

    assert metric.name in headings(page)
    section = page.split(f"\n## {metric.name}\n")[1].split("\n## ")[0]
    assert f"**{metric.title}.**" in section
    assert "Undefined: " in section
    assert "Low: " in section
    assert ("**lower is better**" in section) == (metric.better == "lower")
    assert metric.better == "higher" or "High: " in section
    assert (f"[`{metric.name}`](#{metric.name}) ↓ |" in page) == (metric.better == "lower")


def test_thresholds_in_the_docs_are_the_defaults() -> None:
    table = rows(text("metrics.md").split("<!-- thresholds -->")[1].split("\n\n")[0])[2:]

    file = Path(ragtriage.__file__).parent / "diagnosis" / "thresholds.toml"
    defaults = tomllib.loads(file.read_text("utf-8"))
    assert table == [[f"`{name}`", f"{one['value']:g}", one["why"]] for name, one in defaults.items()]


def test_the_table_of_the_exam_is_its_files() -> None:
    faults = Counter(one.fault for one in exam_cases())
    table = rows(text("trust.md").split("<!-- exam -->")[1].split("\n\n")[0])[2:]

    assert table == [[f"`{kind}`", str(faults[kind]), ", ".join(rules)] for kind, rules in naming_rules().items()]


def test_the_table_of_rules_is_the_rules() -> None:
    arrows = {"low": "↓", "high": "↑", "any": ""}

    def pattern(rule: ragtriage.Rule) -> str:
        levels = " ".join(f"{SHORT[name]}{arrows[level]}" for name, level in rule.when.items())
        return f"declines, {levels}" if rule.declines else levels

    expected = [[f"`{r.name}`", r.kind, pattern(r), r.reading, r.component, r.origin] for r in RULES]
    assert [row for row in rows(text("diagnosis.md")) if len(row) == 6][2:] == expected


@pytest.mark.parametrize("command", [*COMMANDS, *help_tables.commands()])
def test_every_command_has_a_heading(command: str) -> None:
    assert command in headings(text("commands.md"))


def test_help_in_the_docs_is_the_help() -> None:
    page = text("commands.md")

    assert help_tables.with_options(page) == page, "run: python tests/docs/help_tables.py"


def test_every_parameter_of_a_command_stands_in_the_docs() -> None:
    page = text("commands.md").split("## Shared\n")[1]
    lines = {line.split("  ")[0] for line in re.findall(r"^    (\S.*)$", page, re.MULTILINE)}

    for name, command in help_tables.commands().items():
        for one in help_tables.parameters(command):
            assert one.name.replace("`", "") in lines, f"{name} {one.name}"


def test_every_exit_code_is_explained() -> None:
    codes = [code.value for code in ExitCode]

    assert [row[0] for row in rows(text("commands.md").split("## evaluate")[0])[2:]] == ["0", *map(str, sorted(codes))]


def test_no_command_installs_from_a_package_index_that_has_no_such_package() -> None:
    texts = [*PAGES, *(ROOT / "examples").rglob("*.md"), *SRC.rglob("*.py")]
    found = [line for path in texts for line in path.read_text("utf-8").splitlines() if "pip install" in line]

    assert len(found) > 20
    assert [line for line in found if re.search(r"pip install [^`#]*(?<![\w/])ragtriage", line)] == []


def test_every_limit_of_a_row_is_listed() -> None:
    page = text("operations.md")

    for field in fields(RowLimits):
        assert field.name.replace("_", "-") in page or field.name in page
        assert f"{field.default:,}" in page


def test_every_public_name_is_mentioned() -> None:
    everything = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))

    assert [name for name in ragtriage.__all__ if not re.search(rf"\b{name}\b", everything)] == []


def test_numbers_in_the_docs_are_those_of_the_code() -> None:
    operations = " ".join(text("operations.md").split())

    assert f"the {run_page.FULL} worst cases in full and up to {run_page.MOST_ROWS:,} as rows" in operations
    assert f"At most {EMBEDDED_WINDOW} cases" in operations
    assert f"the limit is {WINDOW}, or twice" in operations
    assert f"{LENGTH} word pieces" in operations
    assert f"({RESAMPLES:,} resamples" in text("metrics.md")


def test_every_setting_of_language_models_is_a_flag_or_is_explained() -> None:
    section = text("operations.md").split("### Settings for language models")[1].split("\n## ")[0]
    flags = {option: param for param in help_tables.commands()["evaluate"].params for option in param.opts}

    assert {field.name for field in fields(LLMOptions)} == {
        *(key for key in re.findall(r"`(\w+)`", section) if key in {"headers", "temperature", "max_body"}),
        *(key for key in (flag[2:].replace("-", "_") for flag in flags) if hasattr(LLMOptions(), key)),
    }
    assert {"--embeddings", "--prompts", "--guidance"} < set(flags)
    assert f"`temperature` ({LLMOptions().temperature:g};" in section


def test_numbers_about_language_models_are_those_of_the_code() -> None:
    operations, judges = (" ".join(text(name).split()) for name in ("operations.md", "judges.md"))

    assert f"It starts with {admission.FIRST_LIMIT}," in operations
    assert f"some {requests.THOUGHT:,} tokens and four times the usual" in operations
    assert requests.LONGEST == channel.GROWTH == 4
    assert f"by a batch API it is {BATCH_WINDOW:,}" in operations
    assert (channel.ATTEMPTS, channel.READINGS, channel.FIRST_REQUESTS, channel.PATIENCE) == (6, 5, 5, 900)
    assert "up to six times in all" in operations
    assert "up to five replies in all" in operations
    assert "After five replies it is a failure" in judges
    assert f"{LLM_BATCH} at most (`--batch-size`" in judges


def test_bands_in_the_docs_are_the_shipped_ones() -> None:
    table = rows(text("judges.md").split("<!-- bands -->")[1].split("\n\n")[0])[2:]

    def end(score: float) -> str:
        return {NEVER_NO: "no beginning", NEVER_YES: "no end"}.get(score, f"{score:.2f}")

    expected = [[f"`{kind}`", f"{end(band.low)} and {end(band.high)}"] for kind, band in BANDS.items()]
    assert [row[:2] for row in table if row[0]] == expected


def test_cosines_in_the_docs_are_those_of_the_code() -> None:
    table = rows(text("judges.md").split("<!-- cosines -->")[1].split("\n\n")[0])[2:]
    expected = [[f"`{name}`", f"{value:g}"] for name, value in embedding_judge.THRESHOLDS.items()]

    assert table == [*expected, ["others", f"{embedding_judge.USUAL_THRESHOLD:g}"]]


def test_every_prompt_file_is_named() -> None:
    listed = text("judges.md").split("<!-- prompt files -->")[1].split("\n\n")[0]

    assert set(re.findall(r"`(\w+)\.md`", listed)) == {HEAD, *ASKED}


def test_the_plan_in_the_docs_is_the_plan(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(quickstart_output.WIDTH))
    page = text("operations.md")
    shown = page.split("<!-- output: plan -->\n```\n")[1].split("```")[0]

    app(quickstart_output.PLAN.split(), standalone_mode=False)

    assert quickstart_output.clean(capsys.readouterr().out) == shown.strip()
    assert f"$ ragtriage {quickstart_output.PLAN}\n" in page


def test_words_names_what_the_code_has() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in SRC.rglob("*.py"))
    named = re.findall(
        r"`(?:[a-z]+\.)*([A-Z]\w+)(?:\.(\w+))?",
        " ".join(row[-1] for row in rows(text("own-metrics.md").split("## Words")[1])),
    )

    assert len(named) > 30
    for name, member in named:
        found = re.findall(rf"^(?:class {name}\b.*(?:\n(?: .*)?)*|{name}\b.* =)", code, re.MULTILINE)
        assert found, name
        assert not member or any(re.search(rf"\n    (def )?{member}\b", one) for one in found), f"{name}.{member}"


def test_the_layout_names_every_module() -> None:
    table = text("design/architecture.md").split("## Layout")[1].split("\n## ")[0]
    found = (
        path.name if path.is_file() else f"{path.name}/" for path in SRC.iterdir() if not path.name.startswith("_")
    )

    assert [name for name in found if name != "py.typed" and f"`{name}`" not in table] == []


@pytest.mark.parametrize("page", sorted((DOCS / "design").glob("*.md")), ids=name_of)
def test_every_file_that_the_design_names_exists(page: Path) -> None:
    named = re.findall(r"`([\w/]+\.(?:py|toml|jsonl|j2|md))`", BLOCK.sub("", page.read_text(encoding="utf-8")))
    ours = [
        path.relative_to(ROOT).as_posix() for top in ("src", "tests", "bench") for path in (ROOT / top).rglob("*.*")
    ]

    assert named
    assert [name for name in named if not _is_one(name, ours)] == []


def _is_one(name: str, paths: list[str]) -> bool:
    """Whether a path ends in this name; a name in capitals stands for any."""
    return "NAME" in name or "KIND" in name or any(f"/{path}".endswith(f"/{name}") for path in paths)


@pytest.mark.parametrize("page", RUNNABLE, ids=name_of)
def test_python_blocks_run(page: Path, folder: Path) -> None:
    names: dict[str, Any] = {"__name__": "docs"}
    markdown = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(markdown):
        if found[1] == "python":
            above = "\n" * (markdown[: found.start(2)].count("\n"))  # so that an error names the line of the page
            exec(compile(above + found[2], str(page), "exec", dont_inherit=True), names)  # our own docs


@pytest.mark.parametrize("page", WITH_SETTINGS, ids=name_of)
def test_settings_blocks_are_read(page: Path, folder: Path) -> None:
    for block in blocks(page, "toml"):
        path = folder / ("pyproject.toml" if "[tool." in block else "ragtriage.toml")
        path.write_text(block, encoding="utf-8")
        assert read_settings(path) != Settings()


@pytest.mark.parametrize(("page", "line"), list(commands()))
def test_commands_in_the_docs_parse(page: str, line: str) -> None:
    words = shlex.split(line)[1:]
    if words[0].startswith("-"):
        assert words[0] in {"--version", "--help"}
        return
    name, arguments = split_command(line)
    command = help_tables.commands()[name]

    with command.make_context(name, arguments):
        pass


@pytest.mark.parametrize("line", sorted({line for _, line in commands() if line.split()[1] in CHEAP}))
def test_cheap_commands_in_the_docs_run(line: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [w if w != "runs/" else ".ragtriage" for w in shlex.split(line)[1:]]

    assert app(words, standalone_mode=False) in {None, 0}
    assert "".join(capsys.readouterr()).strip()


def test_the_commands_of_the_readme_work_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGTRIAGE_STORE", raising=False)
    lines = [line[2:] for block in blocks(ROOT / "README.md", "console") for line in block.splitlines()]

    assert {"make demo", "make test"} < set(lines)
    for line in lines:
        words = shlex.split(recipe(line.split()[1]) if line.startswith("make ") else line)
        if words[0].endswith("/ragtriage"):
            assert app(words[1:], standalone_mode=False) in {None, 0}, line
            assert capsys.readouterr().out.strip(), line
        else:  # the tests themselves: what would be run is collected, as far as one folder of it goes
            assert words[0].endswith("/python"), line
            tests = [sys.executable, *words[1:], "--collect-only", "-q", "tests/house"]
            assert subprocess.run(tests, cwd=ROOT, capture_output=True, check=False).returncode == 0, line


def recipe(target: str) -> str:
    """The last command that `make` would run for a target, after whatever it installs."""
    outer = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
    env = {name: value for name, value in os.environ.items() if name not in outer}
    shown = subprocess.run(["make", "-n", target], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return shown.stdout.splitlines()[-1]


def test_links_lead_somewhere() -> None:
    assert [told for page in PAGES for told in lost_links(page)] == []


def lost_links(page: Path) -> Iterator[str]:
    """The links of a page that lead nowhere."""
    markdown = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(markdown):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        known = not anchor or there.suffix != ".md" or (there.exists() and anchor in anchors(there))
        if not there.exists() or not known:
            yield f"{name_of(page)}: {target}"


@cache
def anchors(page: Path) -> set[str]:
    """What a link into a page may name."""
    return {_anchor(heading) for heading in headings(page.read_text(encoding="utf-8"))}


def _anchor(heading: str) -> str:
    """As GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_no_page_names_a_path_of_somebodys_machine() -> None:
    path = re.compile(r"(?<![\w.])/(?:home|root|work|opt|tmp|Users|mnt)/\S*")

    assert [(name_of(page), path.findall(text)) for page in PAGES if path.search(text := page.read_text("utf-8"))] == []
