"""A model behind a server, for the command: it reads the schema of a request and answers by the texts in it.

with Server(Model()) as server:
    command("evaluate", "rows.jsonl", *judging(server))
"""

import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fake_models import FENCED, lines_of, reply_to
from ragtriage.judges.llm.options import Prompt
from ragtriage.judges.llm.pydantic_ai_calls import IN_TEXT
from servers import Heard, Said, Server, chat, embeddings

KEY = "sk-cli-0123456789"
_SENTENCE = re.compile(r"[^.?!]+[.?!]")
_LINE = re.compile(r"^(?:(q\d+) )?([a-z_]+)(?:, [a-z ]+)?(?:: (.*))?$")


def judging(server: Server, *more: object, model: str = "openai:m") -> tuple[object, ...]:
    """The flags that make this server the judge."""
    return ("--judge", model, "--base-url", server.url, *more)


def prompt_in(body: Mapping[str, Any]) -> Prompt:
    """What a request asks, by chat or as OpenAI's batches have it; without its fault where it is asked again."""
    if "input" in body:
        system, user = (message["content"] for message in body["input"][:2])
        return Prompt(system, user, body["text"]["format"]["schema"], body["max_output_tokens"])
    system, user = (message["content"] for message in body["messages"][:2])
    form = body.get("response_format")
    if form:
        return Prompt(system, user, form["json_schema"]["schema"], body["max_tokens"])
    user, _, schema = user.rpartition(f"\n\n{IN_TEXT} ")
    return Prompt(system, user, json.loads(schema), body["max_tokens"])


def kinds_in(body: Mapping[str, Any]) -> Counter[str]:
    """How many questions of each kind a request asks."""
    found = (_LINE.match(line) for line in lines_of(prompt_in(body)))
    return Counter(line[2] for line in found if line)


def same(body: Mapping[str, Any]) -> str:
    """What makes two requests the same, however often they are sent."""
    return prompt_in(body).user


def chats(heard: Sequence[Heard]) -> list[Any]:
    """The bodies of the requests to a chat, in their order."""
    return [one.body for one in heard if one.path.endswith("/chat/completions")]


class Model:
    """Answers every request to a chat and to embeddings; the same question always gets the same answer.

    Whether it says yes depends on the question's words and on the texts that it is asked about, not on what travels
    with it. Claims, facts and sub-questions are the sentences of the text.

    Args:
        faults: given a request and how often it has come (from 1), what is said instead; None for nothing.
        quotes: whether a yes is quoted from the text; else the words stand nowhere.
        salt: other models say other things.
        text: whether it refuses the schema mode.

    Attributes:
        answered: the requests that it answered, in order.
    """

    def __init__(
        self,
        faults: Callable[[Heard, int], Said | None] = lambda heard, times: None,
        *,
        quotes: bool = True,
        salt: str = "",
    ) -> None:
        self.answered: list[Heard] = []
        self._faults = faults
        self._quotes = quotes
        self._salt = salt
        self._times: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, heard: Heard) -> Said:
        """The answer to a request."""
        asked = json.dumps(heard.body, sort_keys=True)
        with self._lock:
            self._times[asked] += 1
            fault = self._faults(heard, self._times[asked])
            if fault is None:
                self.answered.append(heard)
        if fault is not None:
            return fault
        if heard.path.endswith("/embeddings"):
            texts = heard.body["input"]
            return embeddings([_vector(text) for text in ([texts] if isinstance(texts, str) else texts)])
        prompt = prompt_in(heard.body)
        return chat(json.dumps(self.said(prompt)), usage=(prompt.tokens, 100))

    def said(self, prompt: Prompt) -> dict[str, Any]:
        """A reply that fits the schema."""
        texts = {name.partition("-")[0]: text for name, text in FENCED.findall(prompt.user)}
        lines = {line[1] or line[2]: line for line in map(_LINE.match, lines_of(prompt)) if line}
        about = "".join(name for name, _ in FENCED.findall(prompt.user) if not name.startswith("query"))
        evidence = " ".join(text for name, text in FENCED.findall(prompt.user) if name.startswith("source"))

        def verdict(name: str) -> str:
            asked = f"{lines[name][2]} {lines[name][3]} {about} {self._salt}"
            return "no" if hashlib.blake2b(asked.encode("utf-8", "replace")).digest()[0] % 4 == 0 else "yes"

        def written(member: str) -> list[str]:
            if member == "remarks":
                return []
            if member == "standalone":
                return [f"{texts['query'].strip()} (about {texts['conversation'].split()[1]})"]
            whole = {"facts": "source", "needed_sentences": "source", "questions": "query"}
            text = texts[whole.get(member, "response")]
            return [found.strip() for found in _SENTENCE.findall(text)] or [text.strip() or "nothing"]

        def quote(name: str) -> str:
            if not self._quotes:
                return "words that stand nowhere"
            return evidence.partition(".")[0] if verdict(name) == "yes" else ""

        return reply_to(prompt, verdict, written, quote)


def sometimes(said: Said, every: int = 6) -> Callable[[Heard, int], Said | None]:
    """A fault in each so-manieth request, wherever that falls."""
    count = iter(range(10_000))
    return lambda heard, times: said if next(count) % every == every - 1 else None


def _vector(text: str) -> list[float]:
    """The same direction for the same words."""
    return [byte - 127.5 for byte in hashlib.blake2b(" ".join(text.split()).encode("utf-8", "replace")).digest()[:16]]
