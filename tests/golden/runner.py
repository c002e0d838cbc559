"""Runs the rows of the tables here in this process, normalises what they leave, and compares it field by field.

The test and record.py share it; neither knows a flag of a command, but those that name the scripted model.
"""

import contextlib
import csv
import io
import json
import re
import shutil
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Self

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TESTS = ROOT / "tests"
sys.path[:0] = [
    str(folder)
    for folder in (TESTS, TESTS / "cli", TESTS / "monitor", TESTS / "testing")
    if str(folder) not in sys.path
]

from cli_models import KEY  # noqa: E402  # it lies beside the tests of the commands
from inner_sessions import PLUGIN  # noqa: E402  # it lies beside the tests of the plugin
from scripted import Services  # noqa: E402  # see above

from forked import Child  # noqa: E402  # see above
from in_process import Said, plain_environment, said_by  # noqa: E402  # see above
from modes import wide  # noqa: E402  # see above
from postgresql_server import new_schema  # noqa: E402  # see above
from prepared_folders import PREPARED  # noqa: E402  # see above
from servers import Heard, Server  # noqa: E402  # see above
from servers import Said as Reply  # noqa: E402  # see above

EXPECTED = HERE / "expected"
DEMO = ROOT / "src" / "ragtriage" / "demo" / "data" / "cases.jsonl"
FIELDS_TOLD = 20
"""Most differing fields that a message lists."""
NEAR = 0.02
"""How far probabilities, and means of them, may lie apart on another processor; of sums, relatively."""
NEAR_PERCENT = 2
_EPSILON = 1e-9
PYTEST = "pytest"
"""Instead of a command: pytest, in a process of its own."""
_SESSION = """
import os, sys, pytest
for name in [name for name in os.environ if name.startswith("PYTEST_")]:
    del os.environ[name]
os.environ["CI"] = "1"  # no line of the summary is cut
sys.exit(pytest.main(sys.argv[1:]))
"""

TEXT_PLACEHOLDERS: tuple[tuple[str, str], ...] = (
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(\+00:00| UTC|Z)", "<time>"),
    (r"about \d+ \(\d+ to \d+\) expected", "about <count> expected"),
    (r"http://127\.0\.0\.1:\d+", "<server>"),
    (r"(embedded[\w:]*-)[0-9a-f]{12}\b", r"\1<digest>"),
    (r"\b[0-9a-f]{24,}\b", "<digest>"),
    (r"(collected-)[0-9a-f]{12}\b", r"\1<digest>"),
    (r"(?m)^\d+ of (?:about )?\d+ (?:cases|templates)(?:, .*)?\n", ""),
    (r"(?m)^(- )?note: .* newer than .*\n", ""),  # not within the same second
    (r"(ragtriage|python|onnxruntime|numpy)([ =]+)\d+(\.\d+)+\S*", r"\1\2<version>"),
    (r"(seconds an answer: ).*", r"\1<seconds>"),
    (r"[\d.]+ seconds a case", "<seconds> seconds a case"),
    (r"postgresql://\S*?schema=test_\d+", "<store>"),
    (r"(  |\(|· )\d{4}-\d\d-\d\d(?=  |\)| ·)", r"\1<date>"),
    (r"( timestamp=\")[\dT:-]+\"", r'\1<time>"'),
    (r"\b\d+\.\d\ds\b|(?<=remembered\) in )[\d.]+ s", "<seconds>"),
    (r" hostname=\"[^\"]*\"", ' hostname="<host>"'),
    (r"\bragtriage(\.[a-z_]+)+\.(?=[A-Z])", "<module>."),
    (r"( time=\")[\d.]+\"", r'\1<seconds>"'),
    (r"no connection: .*", "no connection: <why>"),
)
"""What differs from run to run, or from machine to machine, in any text."""
FIELD_PLACEHOLDERS = frozenset(
    "seconds seconds_per_request median_seconds created finished versions version identity fingerprint fingerprints "
    "digest started timeUnixNano observedTimeUnixNano".split()
)
"""Members of JSON whose values aren't compared, only that they are there."""
_BAR = re.compile(r"[█░▏▎▍▌▋▊▉]+")
_NUMBER = re.compile(r"(?<![\w.,:-])(-?\d+\.\d+(?![\w.:]|,\d)|\d+(?= ?%))")
_SHOWN = ("title", "aria-label", "id", "href", "open")


