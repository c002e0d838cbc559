"""Pipelines and agents of Haystack as applications, and scores in a pipeline."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, get_args

from ragtriage.adapters.asked_objects import HISTORY, QUERY_KEYS, messages, refuse_further
from ragtriage.adapters.packages import require
from ragtriage.adapters.retrieval_notes import RetrievalNotes, document
from ragtriage.collect.application import NO_ANSWER, UNREADABLE, Unanswered
from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError
from ragtriage.core.event_loops import in_a_thread
from ragtriage.readers.traces.attributes import FoundDocument

if TYPE_CHECKING:
    from ragtriage.adapters.harness import HarnessOptions
    from ragtriage.adapters.judged_row import JudgedRow

LEAST = "2.31.0"
EMBEDDED = "text"
"""The input of an embedder; where one has to be given, it is the question."""


def haystack_object(name: str, found: Any, key: str | None) -> HaystackPipeline | HaystackAgent | None:
    """An adapter for a pipeline or an agent; None for another object."""
    if hasattr(found, "get_component") and hasattr(found, "inputs"):
        return HaystackPipeline(name, found, key)
    if not (hasattr(found, "chat_generator") and hasattr(found, "run_async")):
        return None
    if key is not None:
        raise ConfigError(f"--app {name}: an agent takes the question as a message: leave out --app-input {key}")
    return HaystackAgent(found)


class HaystackPipeline:
    """Runs a pipeline; its sources are what the last components with documents gave."""

    kind = "Haystack pipeline"
    remembers = False

    def __init__(self, name: str, pipeline: Any, key: str | None) -> None:
        require("haystack-ai", LEAST)
        self._pipeline = pipeline
        self._query_inputs, self._history_inputs = _inputs(name, pipeline.inputs(), key)
        self._last = _last_producers(pipeline.graph)
        self._steps = hasattr(pipeline, "run_async_generator")
        in_loop = not self._steps and any(_comes_back(pipeline.graph, one) for one in self._last)
        once = "a component that gives documents stands in a loop, and Haystack tells only what it gave last"
        self.notes = (once,) if in_loop else ()

    async def answer(self, case: Case, retrieved: RetrievalNotes) -> str | None:
        """Run it."""
        data: dict[str, dict[str, Any]] = {}
        values = dict.fromkeys(self._query_inputs, case.query) | dict.fromkeys(
            self._history_inputs, _chat(messages(case))
        )
        for (component, socket), value in values.items():
            data.setdefault(component, {})[socket] = value
        return _answer(await (self._run_in_steps if self._steps else self._run)(data, retrieved), retrieved)

    async def _run_in_steps(self, data: dict[str, Any], retrieved: RetrievalNotes) -> Mapping[str, Any]:
        outputs: Mapping[str, Any] = {}
        waiting: Mapping[str, Any] = {}
        try:
            async for outputs in self._pipeline.run_async_generator(data, include_outputs_from=set(self._last)):
                self._note(waiting, retrieved)
                waiting = outputs
        except Exception:
            self._note(waiting, retrieved)
            raise
        return outputs  # the last ones are the whole pipeline's, which hold once more what was noted

    async def _run(self, data: dict[str, Any], retrieved: RetrievalNotes) -> Mapping[str, Any]:
        outputs = await in_a_thread(partial(self._pipeline.run, data, include_outputs_from=set(self._last)))
        self._note(outputs, retrieved)
        return outputs  # type: ignore[no-any-return]  # the framework's

    def _note(self, outputs: Mapping[str, Any], retrieved: RetrievalNotes) -> None:
        with retrieved.noting():
            for component, sockets in self._last.items():
                for found in (outputs.get(component, {}).get(socket) for socket in sockets):
                    if found is not None:
                        retrieved.begin(None).documents = list(map(_document, found))


class HaystackAgent:
    """Runs an agent; its sources are the documents of its state, else what its tools gave."""

    kind = "Haystack agent"
    remembers = False
    notes = ()

    def __init__(self, agent: Any) -> None:
        require("haystack-ai", LEAST)
        self._agent = agent

    async def answer(self, case: Case, retrieved: RetrievalNotes) -> str | None:
        """Run it with the question as a message of its user."""
        outputs = await self._agent.run_async(
            messages=_chat([*messages(case), {"role": "user", "content": case.query}])
        )
        with retrieved.noting():
            if (documents := outputs.get("documents")) is not None:
                retrieved.given = list(map(_document, documents))
            for message in outputs["messages"] if documents is None else ():
                for found in filter(None, (_documents_in(one.result) for one in message.tool_call_results)):
                    retrieved.begin(None).documents = found
        text = outputs["last_message"].text
        if text is None:
            raise Unanswered(NO_ANSWER, "the agent's last message has no text", broken=False)
        return str(text)


def _inputs(name: str, inputs: Mapping[str, Any], given: str | None) -> tuple[list[Any], list[Any]]:
    """The inputs that take the question, and those that take the conversation before it, as (component, socket)."""
    sockets = {(component, one): info for component, its in inputs.items() for one, info in its.items()}
    needed = {at for at, info in sockets.items() if info["is_mandatory"]}
    asked = [at for at in sockets if at[1] in QUERY_KEYS or (at[1] == EMBEDDED and at in needed)]
    if given is not None:
        parts = (one.strip().rpartition(".") for one in given.split(","))
        asked = [(component, socket) for component, _, socket in parts]
        if wrong := [one for one in asked if one not in sockets]:
            there = ", ".join(sorted(".".join(at) for at in sockets))
            raise ConfigError(f"--app {name}: has no input {'.'.join(wrong[0])!r}; it has {there}")
    if not asked:
        raise ConfigError(f"--app {name}: say with --app-input, as in prompt.question, which input takes the question")
    before = [at for at in sockets if at[1] == HISTORY]
    refuse_further(name, {".".join(at) for at in needed - {*asked, *before}}, ".".join(asked[0]))
    return asked, before


def _last_producers(graph: Any) -> dict[str, list[str]]:
    """Components that give lists of documents, with those outputs, whose documents reach no further such component."""
    giving = {name: _documents_of(data["output_sockets"].values()) for name, data in graph.nodes(data=True)}
    edges = graph.edges(data=True)
    passed = {start for start, end, edge in edges if giving[end] and edge["from_socket"].name in giving[start]}
    last = {name: sockets for name, sockets in giving.items() if sockets and name not in passed}
    return last or {name: sockets for name, sockets in giving.items() if sockets}


def _documents_of(sockets: Iterable[Any]) -> list[str]:
    """The names of outputs that are lists of documents."""
    return [one.name for one in sockets if [getattr(arg, "__name__", "") for arg in get_args(one.type)] == ["Document"]]


def _comes_back(graph: Any, component: str) -> bool:
    below = import_module("networkx").descendants  # what Haystack's graphs are made with
    return any(component in {one, *below(graph, one)} for one in graph.successors(component))


def _answer(outputs: Mapping[str, Any], retrieved: RetrievalNotes) -> str | None:
    """The first answer, else the first reply, that the pipeline gives; None from one that only retrieves."""
    for name, part in (("answers", "data"), ("replies", "text")):
        for its in outputs.values():
            if its.get(name):
                found = its[name][0]
                text = found if isinstance(found, str) else getattr(found, part, None)
                if text is None:
                    raise Unanswered(NO_ANSWER, f"the first of {name} has no text", broken=False)
                return str(text)
    if any(name in its for name in ("answers", "replies") for its in outputs.values()):
        raise Unanswered(NO_ANSWER, "the pipeline gave an empty list of answers", broken=False)
    if retrieved.ended:
        return None
    raise Unanswered(UNREADABLE, f"no component gave answers or replies; there are outputs of {', '.join(outputs)}")


def _document(found: Any) -> FoundDocument:
    return document(found.content, found.id, found.score)


def _documents_in(result: Any) -> list[FoundDocument]:
    """Documents in what a tool gave, which is written as JSON: a list of them, or an object with one."""
    try:
        value = json.loads(result)
    except (TypeError, ValueError):
        return []
    found = value.get("documents", ()) if isinstance(value, dict) else value
    items = [one for one in found if isinstance(one, dict) and "content" in one] if isinstance(found, list) else []
    return [document(one["content"], one.get("id"), one.get("score")) for one in items]


def _chat(said: Iterable[Mapping[str, str]]) -> list[Any]:
    message = import_module("haystack.dataclasses").ChatMessage
    return [
        message.from_user(m["content"]) if m["role"] == "user" else message.from_assistant(m["content"]) for m in said
    ]


@lru_cache(maxsize=1)
def evaluator_class() -> Any:
    """The component `RagtriageEvaluator`; a ConfigError where Haystack isn't there."""
    require("haystack-ai", LEAST)
    from haystack import component, default_from_dict, default_to_dict

    from ragtriage.adapters.harness import Harness

    class RagtriageEvaluator:
        """Judges answers by their contexts: an output for every metric, and `results`, a mapping a row.

        A metric's output has `score`, the mean of those that are defined, and `individual_scores`, with NaN where one
        is undefined or the judge failed; the row's `status` in `results` is then `undefined` or `error`.

        Args:
            metrics: their names, as for `--metrics`; those of the settings, else THELMA's, if None.
            options: see `ragtriage.adapters.harness.HarnessOptions`.

        Raises:
            ConfigError: a metric or the judge can't be used.
        """

        def __init__(self, metrics: Sequence[str] | None = None, **options: Unpack[HarnessOptions]) -> None:
            self._given = {"metrics": metrics, **options}
            self._harness = Harness("haystack", metrics, options)
            outputs: dict[str, Any] = dict.fromkeys(self._harness.names, dict[str, Any])
            component.set_output_types(self, results=list[dict[str, Any]], **outputs)

        def run(
            self,
            questions: list[str],
            contexts: list[list[str]],
            predicted_answers: list[str],
            ground_truth_answers: list[str] | None = None,
        ) -> dict[str, Any]:
            """Judge all rows as one batch; the lists have the same length."""
            harness = self._harness
            truths: Sequence[str | None] = ground_truth_answers or [None] * len(questions)
            rows = [
                {"query": query, "sources": sources, "response": answer, "reference": truth}
                for query, sources, answer, truth in zip(questions, contexts, predicted_answers, truths, strict=True)
            ]
            judged = harness.judge_rows(rows)
            found: dict[str, Any] = {"results": [_result(row, harness.names) for row in judged]}
            for name in harness.names:
                scores = [float(getattr(row.outcome(name), "value", math.nan)) for row in judged]
                known = [score for score in scores if not math.isnan(score)]
                mean = sum(known) / len(known) if known else math.nan
                found[name] = {"score": mean, "individual_scores": scores}
            return found

        def to_dict(self) -> dict[str, Any]:
            """For a pipeline that is written to a file."""
            given = {name: str(it) if isinstance(it, Path) else it for name, it in self._given.items()}
            return dict(default_to_dict(self, **given))

        @classmethod
        def from_dict(cls, data: dict[str, Any]) -> Any:
            """Undo `to_dict`."""
            return default_from_dict(cls, data)

    RagtriageEvaluator.__module__ = "ragtriage.haystack"  # where Haystack finds it again
    RagtriageEvaluator.__qualname__ = RagtriageEvaluator.__name__
    return component(RagtriageEvaluator)


def _result(row: JudgedRow, names: Sequence[str]) -> dict[str, Any]:
    outcomes = [row.outcome(name) for name in names]
    failed = any(getattr(outcome, "failed", False) for outcome in outcomes)
    status = "error" if failed else "undefined" if row.reason else "ok"
    return {
        "query": row.record.case.query,
        **{name: getattr(row.outcome(name), "value", math.nan) for name in names},
        "headline": str(row.head),
        "component": row.head.component,
        "why": {name: row.why(name) for name in names},
        "status": status,
        "reason": row.reason,
    }
