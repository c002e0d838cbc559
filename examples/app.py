"""A small question-answering application to try ragtriage on: keyword retrieval, answers by extraction, no model.

It knows the documents of Pellan Sound Ferry & Rail that ship with ragtriage. It has weaknesses that a diagnosis shows:
it finds words, not meanings, and answers with single sentences of what it found.

    ragtriage collect examples/questions.jsonl --app examples/app.py:answer -o cases.jsonl

As a server (`python examples/app.py 8765`) it answers `POST /ask` with `{"question": "…"}`.
"""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

RETRIEVED = 3
"""Passages that an answer is drawn from."""
STOP_WORDS = frozenset(
    "a an and any are at be by can do does for from get have how i if in is it me my of on or the there to what when "
    "where which who will with you your".split()
)


@cache
def passages() -> tuple[tuple[str, str], ...]:
    """(id, text) of every section of every document."""
    folder = files("ragtriage.demo") / "data" / "documents"
    found = []
    for document in sorted(folder.iterdir(), key=lambda entry: entry.name):
        sections = re.split(r"^(?=## )", document.read_text(encoding="utf-8"), flags=re.MULTILINE)
        name = document.name.removesuffix(".md")
        found += [(f"{name}-{i}", section.strip()) for i, section in enumerate(sections) if section.startswith("## ")]
    return tuple(found)


def words(text: str) -> frozenset[str]:
    """The words that carry a meaning, plurals cut."""
    return frozenset(re.findall(r"[a-z0-9]+?(?=s?\b)", text.lower())) - STOP_WORDS


def retrieve(query: str) -> list[tuple[str, str]]:
    """The passages that share most words with the query, best first; none that shares no word."""
    asked = words(query)
    scored = [(len(asked & words(text)), name, text) for name, text in passages()]
    best = sorted((found for found in scored if found[0]), key=lambda found: (-found[0], found[1]))
    return [(name, text) for _, name, text in best[:RETRIEVED]]


def best_sentence(query: str, text: str) -> str:
    """The sentence, or line of a table, that shares most words with the query."""
    asked = words(query)
    sentences = [
        sentence.strip()
        for line in text.splitlines()
        if not line.startswith("#")
        for sentence in (re.split(r"(?<=[.!?])\s+", line) if not line.startswith("|") else [line.strip("| ")])
        if words(sentence)
    ]
    best = max(sentences, key=lambda sentence: len(asked & words(sentence)), default=None)
    return best if best is not None and asked & words(best) else "I can't find that in our documents."


def answer(query: str) -> dict[str, Any]:
    """The best sentence of what was retrieved, with that."""
    retrieved = retrieve(query)
    return {
        "response": best_sentence(query, "\n".join(text for _, text in retrieved)),
        "sources": [{"id": name, "text": text} for name, text in retrieved],
    }


class Asked(BaseHTTPRequestHandler):
    """Answers one request of the server."""

    def do_POST(self) -> None:
        """`{"question": "…"}` → `{"answer": {"text": …}, "hits": [{"id": …, "text": …}]}`."""
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["question"]
        found = answer(question)
        body = json.dumps({"answer": {"text": found["response"]}, "hits": found["sources"]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Asked).serve_forever()
