"""What `--app` names, and what is handed over in Python, becomes an application; without a framework."""

import asyncio
import importlib
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ragtriage import ApplicationError, Case, ConfigError, InputError
from ragtriage.adapters.asked_objects import query_key, refuse_further
from ragtriage.adapters.opening import acollect, application_of, collect, open_application
from ragtriage.adapters.packages import require
from ragtriage.adapters.retrieval_notes import RetrievalNotes, document
from ragtriage.collect.application_names import ApplicationSpec


def respond(query: str) -> dict[str, Any]:
    return {"response": query.upper(), "sources": [{"text": "A text.", "id": "t"}]}


def test_a_function_stays_what_it_is_and_gives_cases_in_order() -> None:
    async def later(query: str) -> Any:
        await asyncio.sleep(0.05 if query == "a" else 0)
        return respond(query)

    cases = collect(later, ["a", Case("x", "b", tags={"topic": "t"}), "a"])

    assert [(case.id, case.query, case.response) for case in cases] == [
        ("1", "a", "A"),
        ("x", "b", "B"),
        ("3", "a", "A"),
    ]
    assert cases[1].known_sources[0].id == "t"
    assert cases[1].tags["topic"] == "t"
    assert application_of("respond", respond).name == "respond"

    async def in_a_notebook() -> tuple[list[Case], list[Case]]:
        return collect(respond, ["a"]), await acollect(respond, ["a"])

    ours, theirs = asyncio.run(in_a_notebook())
    assert ours[0].response == theirs[0].response == "A"


def test_a_failure_is_a_case_without_a_response_and_no_answer_at_all_is_said() -> None:
    def fails(query: str) -> str:
        if query == "b":
            raise KeyError(query)
        return query

    cases = collect(fails, ["a", "b"])

    assert [case.response for case in cases] == ["a", None]
    assert cases[1].tags["failure"] == "exception KeyError"
    with pytest.raises(ApplicationError, match="no query was answered: the reply is a number"):
        collect(lambda query: 1, ["a"])
    assert collect(respond, []) == []
    with pytest.raises(InputError, match="several have one id"):
        collect(respond, [Case("1", "a"), Case("1", "b")])


def test_as_many_are_built_as_are_asked_at_once_and_each_one_query_at_a_time() -> None:
    built = []

    def build() -> Any:
        lock = threading.Lock()

        def answer(query: str) -> str:
            assert lock.acquire(blocking=False)
            threading.Event().wait(0.02)
            lock.release()
            return query

        built.append(answer)
        return answer

    questions = [str(number) for number in range(12)]
    cases = collect(build, questions, build=True, concurrency=3)

    assert [case.response for case in cases] == questions
    assert len(built) == 3


def test_one_that_took_too_long_is_not_asked_again() -> None:
    built: list[list[str]] = []

    def build() -> Any:
        heard: list[str] = []
        built.append(heard)

        async def answer(query: str) -> str:
            heard.append(query)
            await asyncio.sleep(5 if query == "slow" else 0)
            return query

        return answer

    cases = collect(build, ["a", "slow", "b"], build=True, concurrency=1, timeout=0.2)

    assert [case.response for case in cases] == ["a", None, "b"]
    assert built == [["a", "slow"], ["b"]]


APP = """
def answer(query): return query
def build(): return answer
def broken(): raise ValueError("no index")
number = 1
class Thing: ...
"""


