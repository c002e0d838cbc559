"""Labelling in the browser: the items of `ragtriage trust label`, its words and its file, without the verdict."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from urllib.parse import quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, RedirectResponse, Response

from ragtriage.core.display import one_line
from ragtriage.core.errors import ConfigError, NotStoredError, RagtriageError
from ragtriage.core.validation import STRICT, Invalid, validated
from ragtriage.runs.run import RUNNING, Run, RunInfo
from ragtriage.trust.label_files import (
    PROMPTS,
    Draw,
    Item,
    Label,
    LabelFile,
    draw_items,
    metrics_to_label,
    read_labels,
)
from ragtriage.trust.label_session import (
    EvidenceText,
    LabellingSession,
    Passage,
    items_of_run,
    nearest_passages,
    texts_against,
)
from ragtriage.view.filters import BadFilterError
from ragtriage.view.opened_runs import PATIENCE, NotReadYetError, OpenedRuns, version_of
from ragtriage.view.pages import Pages

if TYPE_CHECKING:
    from starlette.requests import Request

USUAL = 20
"""Items that are asked where nobody says how many, as by the command."""
MOST = 10_000
ITEM_BYTES = 1_000
"""What an item takes in memory, about."""
LONGEST_NAME = 100
"""Characters of the name of who labels."""
NEAR = 1_500
"""Characters of the nearest passages that are shown; the first one is whole."""
GIVEN_PATIENCE = 20.0
"""Seconds that an answer waits where the run has changed and is drawn from anew; a page says so sooner."""
LARGEST_ANSWER = 64_000
"""Bytes of a request that gives a label."""
GivenAnswer = Literal["yes", "no", "skip"]
LABELS: Mapping[GivenAnswer, bool | None] = {"yes": True, "no": False, "skip": None}
NO_LABELS = "nothing of it can be labelled"
CHANGED = "The item has changed since it was shown, so nothing was written. Here it is as it is now."


@dataclass(frozen=True, slots=True)
class LabelRequest:
    """Which sample an address names, and who labels it."""

    metrics: tuple[str, ...]
    n: int
    seed: int
    by: str

    def address(self, base: str, **further: object) -> str:
        """An address with this sample."""
        seed = [("seed", self.seed)] if self.seed else []
        own = [*(("metric", one) for one in self.metrics), ("n", self.n), ("by", self.by), *seed]
        return f"{base}?{urlencode([*own, *further.items()])}"


@dataclass(frozen=True, slots=True)
class GivenLabel:
    """What a page sends when an item is answered."""

    __pydantic_config__: ClassVar[Any] = STRICT

    item: tuple[str, str, int]
    """Its case, metric and component."""
    answer: GivenAnswer
    version: str
    """Of what was shown."""


@dataclass(frozen=True, slots=True)
class PassageGroup:
    """Passages of one text that stand below one name, and below the columns of one table."""

    name: str
    columns: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShownItem:
    """What a person sees of an item: nothing that the judge said of it."""

    question: str
    """What is asked about the component."""
    called: str
    """What the component is called."""
    text: str
    query: str
    history: tuple[tuple[str, str], ...]
    """(who speaks, text) of the conversation before the query."""
    near: tuple[PassageGroup, ...]
    left: int
    """Passages that aren't among those."""
    whole: tuple[EvidenceText, ...]

    @property
    def version(self) -> str:
        """Another one where anything of it is."""
        shown = [self.question, self.text, self.query, self.history, self.whole]
        return hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:32]