@dataclass(frozen=True)
class Step:
    """One command of a case."""

    command: str
    exit: int = 0
    typed: str = ""
    """What comes on standard input."""
    files: Sequence[str] = ()
    """Files that it wrote and that are compared."""
    compared: bool = True
    """Whether its output is compared, and not only its exit code."""
    removed: Sequence[str] = ()
    """Files and folders that somebody deletes before it."""
    killed_after: int = 0
    """Kill it when the scripted model has given so many answers and is asked again."""


@dataclass(frozen=True)
class Row:
    """One case of the table: files, then commands one after the other in a fresh folder."""

    name: str
    steps: Sequence[Step]
    files: Mapping[str, Any] = field(default_factory=dict)
    """Name → place in the repository, from its root; or a list of ids of the demo's cases."""
    prepared: str = ""
    """What is done before the first command: a name in prepared_folders.py."""
    server: bool = False
    """Whether scripted services listen at {server}; {model} are the flags that make a language model there the judge,
    and {root} is the address without a path, for decision models and for tools that take scores."""
    postgresql: bool = False
    """Whether {store} is an empty store on a PostgreSQL server."""
    exact: bool = False
    """Whether nothing may differ, not the last digit: for scripted judges, which are the same on every processor."""
    public: Sequence[str] = ()
    """Files that others than their owner may read, since they hold no text of a case."""


def rows() -> dict[str, Row]:
    """All tables."""
    found = {}
    for table in sorted(HERE.glob("*.toml")):
        for name, given in tomllib.loads(table.read_text(encoding="utf-8")).items():
            found[name] = Row(name, [Step(**step) for step in given.pop("steps")], **given)
    return found


@dataclass(frozen=True)
class Outcome:
    """What a case left: exit codes, and outputs under the name of the file that keeps them."""

    codes: Sequence[int]
    outputs: Mapping[str, str]
    """Normalised texts; JSON and its like parsed and written again."""
    told: Sequence[str]
    """Standard error of each step, as it came."""
    wide: Sequence[str]
    """Files and folders that the commands made and that others than their owner may read."""


def outcome_of(row: Row) -> Outcome:
    """Run a case."""
    with contextlib.ExitStack() as open_now:
        folder = Path(open_now.enter_context(tempfile.TemporaryDirectory(prefix="golden"))).resolve()
        model = _Model()
        url = open_now.enter_context(Server(model)).url if row.server else ""
        named = {
            "server": url,
            "root": url.removesuffix("/v1"),
            "model": f"--judge openai:m --base-url {url} --concurrency 1",
        }
        if row.postgresql:
            named["store"] = new_schema()[0]
        open_now.enter_context(contextlib.chdir(folder))
        open_now.enter_context(plain_environment(OPENAI_API_KEY=KEY))
        for name, given in row.files.items():
            _place(Path(name), given)
        if row.prepared:
            PREPARED[row.prepared]()
        given_files = set(folder.rglob("*"))
        codes, told, outputs = [], [], {}
        hide = _hider(folder)
        for number, step in enumerate(row.steps, 1):
            for name in step.removed:
                _remove(Path(name))
            said = _said(step.command.format(**named).split(), step, model)
            codes.append(said.code)
            told.append(said.err)
            if step.compared:
                outputs |= _outputs(number, said.out, said.err, hide)
            for name in step.files:
                kept = f"{number}.{name.replace('/', '-')}"
                outputs |= _kept(kept, Path(name).read_text(encoding="utf-8"), hide)
        return Outcome(codes, outputs, told, wide(folder, given_files))


class _Model:
    """The scripted model; it can be told to answer so many requests only, and to let all others wait."""

    def __init__(self) -> None:
        self.waited_for = threading.Event()
        self._services = Services()
        self._left: int | None = None
        self._lock = threading.Lock()

    def __call__(self, heard: Heard) -> Reply:
        with self._lock:
            held = self._left == 0
            if self._left:
                self._left -= 1
        if held:
            self.waited_for.set()
            return Reply("{}", after=60)
        return self._services(heard)

    @contextlib.contextmanager
    def answering(self, count: int) -> Iterator[None]:
        """Answer so many requests."""
        self.waited_for.clear()
        self._left = count
        try:
            yield
        finally:
            self._left = None


def _said(command: Sequence[str], step: Step, model: _Model) -> Said:
    """What a step says: a command in this process, one that is killed in its own, or pytest."""
    if command[0] == PYTEST:
        with Child("-p", "no:cacheprovider", *PLUGIN, *command[1:], code=_SESSION) as session:
            return _ended(session)
    if step.killed_after:
        with model.answering(step.killed_after), Child(*command) as child:
            assert model.waited_for.wait(60), "the model wasn't asked so often"
            child.kill()
            return _ended(child)
    return said_by(command, step.typed.encode())


