"""A decision model that answers by the texts that a question names, as a transport and behind a server.

judge = judge_of(Decider())

with Server(Decider()) as server:
    command("evaluate", "rows.jsonl", "--judge", f"systemone:m@{server.root}")
"""

import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragtriage.judges.budget import Ledger
from ragtriage.judges.decisions.judge import BATCH, DecisionJudge
from ragtriage.judges.decisions.models import DecisionWords, decision_model, read_words
from ragtriage.judges.decisions.transport import usage_of
from ragtriage.judges.llm.channel import Channel
from ragtriage.judges.llm.options import ExchangeError, LLMOptions, Price, Prompt, Reply
from servers import Heard, Said

NAME = "systemone:m@http://127.0.0.1:9"
_NAMED = re.compile(r"`([a-z0-9_.]+)`")


class Decider:
    """Answers every request; an answer hangs on the words of its question and the texts that it names, not on others.

    Args:
        faults: given a body and how often it has come (from 1), what happens instead; None for nothing.
        decides: the probability of yes, from a question with the texts in place of their names; by default its digest.
        edits: given a body and the reply to it, changes the reply.

    Attributes:
        bodies: the requests that it answered, in order.
        model: the model that its replies name.
    """

    def __init__(
        self,
        faults: Callable[[Mapping[str, Any], int], Said | ExchangeError | None] = lambda body, times: None,
        decides: Callable[[str], float] | None = None,
        model: str = "m-1",
        edits: Callable[[Mapping[str, Any], dict[str, Any]], object] = lambda body, reply: None,
    ) -> None:
        self.bodies: list[Any] = []
        self._faults = faults
        self._decides = decides or _digested
        self.model = model
        self._edits = edits
        self._times: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, heard: Heard) -> Said:
        """As a server."""
        fault = self._next(heard.body)
        assert not isinstance(fault, ExchangeError)
        return fault or Said(self.reply(heard.body))

    async def send(self, prompt: Prompt) -> Reply:
        """As a transport."""
        body = json.loads(prompt.user)
        fault = self._next(body)
        if isinstance(fault, ExchangeError):
            raise fault
        text = json.dumps(self.reply(body)) if fault is None else str(fault.body)
        tokens, named = usage_of(text)
        return Reply(text, tokens, 0, None, model=named)

    def reply(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """What it says."""
        found = {name: self._answer(body["state"], question) for name, question in body["questions"].items()}
        usage = {"input_tokens": len(json.dumps(body, ensure_ascii=False).encode()) // 4, "output_tokens": len(found)}
        said = {"model": self.model, "answers": found, "usage": usage}
        self._edits(body, said)
        return said

    def _next(self, body: Mapping[str, Any]) -> Said | ExchangeError | None:
        with self._lock:
            asked = json.dumps(body, sort_keys=True)
            self._times[asked] += 1
            fault = self._faults(body, self._times[asked])
            if fault is None:
                self.bodies.append(body)
            return fault

    def _answer(self, state: Mapping[str, Any], question: Mapping[str, Any]) -> dict[str, Any]:
        asked = _NAMED.sub(lambda name: json.dumps(_text(state, name[1])), question["instructions"])
        if question["type"] == "noul":
            return {"type": "noul", "noul": self._decides(asked)}
        options = [*question["criteria"]]
        weights = [_digested(asked + _text(state, question["criteria"][one]) * (one != "none")) for one in options]
        chances = {one: weight / sum(weights) for one, weight in zip(options, weights, strict=True)}
        return {"type": "choice", "choice": options[0], "probabilities": chances, "confidence": 0.5}


def _text(state: Mapping[str, Any], name: str) -> str:
    found: Any = state
    for part in name.split("."):
        found = found.get(part, "") if isinstance(found, dict) else ""
    return json.dumps([*found.values()] if isinstance(found, dict) else found)


def _digested(asked: str) -> float:
    return int.from_bytes(hashlib.blake2b(asked.encode("utf-8", "replace"), digest_size=4).digest()) / 2**32


def judge_of(
    transport: Any,
    *,
    words: DecisionWords | None = None,
    batch_size: int = BATCH,
    largest_body: int | None = None,
    ledger: Ledger | None = None,
    price: Price | None = None,
    name: str = NAME,
) -> DecisionJudge:
    """A decision judge that asks this transport."""
    return DecisionJudge(
        decision_model(name),
        transport.send,
        Channel(LLMOptions(), ledger or Ledger(), sleep=_at_once),
        words or read_words(),
        batch_size=batch_size,
        largest_body=largest_body,
        price=price,
    )


async def _at_once(seconds: float) -> None:
    """No waiting in tests."""


def questions_in(bodies: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """All typed questions of these requests."""
    return [question for body in bodies for question in body["questions"].values()]