class Labelling:
    """The pages on which labels are given; their file is opened anew for each, since others may append to it."""

    def __init__(self, runs: OpenedRuns, pages: Pages, file: Path) -> None:
        self._runs, self._pages, self._file = runs, pages, file

    def label(self, request: Request) -> Response:
        """The next item of a sample, or the one at a place; without a sample the form that asks for one."""
        key = request.path_params["key"]
        run = self._runs.source.run(key)
        if not self._pages.writing:
            return self._pages.page(request, "label_off.html.j2", key=key, info=run.info, status=403)
        self._runs.require_texts(run, NO_LABELS)
        if "n" not in request.query_params:
            return self._start(request, key, run)
        asked = asked_of(request, run.info)
        draw = self._draw(key, run, asked)
        with LabelFile(self._file) as file:
            session = _session(file, run, draw, asked)
        base = f"/runs/{quote(key)}/label"
        at = _place(request, "at", len(session.items))
        at = session.next_from(0) if at is None else at
        if at is None:
            return RedirectResponse(asked.address(f"{base}/result"), 303)
        item = session.items[at]
        shown = self._shown(run, item)
        after = _place(request, "after", len(session.items))
        last = None if after is None else session.label_of(after)
        back = after if last else at - 1 if at else None
        return self._page(
            request, "label.html.j2", key=key, info=run.info, item=json.dumps([item.case, item.metric, item.component]),
            shown=shown, at=at, of=len(session.items), labelled=len(session.labels), asked=asked, last=last,
            before=session.label_of(at), after=after, back="" if back is None else asked.address(base, at=back),
            post=asked.address(base), on=asked.address(base), result=asked.address(f"{base}/result"),
            changed=CHANGED if "changed" in request.query_params else "", rejected=len(file.rejected),
        )  # fmt: skip

    async def give(self, request: Request) -> Response:
        """Write a label, and say where the next item is: JSON with `to`, or with what is wrong as `said`."""
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LARGEST_ANSWER:
                return JSONResponse({"said": "That is more than a label."}, 413)
        return await run_in_threadpool(self._give, request, body)

    def _give(self, request: Request, body: bytes) -> Response:
        try:
            sent = validated(GivenLabel, json.loads(body))
        except (ValueError, RecursionError) as error:
            said = str(error) if isinstance(error, Invalid) else "it is not JSON"
            return JSONResponse({"said": f"This label can't be used: {said}"}, 400)
        try:
            return self._kept(request, sent)
        except NotReadYetError:
            return JSONResponse({"said": "The run has changed and is being read again: answer once more."}, 503)
        except RagtriageError as error:
            return JSONResponse({"said": one_line(str(error), 600)}, 404 if isinstance(error, NotStoredError) else 400)
        except OSError as error:
            said = f"{self._file}: can't be written: {error.strerror or error}. The label is not kept."
            return JSONResponse({"said": said}, 500)

    def _kept(self, request: Request, sent: GivenLabel) -> Response:
        key = request.path_params["key"]
        run = self._runs.source.run(key)
        self._runs.require_texts(run, NO_LABELS)
        asked = asked_of(request, run.info)
        draw = self._draw(key, run, asked, GIVEN_PATIENCE)
        base = f"/runs/{quote(key)}/label"
        with LabelFile(self._file) as file:
            session = _session(file, run, draw, asked)
            at = next((at for at, one in enumerate(session.items) if _key(one) == sent.item), None)
            if at is None:  # with its case, or drawn no more
                return JSONResponse({"said": CHANGED, "to": asked.address(base, changed=1)}, 409)
            if self._shown(run, session.items[at]).version != sent.version:
                return JSONResponse({"said": CHANGED, "to": asked.address(base, at=at, changed=1)}, 409)
            session.answer(at, LABELS[sent.answer])
            left = session.next_from(at + 1)
        to = asked.address(f"{base}/result") if left is None else asked.address(base, at=left, after=at)
        return JSONResponse({"to": to})

    def _start(self, request: Request, key: str, run: Run) -> Response:
        metrics = metrics_to_label(["all"], run.info.metrics)
        held = Counter((one.by, one.metric) for one in labels_of(self._file, run.info))
        return self._page(
            request, "label_start.html.j2", key=key, info=run.info, metrics=metrics, usual=USUAL, most=MOST,
            longest=LONGEST_NAME, held=sorted(held.items()), prompts=PROMPTS,
            chosen="groundedness" if "groundedness" in metrics else metrics[0],
        )  # fmt: skip

    def _page(self, request: Request, name: str, **found: Any) -> Response:
        info: RunInfo = found["info"]
        running = info.state == RUNNING
        return self._pages.page(request, name, file=str(self._file), running=running, **found)

    def _draw(self, key: str, run: Run, asked: LabelRequest, patience: float = PATIENCE) -> Draw:
        what = "draw", key, asked.metrics, asked.n, asked.seed

        def draw() -> Draw:
            return draw_items(items_of_run(run, asked.metrics), asked.metrics, asked.n, asked.seed)

        found: Draw = self._runs.result(
            what, version_of(run), draw, patience, lambda drawn: ITEM_BYTES * len(drawn.items)
        )
        return found

    def _shown(self, run: Run, item: Item) -> ShownItem:
        record = run.record(item.case)
        prompt, texts = PROMPTS[item.metric], texts_against(item, record)
        passages = nearest_passages(item, texts)
        near = _first(passages, NEAR)
        return ShownItem(
            prompt.question,
            prompt.component,
            item.text,
            record.case.query,
            tuple((turn.role, turn.text) for turn in record.case.history),
            _grouped(near),
            len(passages) - len(near),
            tuple(texts),
        )