def test_what_a_function_builds_is_asked_and_what_can_not_be_asked_is_told(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app.py").write_text(APP, encoding="utf-8")
    application = open_application(ApplicationSpec("app.py:build()"), (), 1)

    assert asyncio.run(application.ask(Case("1", "Q"))).response == "Q"
    assert application.name == "app.py:build()"
    for app, told in {
        "broken()": r"can't be built: ValueError: no index",
        "number()": r"which can't be called: leave out the \(\)",
        "number": "not a function",
        "Thing": "not a function",
        "nothing()": "has no 'nothing'",
    }.items():
        with pytest.raises(ConfigError, match=told):
            open_application(ApplicationSpec(f"app.py:{app}"), (), 1)
    for app in ("app.py:build()", "http://127.0.0.1:1/"):
        with pytest.raises(ConfigError, match="--app-input is for objects of a framework"):
            open_application(ApplicationSpec(app, input="question"), (), 1)


def having(**methods: Any) -> Any:
    return type("Duck", (), methods)()


async def some(*_: Any, **__: Any) -> None: ...


@pytest.mark.parametrize(
    ("made", "package", "module"),
    [
        (having(ainvoke=some, with_config=some), "langchain-core>=0.3.86", "langchain_core"),
        (having(ainvoke=some, with_config=some, builder=None), "langgraph>=0.6.11", "langgraph"),
        (having(aquery=some, aretrieve=some), "llama-index-core>=0.12.52", "llama_index"),
        (having(achat=some, reset=some), "llama-index-core>=0.12.52", "llama_index"),
        (having(aretrieve=some), "llama-index-core>=0.12.52", "llama_index"),
        (having(get_component=some, inputs=some), "haystack-ai>=2.31.0", "haystack"),
        (having(chat_generator=None, run_async=some), "haystack-ai>=2.31.0", "haystack"),
    ],
)
def test_an_object_is_recognised_without_its_framework_which_is_missing(made: Any, package: str, module: str) -> None:
    if find_spec(module):
        pytest.skip(f"{module} is installed")
    with pytest.raises(ConfigError, match=f"^{package} is needed, and .* isn't installed"):
        application_of("app", made)
    with pytest.raises(ConfigError, match=r"'app' is .*, not a function"):
        application_of("app", type(made))


def test_a_package_that_is_missing_or_too_old_is_named_with_what_is_needed() -> None:
    with pytest.raises(ConfigError, match=r"no-such-framework>=1\.2 is needed, and no-such-framework isn't installed"):
        require("no-such-framework", "1.2")
    with pytest.raises(ConfigError, match=r"numpy>=99\.0 is needed, and numpy .* is installed: pip install -U"):
        require("numpy", "99.0")
    require("numpy", "1.2")
    require("no-such-framework", "1.2", "numpy")


def test_the_question_goes_into_the_one_input_that_is_so_named() -> None:
    assert query_key("app", ("topic", "query"), None) == "query"
    assert query_key("app", (), None) is None
    assert query_key("app", (), "topic") == "topic"
    refuse_further("app", {"query", "chat_history"}, "query")
    with pytest.raises(ConfigError, match="app: needs context, query: only the question can be given"):
        refuse_further("app", {"query", "context"}, "query")


def test_each_text_of_an_id_counts_once_and_what_was_not_told_is_not_recorded() -> None:
    notes = RetrievalNotes()
    first, second, failed = notes.begin("a"), notes.begin("b"), notes.begin("c")
    second.documents = [document("Two.", "2", 0.2), document(" ", "image", None), document("One.", "1", float("nan"))]
    first.documents = [document("One.", "1", 0.5), document("One.", "other", None)]
    reply = notes.reply("R")
    assert [(one.text, one.id) for one in reply.sources or ()] == [("One.", "1"), ("One.", "other"), ("Two.", "2")]
    assert reply.scores == (0.5, None, 0.2)
    assert reply.tags == {"retrievals": 2, "searched": ["a", "b"], "sources_left_out": 1}
    assert failed.documents is None

    silent, empty, lost = RetrievalNotes(), RetrievalNotes(), RetrievalNotes()
    empty.begin("a").documents = []
    lost.begin("a").documents = []
    with lost.noting():
        raise TypeError("a note that can't be taken")
    assert (silent.reply("R").sources, empty.reply("R").sources, lost.reply("R").sources) == (None, (), None)


@pytest.mark.parametrize("name", ["langchain", "llama_index", "haystack"])
def test_importing_a_frameworks_module_loads_no_framework_and_nothing_heavy(name: str) -> None:
    heavy = ("langchain_core", "langgraph", "llama_index", "haystack", "numpy", "pydantic", "asyncio")
    code = f"import sys, ragtriage.{name} as it; print([n for n in {heavy} if n in sys.modules], it.collect.__name__)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert shown.stdout.strip() == "[] collect"
    with pytest.raises(AttributeError, match=rf"module 'ragtriage\.{name}' has no attribute 'nothing'"):
        _ = importlib.import_module(f"ragtriage.{name}").nothing
