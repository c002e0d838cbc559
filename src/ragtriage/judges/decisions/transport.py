"""The two wires that decision servers speak, and what carries a request there and brings its reply, or what went wrong.

Read are probabilities, usage and the model's name. A server's own `confidence` and `choice` are never read: several
formulas are in use for the one, and the other is a threshold of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragtriage.core.errors import MissingExtraError
from ragtriage.core.validation import seconds_to_wait
from ragtriage.judges.decisions.asking import REFUSED, Probabilities, TypedQuestion
from ragtriage.judges.decisions.models import DecisionModel, Wire
from ragtriage.judges.llm.models import public_address
from ragtriage.judges.llm.options import (
    ExchangeError,
    LLMOptions,
    MalformedReply,
    ModelUnusable,
    Price,
    Prompt,
    RateLimited,
    Reply,
    RequestRejected,
    TransientError,
)
from ragtriage.judges.llm.pydantic_ai_calls import NO_SUCH_MODEL, Endpoint, texts_in
from ragtriage.judges.llm.transport import PerEventLoop

if TYPE_CHECKING:
    import aiohttp


class NoDecisions(MalformedReply):
    """A reply that isn't one of a decision server."""

    advice = "look at its address: is that a server of decision models?"


MOST_TOKENS = 100_000_000
"""A reply that says that it took more is wrong."""
TypedAnswers = list[Probabilities | None]
"""One for each question, in order; None where the reply has none that can be read."""


@dataclass(frozen=True, slots=True)
class WireProtocol:
    """One of the two."""

    write: Callable[[str, Mapping[str, Any], Mapping[str, TypedQuestion]], Mapping[str, Any]]
    """The body, from the model's name, a state and the questions about it by their names."""
    read: Callable[[Mapping[str, Any], Mapping[str, TypedQuestion]], TypedAnswers]


def body_of(
    wire: Wire, model: str, state: Mapping[str, Any], questions: Sequence[TypedQuestion], prefix: str = "q"
) -> str:
    """The body of a request, as JSON; the names of questions are the prefix and a number."""
    return json.dumps(PROTOCOLS[wire].write(model, state, _named(questions, prefix)), ensure_ascii=False)


def reply_object(text: str) -> Mapping[str, Any]:
    """A reply as an object; `NoDecisions` if it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise NoDecisions("the reply is no JSON" if text.strip() else "the reply is empty") from None
    if not isinstance(found, dict):
        raise NoDecisions("the reply is no JSON object")
    return found


def answers_in(wire: Wire, text: str, questions: Sequence[TypedQuestion], prefix: str = "q") -> TypedAnswers:
    """What a reply answers; `NoDecisions` if it is no reply of the protocol."""
    return PROTOCOLS[wire].read(reply_object(text), _named(questions, prefix))


def _named(questions: Sequence[TypedQuestion], prefix: str) -> Mapping[str, TypedQuestion]:
    return {f"{prefix}{number}": one for number, one in enumerate(questions, start=1)}


def usage_of(text: str) -> tuple[int, str]:
    """The tokens that a reply took and the model that it names; 0 and "" where it doesn't say."""
    try:
        found = reply_object(text)
    except NoDecisions:
        return 0, ""
    usage, model = found.get("usage"), found.get("model")
    tokens = usage.get("input_tokens") if isinstance(usage, dict) else None
    known = tokens if isinstance(tokens, int) and not isinstance(tokens, bool) and 0 < tokens < MOST_TOKENS else 0
    return known, model if isinstance(model, str) else ""


def _write_systemone(model: str, state: Mapping[str, Any], questions: Mapping[str, TypedQuestion]) -> Mapping[str, Any]:
    asked = {
        name: {
            "type": "choice" if one.is_choice else "noul",
            "instructions": one.instructions,
            "criteria": dict(one.criteria),
        }
        for name, one in questions.items()
    }
    return {"model": model, "state": state, "questions": asked}


def _read_systemone(reply: Mapping[str, Any], questions: Mapping[str, TypedQuestion]) -> TypedAnswers:
    answers = reply.get("answers")
    if not isinstance(answers, dict):
        raise NoDecisions("`answers` is missing or not an object")
    return [
        one.get("probabilities" if question.is_choice else "noul")
        if isinstance(one := answers.get(name), dict)
        else None
        for name, question in questions.items()
    ]


def _write_decisions(model: str, state: Mapping[str, Any], questions: Mapping[str, TypedQuestion]) -> Mapping[str, Any]:
    return {
        "model": model,
        "input": json.dumps(state, ensure_ascii=False),
        "questions": [_decision(name, one) for name, one in questions.items()],
    }


def _decision(name: str, question: TypedQuestion) -> Mapping[str, Any]:
    if question.is_choice:
        choices = [{"value": value, "description": said} for value, said in question.criteria.items()]
        return {"type": "choice", "name": name, "instructions": question.instructions, "choices": choices}
    meant = f"True: {question.criteria['true']} False: {question.criteria['false']}"
    return {"type": "predicate", "name": name, "instructions": f"{question.instructions} {meant}"}


def _read_decisions(reply: Mapping[str, Any], questions: Mapping[str, TypedQuestion]) -> TypedAnswers:
    answers = reply.get("answers")
    if not isinstance(answers, list):
        raise NoDecisions("`answers` is missing or not a list")
    if len(answers) != len(questions):
        raise NoDecisions(f"`answers` has {len(answers)} items for {len(questions)} questions")
    return [_read_decision(one, question) for one, question in zip(answers, questions.values(), strict=True)]