def labels_of(file: Path, info: RunInfo) -> Sequence[Label]:
    """The labels of a run in a file; none where there is no such file."""
    names = names_of(info)
    return [one for one in read_labels(file)[0] if one.run in names] if file.exists() else []


def names_of(info: RunInfo) -> tuple[str, ...]:
    """By what labels may name a run, the one first that is written: its number, or a folder's identity."""
    return (info.identity,) if info.address else (str(info.number), info.identity)


def _session(file: LabelFile, run: Run, draw: Draw, asked: LabelRequest) -> LabellingSession:
    return LabellingSession(file, names_of(run.info)[0], draw, asked.by)


def asked_of(request: Request, info: RunInfo) -> LabelRequest:
    """The sample that an address names."""
    given = request.query_params
    try:
        metrics = metrics_to_label(given.getlist("metric") or ["groundedness"], info.metrics)
    except ConfigError as error:
        raise BadFilterError(str(error).removeprefix("--"), "metric") from error
    by = given.get("by", "").strip()
    if len(by) > LONGEST_NAME:
        raise BadFilterError(f"by={one_line(by, 40)}: a name has at most {LONGEST_NAME} characters", "by")
    return LabelRequest(
        metrics, _whole_number(request, "n", USUAL, 1, MOST), _whole_number(request, "seed", 0, 0, 2**31), by
    )


def _whole_number(request: Request, name: str, usual: int, low: int, high: int) -> int:
    text = request.query_params.get(name, "") or str(usual)
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(high)) and low <= int(text) <= high):
        raise BadFilterError(f"{name}={one_line(text, 40)}: write a whole number from {low:,} to {high:,}", name)
    return int(text)


def _place(request: Request, name: str, size: int) -> int | None:
    """The place in the sample that a part of the address names, from 0; None where it names none."""
    if name not in request.query_params:
        return None
    return _whole_number(request, name, 0, 0, size - 1)


def _key(item: Item) -> tuple[str, str, int]:
    return item.case, item.metric, item.component


def _first(passages: Sequence[Passage], most: int) -> Sequence[Passage]:
    """As many of the first as have so many characters together; the very first in any case."""
    size, count = 0, 0
    for one in passages:
        size += len(one.text) + len(one.columns)
        if count and size > most:
            break
        count += 1
    return passages[:count]


def _grouped(passages: Sequence[Passage]) -> tuple[PassageGroup, ...]:
    below = groupby(passages, key=lambda one: (one.name, one.columns))
    return tuple(PassageGroup(name, columns, tuple(one.text for one in some)) for (name, columns), some in below)
