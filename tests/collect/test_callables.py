"""Functions as applications."""

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asked import OUT, QUICK, ask, cases, rows_in

from ragtriage.adapters.opening import open_application
from ragtriage.collect.application import FIRST, RequestPolicy
from ragtriage.collect.application_names import ApplicationSpec
from ragtriage.collect.callables import CallableApplication
from ragtriage.core.case import Case, Source
from ragtriage.core.errors import ApplicationError, ConfigError


def named(function: Callable[..., Any]) -> CallableApplication:
    return CallableApplication("app", function)


async def later(query: str) -> str:
    await asyncio.sleep(0.01)
    return query.upper()


class Assistant:
    """An object that can be called, and has a method that can."""

    async def __call__(self, query: str) -> str:
        """The answer."""
        return await later(query)

    def method(self, query: str, k: int = 5) -> str:
        """The answer, with a parameter of its own."""
        return f"{query} {k}"


@pytest.mark.parametrize(
    ("function", "response"),
    [
        (str.upper, "A"),
        (later, "A"),
        (Assistant(), "A"),
        (lambda query, k=5: later(query), "A"),
        (Assistant().method, "a 5"),
        (lambda query, row: f"{row['id']} {row['topic']}", "a t"),
        (lambda query, row=None: row["query"], "a"),
    ],
)
def test_it_gets_the_query_or_the_row_too(tmp_path: Path, function: Callable[..., Any], response: str) -> None:
    rows = ask(tmp_path, named(function), [Case("a", "a", tags={"topic": "t"})])

    assert rows["a"]["response"] == response
    assert rows["a"]["topic"] == "t"


def test_a_mapping_may_hold_sources_and_ids(tmp_path: Path) -> None:
    found = {"response": "r", "sources": ["x", {"text": "y"}], "ids": ["1", 2]}
    rows = ask(
        tmp_path, named(lambda query: found if query == "a" else {"response": "", "ids": ["9"]}), cases("a", "b")
    )

    assert rows["a"]["sources"] == [{"text": "x", "id": "1"}, {"text": "y", "id": "2"}]
    assert rows["a"]["retrieved"] == ["1", "2"]
    assert (rows["b"]["response"], rows["b"]["sources"], rows["b"]["retrieved"]) == ("", [], ["9"])


def test_an_exception_is_recorded_with_its_kind_and_place_and_is_not_asked_again(tmp_path: Path) -> None:
    asked: list[str] = []

    def fails(query: str) -> str:
        asked.append(query)
        if query == "b":
            raise KeyError("no such shelf")
        if query == "c":
            raise SystemExit
        return "fine"

    for _ in range(2):
        rows = ask(tmp_path, named(fails), cases("a", "b", "c", "d"))

    assert sorted(asked) == ["a", "b", "c", "d"]
    assert rows["b"]["failure"] == "exception KeyError"
    assert "no such shelf" in rows["b"]["failure_detail"]
    assert "test_callables.py, line " in rows["b"]["failure_detail"]
    assert rows["c"]["failure"] == "exception SystemExit"
    assert rows["d"]["response"] == "fine"


def test_what_failed_is_asked_again_if_that_is_wanted(tmp_path: Path) -> None:
    broken = True

    def mended(query: str) -> str:
        if broken and query == "b":
            raise ValueError
        return query

    ask(tmp_path, named(mended), cases("a", "b", "c"))
    broken = False
    rows = ask(tmp_path, named(mended), cases("a", "b", "c"), retry_failed=True)

    assert [rows[name]["response"] for name in "abc"] == ["a", "b", "c"]
    assert [path.name for path in tmp_path.iterdir()] == [OUT]


def test_a_function_that_always_raises_is_stopped(tmp_path: Path) -> None:
    def fails(query: str) -> str:
        raise RuntimeError("no index loaded")

    with pytest.raises(ApplicationError, match=f"{FIRST} queries failed and nothing was answered: .*no index loaded"):
        ask(tmp_path, named(fails), cases(*map(str, range(100))))

    assert FIRST <= len(rows_in(tmp_path / OUT)) <= FIRST + QUICK.concurrency


def test_a_function_that_hangs_holds_up_no_other(tmp_path: Path) -> None:
    closing = threading.Event()

    def hangs(query: str) -> str:
        if query in {"a", "b"}:
            closing.wait(30)
        return query

    begun = time.monotonic()
    rows = ask(tmp_path, named(hangs), cases(*"abcdefgh"), RequestPolicy(concurrency=2, timeout=0.3))
    closing.set()

    assert time.monotonic() - begun < 10
    assert [rows[name]["response"] for name in "abcdefgh"] == [None, None, *"cdefgh"]
    assert rows["a"]["failure"] == rows["b"]["failure"] == "time-out"


def test_as_many_as_allowed_are_asked_at_once(tmp_path: Path) -> None:
    now = most = 0

    async def counted(query: str) -> str:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return query

    ask(tmp_path, named(counted), cases(*map(str, range(30))), RequestPolicy(concurrency=5))

    assert most == 5


@pytest.mark.parametrize("value", [None, 3, ["a"], object(), {"text": "x"}, {"response": 5}])
def test_what_is_no_reply_is_told(tmp_path: Path, value: Any) -> None:
    rows = ask(tmp_path, named(lambda query: "fine" if query == "a" else value), cases("a", "b"), RequestPolicy(1))

    assert rows["b"]["failure"] == "unreadable reply"
    assert "the reply" in rows["b"]["failure_detail"]


def test_parameters_that_do_not_fit_are_told_before_anything_is_asked() -> None:
    with pytest.raises(ConfigError, match="give it one parameter, the query, or two"):
        named(lambda query, *, key: "")


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules in the present folder: with a function, and one that needs another."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("def respond(query): return query\n", encoding="utf-8")
    Path("lacking.py").write_text("import nowhere_at_all\n", encoding="utf-8")


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("mine.py:", "write module:name"),
        ("lacking.py:answer", "No module named 'nowhere_at_all'"),
        ("mine.py:nope", "mine.py has no 'nope'."),
        ("mine.py:respnd", "mine.py has no 'respnd'. Did you mean 'respond'?"),
        ("mine.py:respond.nope", "mine.py has no 'nope'."),
    ],
)
def test_a_function_that_cannot_be_found_is_told(spec: str, told: str) -> None:
    with pytest.raises(ConfigError) as raised:  # others stand in tests/bad_input/collect.jsonl
        open_application(ApplicationSpec(spec), (), 1)

    assert told in str(raised.value)


GIVEN = [{"text": "Ada did.", "id": "d1"}, {"text": "Bruno didn't."}]


def test_a_function_gets_given_sources_by_name_and_is_refused_without_a_place_for_them() -> None:
    def with_default(query: str, sources: Any = None) -> str:
        return f"{query} {sources}"

    def with_row(query: str, row: Any, *, sources: Any) -> str:
        return f"{row['language']} {sources}"

    async def all_named(query: str, **further: Any) -> str:
        return str(further)

    case = Case("1", "Who?", (Source("Ada did.", "d1"), Source("Bruno didn't.")), tags={"language": "en"})
    told = {with_default: f"Who? {GIVEN}", with_row: f"en {GIVEN}", all_named: str({"sources": GIVEN})}
    for function, response in told.items():
        application = CallableApplication("mine", function, give_sources=True)
        assert asyncio.run(application.ask(case)).response == response
    with pytest.raises(ConfigError, match="can't answer from sources that it is given: give the function a parameter"):
        CallableApplication("mine", lambda query: query, give_sources=True)