def _read_decision(answer: Any, question: TypedQuestion) -> Probabilities | None:
    if not isinstance(answer, dict):
        return None
    if answer.get("type") == "refusal":
        return REFUSED
    if not question.is_choice:
        return answer.get("probability")
    chances = answer.get("probabilities")
    pairs = [one for one in chances if isinstance(one, dict)] if isinstance(chances, list) else []
    return {str(one.get("value")): one.get("probability", -1.0) for one in pairs}


PROTOCOLS: Mapping[Wire, WireProtocol] = {
    "systemone": WireProtocol(_write_systemone, _read_systemone),
    "decisions": WireProtocol(_write_decisions, _read_decisions),
}


_ABOUT_LIMIT = re.compile(
    r"too (?:long|large|many|big)|limit|exceed|context (?:length|window|size)|at most|maximum|\bmax\b|bytes|"
    r"payload|truncat|\d (?:entries|items|questions)",
    re.IGNORECASE,
)
_WAITED_FOR = frozenset({408, 409, 425})
_ELSEWHERE = frozenset({301, 302, 303, 307, 308})
_NO_MODEL = frozenset({404, 405, 410})


class TooLarge(RequestRejected):
    """The request is larger than the server takes."""


class DecisionTransport:
    """Carries the bodies of requests to one model; it may be used in one event loop after another."""

    def __init__(self, model: DecisionModel, options: LLMOptions, price: Price | None) -> None:
        try:
            import aiohttp  # noqa: F401, PLC0415  # an optional package
        except ImportError:
            raise MissingExtraError("Decision models", "decisions") from None
        self._model = model
        self._options = options
        self._price = price
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"} | dict(model.authorization())
        key = self._headers.get("Authorization", "").removeprefix("Bearer ")
        self._hide = Endpoint(model.name, model.url, secrets=(key,)).hide
        self._client = PerEventLoop(self._open, lambda client: client.close())

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp  # noqa: PLC0415  # an optional package

        return aiohttp.ClientSession(
            # shorter than servers keep a connection that isn't used, so that none is closed while a request goes out
            connector=aiohttp.TCPConnector(limit=max(100, self._options.concurrency), keepalive_timeout=4.0),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._headers,
            timeout=aiohttp.ClientTimeout(total=self._options.timeout),
            trust_env=True,
        )

    async def send(self, prompt: Prompt) -> Reply:
        """Send the body that `prompt.user` is; see `ragtriage.judges.llm.options.Send`."""
        import aiohttp  # noqa: PLC0415  # an optional package

        client, url = self._client.here(), self._model.url
        try:
            # a redirect would carry the key to a place that nobody named
            async with client.post(url, data=prompt.user.encode(), allow_redirects=False) as reply:
                text = await reply.text(errors="replace")
        except TimeoutError:
            raise TransientError(f"no reply within {self._options.timeout:g} s") from None
        except (aiohttp.ClientPayloadError, aiohttp.ClientResponseError) as error:
            raise TransientError(f"malformed response: {self._hide(str(error))}") from None
        except (aiohttp.ClientError, OSError) as error:
            said = self._hide(str(error)) or type(error).__name__
            raise TransientError(f"no connection to {public_address(url)}: {said}") from None
        if not 200 <= reply.status < 300:
            raise self._refusal(reply.status, reply.headers, text)
        tokens, named = usage_of(text)
        tokens = tokens or prompt.tokens
        price = self._price.of(tokens, 0) if self._price else None
        return Reply(text, tokens, 0, price, model=named)

    def _refusal(self, code: int, headers: Mapping[str, str], text: str) -> ExchangeError:
        """What a status means, with the server's words, which hold no key."""
        said = self._hide(_words(text))
        because = f" ({code})" + (f": {said}" if said else "")
        if unusable := self._unusable(code, said, because):
            return ModelUnusable(f"{self._model.name}: {unusable}")
        wait = _asked_to_wait(headers)
        if code in {429, 529}:
            return RateLimited(f"the server asks to slow down{because}", wait)
        if code in _WAITED_FOR or code >= 500:
            return TransientError(f"server error{because}", wait)
        if code == 413 or (code in {400, 422} and _ABOUT_LIMIT.search(said)):
            return TooLarge(f"the request is too large for the server{because}", alone=True)
        return RequestRejected(f"the server refused the request{because}")

    def _unusable(self, code: int, said: str, because: str) -> str:
        """Why every request would be refused; empty if others may not be."""
        where = public_address(self._model.url)
        if code in _ELSEWHERE:
            return f"{where} sends requests elsewhere: give that address"
        if code in {401, 402, 403}:
            key = self._model.service.key
            what = "the credit there is used up" if code == 402 else f"the server refuses the key in {key}"
            return f"{what} ({code}): look at the key and at what it may do"
        if code in _NO_MODEL or (code in {400, 422} and NO_SUCH_MODEL.search(said)):
            return f"{where} knows no such model or no such page{because}: look at the model's name and at the address"
        return ""


def _asked_to_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds; those of `retry-after-ms` go first, as they are more exact."""
    milliseconds = headers.get("retry-after-ms", "")
    if milliseconds.replace(".", "", 1).isdecimal():
        return float(milliseconds) / 1000
    return seconds_to_wait(headers.get("retry-after"))


def _words(text: str) -> str:
    """A server's own words, wherever its reply has them."""
    try:
        return " ".join(texts_in(json.loads(text)))
    except (ValueError, RecursionError):
        return text