def _ended(child: Child) -> Said:
    """What a process of its own said, when it is at its end."""
    out, err = child.communicate()
    return Said(child.wait(), out, err)


def _remove(path: Path) -> None:
    """Delete a file or a folder."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def _place(path: Path, given: str | list[str]) -> None:
    """Put a file of a case where its commands look for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(given, str):
        shutil.copyfile(ROOT / given, path)
        return
    lines = {json.loads(line)["id"]: line for line in DEMO.read_text(encoding="utf-8").splitlines()}
    path.write_text("".join(f"{lines[name]}\n" for name in given), encoding="utf-8")


# ---- normalising


def _hider(folder: Path) -> Callable[[str], str]:
    """What puts placeholders for all that differs from run to run."""

    def hide(text: str) -> str:
        for own, placeholder in ((str(folder), "<folder>"), (folder.name, "<project>"), (str(ROOT), "<root>")):
            text = text.replace(own, placeholder)
        for pattern, placeholder in TEXT_PLACEHOLDERS:
            text = re.sub(pattern, placeholder, text)
        return text

    return hide


def _outputs(number: int, out: str, err: str, hide: Callable[[str], str]) -> dict[str, str]:
    found = {}
    if out.strip():
        found |= _kept(f"{number}.out.{_kind(out)}", out, hide)
    if err.strip():
        found |= _kept(f"{number}.err.txt", err, hide)
    return found


def _kind(out: str) -> str:
    """Whether an output is one JSON value, one a line, or a text."""
    if out.lstrip()[0] not in "{[":
        return "txt"
    try:
        json.loads(out)
    except ValueError:
        return "jsonl"
    return "json"


