"""A small server on this machine that says what its script says, in the words of several providers.

with Server(chat("yes"), error(500, "broken")) as server:
    LLMOptions(base_url=server.url)
"""

import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Said:
    """One answer of the server's."""

    body: Any = ""
    """A text or bytes as they are; anything else as JSON."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    after: float = 0.0
    """Seconds, or until the server is closed."""
    reset: bool = False
    """Cut the connection instead."""


@dataclass(frozen=True)
class Heard:
    """One request to the server."""

    path: str
    headers: Mapping[str, str]
    """Names in small letters."""
    body: Any
    method: str = "POST"


class Server:
    """Says one thing after another, the last one again and again; enter it to start it.

    Args:
        script: what it says, or a function of the request.

    Attributes:
        heard: the requests, in the order in which they came.
        asked: set when the first came.
    """

    def __init__(self, *script: Said | Callable[[Heard], Said]) -> None:
        self.heard: list[Heard] = []
        self.asked = threading.Event()
        self.closing = threading.Event()
        self._script = script
        self._lock = threading.Lock()
        self._server = _Listening(("127.0.0.1", 0), _Handler)
        self._server.owner = self  # type: ignore[attr-defined]  # the handler finds it there
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """Where its OpenAI-compatible pages begin."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def root(self) -> str:
        """Its address without a path."""
        return self.url.removesuffix("/v1")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def says(self, heard: Heard) -> Said:
        """The next thing of the script."""
        with self._lock:
            said = self._script[min(len(self.heard), len(self._script) - 1)]
            self.heard.append(heard)
        self.asked.set()
        return said(heard) if callable(said) else said


class _Listening(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256  # with the usual 5, who comes in a crowd tries again a second later


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _answer(self) -> None:
        server: Server = self.server.owner  # type: ignore[attr-defined]
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        said = server.says(Heard(self.path, headers, json.loads(raw or b"null"), self.command))
        if said.after:
            server.closing.wait(said.after)
        if said.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()
            return
        content = said.body if isinstance(said.body, (str, bytes)) else json.dumps(said.body)
        content = content.encode() if isinstance(content, str) else content
        try:
            self.send_response(said.status)
            for name, value in ({"Content-Type": "application/json"} | dict(said.headers)).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except ConnectionError:  # whoever asked has gone
            self.close_connection = True

    do_GET = do_PUT = do_PATCH = do_POST = _answer  # noqa: N815  # the server's names

    def log_message(self, *_: object) -> None:
        pass


def chat(text: str | None, finish: str = "stop", usage: tuple[int, int] | None = (10, 5), **more: Any) -> Said:
    """A reply of OpenAI's chat completions."""
    message = {"role": "assistant", "content": text} | more
    body: dict[str, Any] = {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
    }
    if usage:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return Said(body)


def responses(text: str, status: str = "completed") -> Said:
    """A reply of OpenAI's responses."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": status, "content": content}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    return Said(
        {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "status": status,
            "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
            "model": "m",
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "output": [message],
            "usage": usage
            | {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}},
        }
    )


def claude(text: str) -> Said:
    """A reply of Anthropic's messages."""
    return Said(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }
    )


def converse(text: str) -> Said:
    """A reply of Bedrock's."""
    return Said(
        {
            "output": {"message": {"role": "assistant", "content": [{"text": text}]}},
            "stopReason": "end_turn",
            "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15},
            "metrics": {"latencyMs": 1},
        }
    )


def gemini(text: str) -> Said:
    """A reply of Google's."""
    content = {"role": "model", "parts": [{"text": text}]}
    return Said(
        {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
            "modelVersion": "gemini",
        }
    )


def embeddings(vectors: Sequence[Sequence[float]], tokens: int = 7) -> Said:
    """A reply of OpenAI's embeddings."""
    data = [{"object": "embedding", "index": i, "embedding": list(vector)} for i, vector in enumerate(vectors)]
    return Said(
        {"object": "list", "data": data, "model": "e", "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}
    )


def error(status: int, message: str, code: str | None = None, headers: Mapping[str, str] | None = None) -> Said:
    """A refusal in OpenAI's words."""
    return Said({"error": {"message": message, "type": code, "code": code, "param": None}}, status, headers or {})


def nobody() -> str:
    """An address where no server listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{one.getsockname()[1]}/v1"
