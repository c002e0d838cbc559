"""A server on this machine that answers as OpenAI's chat completions do: the ferry company's answers."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import ferry

MODEL = "ferry-model-1"


def text_of(content: Any) -> str:
    """The text of a message's content: a text, or parts."""
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content or ())


def message(body: dict[str, Any]) -> dict[str, Any]:
    """The assistant's message: a call of the first tool if one is offered and none was made, else the answer."""
    asked = [text_of(one["content"]) for one in body["messages"] if one["role"] == "user"][-1]
    if body.get("tools") and body["messages"][-1]["role"] == "user":
        function = {
            "name": body["tools"][0]["function"]["name"],
            "arguments": json.dumps({"query": asked}, ensure_ascii=False),
        }
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call-1", "type": "function", "function": function}],
        }
    return {"role": "assistant", "content": ferry.asked(asked).answer}


class Answers(BaseHTTPRequestHandler):
    """POST /v1/chat/completions, streamed or not; a model named `broken` fails."""

    def do_POST(self) -> None:
        """Answer one request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if body["model"] == "broken":
            error = {"error": {"message": "the model is overloaded", "type": "server_error", "code": "overloaded"}}
            self.reply(json.dumps(error), "application/json", 500)
            return
        about = {"id": "chatcmpl-1", "created": 1790000000, "model": MODEL}
        said = message(body)
        usage = {"prompt_tokens": 40, "completion_tokens": 12, "total_tokens": 52}
        reason = "tool_calls" if said.get("tool_calls") else "stop"
        if not body.get("stream"):
            choice = {"index": 0, "message": said, "finish_reason": reason}
            answer = about | {"object": "chat.completion", "choices": [choice], "usage": usage}
            self.reply(json.dumps(answer), "application/json")
            return
        words = said["content"].split(" ")
        deltas = [
            {"role": "assistant", "content": ""},
            *({"content": f"{word} "} for word in words[:-1]),
            {"content": words[-1]},
        ]
        chunks = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        chunks.append({"index": 0, "delta": {}, "finish_reason": reason})
        events = [json.dumps(about | {"object": "chat.completion.chunk", "choices": [chunk]}) for chunk in chunks]
        events.append(json.dumps(about | {"object": "chat.completion.chunk", "choices": [], "usage": usage}))
        self.reply("".join(f"data: {event}\n\n" for event in (*events, "[DONE]")), "text/event-stream")

    def reply(self, text: str, kind: str, status: int = 200) -> None:
        """Send a body."""
        body = text.encode("utf-8")
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(port: int = 18080) -> Iterator[str]:
    """The server's address, while it runs. The port is fixed: spans name it."""
    server = ThreadingHTTPServer(("127.0.0.1", port), Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def prompt(one: ferry.Asked) -> list[dict[str, Any]]:
    """The messages that ask a question about what was found for it."""
    context = "\n\n".join(text for _, text in one.sources)
    return [
        {"role": "system", "content": f"Answer from these leaflets:\n{context}"},
        {"role": "user", "content": one.query},
    ]