def _kept(name: str, text: str, hide: Callable[[str], str]) -> dict[str, str]:
    """One output under the name of its file."""
    if name.endswith(".json"):
        return {name: json.dumps(_hidden(json.loads(text), hide), ensure_ascii=False, indent=1) + "\n"}
    if name.endswith(".jsonl"):
        values = [_hidden(json.loads(line), hide) for line in text.splitlines() if line.strip()]
        return {name: "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)}
    if name.endswith(".csv"):
        values = [_hidden(line, hide) for line in csv.DictReader(io.StringIO(text, newline=""))]
        return {f"{name}.jsonl": "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)}
    if name.endswith(".html"):
        return {f"{name}.txt": hide("".join(f"{line}\n" for line in Page.lines_of(text)))}
    return {name if name.endswith(".txt") else f"{name}.txt": hide(text).rstrip("\n") + "\n"}


def _hidden(value: Any, hide: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {hide(k): "<any>" if k in FIELD_PLACEHOLDERS else _hidden(v, hide) for k, v in value.items()}
    if isinstance(value, list):
        return [_hidden(v, hide) for v in value]
    return hide(value) if isinstance(value, str) else value


class Page(HTMLParser):
    """The texts of a page, each with the element that it stands in; neither styles nor scripts.

    Attributes:
        lines: `element.class: text`, in their order.
    """

    VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
    DRAWN = frozenset("style script path rect line circle polyline polygon".split())

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self._open: list[str] = []
        self._within: list[str] = []

    @classmethod
    def lines_of(cls, text: str) -> list[str]:
        """The lines of a page."""
        page: Self = cls()
        page.feed(text)
        page.close()
        return page.lines

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element that says something by itself."""
        given = dict(attrs)
        name = ".".join([tag, *sorted((given.get("class") or "").split())])
        if tag not in self.VOID:
            self._open.append(tag)
            self._within.append(name)
        told = " ".join(f"{key}={' '.join((given[key] or '').split())}" for key in _SHOWN if key in given)
        if tag not in self.DRAWN and (told or given.get("class") or tag in {"table", "tr", "details", "section"}):
            self.lines.append(f"<{name}>{' ' if told else ''}{told}")

    def handle_endtag(self, tag: str) -> None:
        """Leave the element, and those that were never closed."""
        while tag in self._open:
            self._within.pop()
            if self._open.pop() == tag:
                break

    def handle_data(self, data: str) -> None:
        """Note a text."""
        if data.strip() and not self.DRAWN.intersection(self._open):
            self.lines.append(f"{self._within[-1] if self._within else ''}: {' '.join(data.split())}")


# ---- comparing


def differences(name: str, expected: str, found: str, *, exact: bool = False) -> list[str]:
    """Where an output differs from the expected one, each with both values; empty if nowhere.

    Args:
        name: of the file that keeps it.
        expected: the output as it was.
        found: as it is.
        exact: the last digits of shares and percents may not differ either.
    """
    if exact and expected == found:
        return []
    if name.endswith((".json", ".jsonl")):
        same = _equal if exact else _same
        return list(_fields("", parsed(name, expected), parsed(name, found), same))
    ours, theirs = expected.splitlines(), found.splitlines()
    told = [
        f"line {at}: {one!r} became {other!r}"
        for at, (one, other) in enumerate(zip(ours, theirs, strict=False), 1)
        if (one != other if exact else not same_text(one, other))
    ]
    return told + ([f"{len(ours)} lines became {len(theirs)}"] if len(ours) != len(theirs) else [])


def parsed(name: str, text: str) -> Any:
    """The value of a JSON file, or those of all lines."""
    return [json.loads(line) for line in text.splitlines()] if name.endswith(".jsonl") else json.loads(text)


def _fields(path: str, expected: Any, found: Any, same: Callable[[Any, Any], bool]) -> Iterator[str]:
    """The differing fields below `path`."""
    if isinstance(expected, dict) and isinstance(found, dict):
        counted = all(type(value) is int for value in expected.values())  # equal counts stand as the cases came
        if not counted and list(expected) != list(found) and set(expected) == set(found):
            yield f"{path or '.'}: the order of its members {list(expected)} became {list(found)}"
        for key in [*expected, *(key for key in found if key not in expected)]:
            if key not in found:
                yield f"{path}.{key}: {_brief(expected[key])} is missing"
            elif key not in expected:
                yield f"{path}.{key}: {_brief(found[key])} is new"
            else:
                yield from _fields(f"{path}.{key}", expected[key], found[key], same)
    elif isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            yield f"{path or '.'}: {len(expected)} entries became {len(found)}"
        for at, (one, other) in enumerate(zip(expected, found, strict=False)):
            yield from _fields(f"{path}[{at}]", one, other, same)
    elif not same(expected, found):
        yield f"{path}: {_brief(expected)} became {_brief(found)}"


def _equal(expected: Any, found: Any) -> bool:
    """The same value; of numbers up to what another order of the sum makes."""
    if isinstance(expected, float) and isinstance(found, float):
        return abs(expected - found) <= _EPSILON * max(1.0, abs(expected))
    return type(expected) is type(found) and bool(expected == found)


def _same(expected: Any, found: Any) -> bool:
    if isinstance(expected, str) and isinstance(found, str):
        return same_text(expected, found)
    if type(expected) is not type(found):
        return False
    if isinstance(expected, float):
        return abs(expected - found) <= NEAR * max(1.0, abs(expected)) + _EPSILON
    return bool(expected == found)


def same_text(expected: str, found: str) -> bool:
    """Whether two texts are the same but for the last digits of shares and percents, bars and the width of gaps."""
    if expected == found:
        return True
    ours, theirs = (_NUMBER.split(_spaced(text)) for text in (expected, found))
    if ours[::2] != theirs[::2]:
        return False
    return all(_near(one, other) for one, other in zip(ours[1::2], theirs[1::2], strict=True))


def _spaced(text: str) -> str:
    """With every bar the same, and one space for several."""
    head = text[: len(text) - len(text.lstrip(" "))]
    return head + re.sub(r" +", " ", _BAR.sub("<bar>", text).strip(" "))


def _near(one: str, other: str) -> bool:
    if one == other:
        return True
    if "." not in one and "." not in other:
        return abs(int(one) - int(other)) <= NEAR_PERCENT
    a, b = float(one), float(other)
    return max(abs(a), abs(b)) <= 1 and abs(a - b) <= NEAR + _EPSILON


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}…"


# ---- the stored expectations


def expected_of(name: str) -> dict[str, str]:
    """The stored outputs of a case, by file."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted((EXPECTED / name).glob("*"))}


def record(row: Row) -> list[str]:
    """Store what a case leaves now; gives what is wrong with it."""
    found = outcome_of(row)
    folder = EXPECTED / row.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in found.outputs.items():
        (folder / name).write_text(text, encoding="utf-8")
    return wrong_codes(row, found)


def wrong_codes(row: Row, found: Outcome) -> list[str]:
    """The commands that ended with another exit code than the table says."""
    return [
        f"{step.command}: exit code {code} instead of {step.exit}: {told[-500:]}"
        for step, code, told in zip(row.steps, found.codes, found.told, strict=True)
        if code != step.exit
    ]
