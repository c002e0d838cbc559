"""What stands behind the server of the tables: a language model, a decision model, and the tools that take scores.

What the models say depends on the texts alone.
"""

import hashlib
import json
import re

from cli_models import prompt_in
from fake_tools import FakeTool  # it lies beside the tests of the monitor

from fake_decisions import Decider
from fake_models import FENCED, lines_of, reply_to
from servers import Heard, Said, chat, embeddings

_SENTENCE = re.compile(r"[^.?!]+[.?!]")
_LINE = re.compile(r"^(?:(q\d+) )?([a-z_]+)(?:: (.*))?$")
TOOLS = {
    "_annotations": "phoenix",
    "/api/public/scores": "langfuse",
    "/api/3.0/mlflow": "mlflow",
    "/api/v1/private": "opik",
    "/v1/logs": "otlp",
}
"""A part of the paths of a tool's requests → its name."""
_WRITTEN = {"claims": ("response", "source"), "facts": ("source",), "questions": ("query",)}


def _byte(*texts: str) -> int:
    return hashlib.blake2b(" ".join(texts).encode("utf-8", "replace")).digest()[0]


class Services:
    """All of them behind one address, told apart by the path; the tools keep what they are sent."""

    def __init__(self) -> None:
        self._decider = Decider(decides=_likely)
        self._tools = {part: FakeTool(name) for part, name in TOOLS.items()}

    def __call__(self, heard: Heard) -> Said:
        """The reply to a request."""
        if heard.path.endswith("/systemone"):
            return self._decider(heard)
        tool = next((tool for part, tool in self._tools.items() if part in heard.path), None)
        return tool(heard) if tool else answers(heard)


def _likely(asked: str) -> float:
    return round(0.05 + _byte(asked) / 284, 3)


def answers(heard: Heard) -> Said:
    """The reply to a request: a quarter of the verdicts are no, a few unknown; texts are split into sentences."""
    if heard.path.endswith("/embeddings"):
        given = heard.body["input"]
        texts = [given] if isinstance(given, str) else given
        digests = (hashlib.blake2b(text.encode("utf-8", "replace")).digest() for text in texts)
        return embeddings([[byte - 127.5 for byte in digest[:16]] for digest in digests])
    prompt = prompt_in(heard.body)
    model = str(heard.body.get("model", ""))
    texts = {name.partition("-")[0]: text for name, text in FENCED.findall(prompt.user)}
    asked = prompt.user.partition("\n\nQuestions:\n")[1]
    lines = {line[1] or line[2]: line for line in map(_LINE.match, lines_of(prompt) if asked else ()) if line}
    about = " ".join(text for name, text in FENCED.findall(prompt.user) if not name.startswith("query"))

    def verdict(name: str) -> str:
        line = lines.get(name)  # none: the line of the question before it goes on over several
        drawn = _byte(model, *(line.group(2, 3) if line and line[3] else (name,)), about)
        return "no" if drawn % 4 == 0 else "unknown" if drawn % 17 == 0 else "yes"

    def written(member: str) -> list[str]:
        if member == "remarks":
            return []
        if member == "standalone":
            return [f"{texts['query'].strip()} (about {texts['conversation'].split()[1]})"]
        wanted = (*_WRITTEN.get(member, ()), "response", "source", "query")
        text = next(texts[name] for name in wanted if name in texts)
        return [found.strip() for found in _SENTENCE.findall(text)] or [text.strip() or "nothing"]

    def quote(name: str) -> str:
        return texts.get("source", "").partition(".")[0] if verdict(name) == "yes" else ""

    return chat(json.dumps(reply_to(prompt, verdict, written, quote)), usage=(prompt.tokens, 100))
