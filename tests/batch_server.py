"""A server with OpenAI's files and batches for the Responses API, on the loopback interface, for tests."""

import json
import re
import time
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Thread

KEY = "sk-secret-0123456789"
"""The only key that it knows."""


def replying(text, tokens=(1000, 100), **others):
    """A reply of the Responses API, as a batch holds it."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_700_000_000,
        "model": "gpt-5-mini",
        "status": "completed",
        "output": [
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}],
            }
        ],
        "usage": {
            "input_tokens": tokens[0],
            "output_tokens": tokens[1],
            "total_tokens": sum(tokens),
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
        **others,
    }


class BatchServer:
    """Takes batches, and ends them when `ended` says so.

    Args:
        answer: a request's body → (status, body), or None for one that wasn't run before the batch expired.

    Attributes:
        ended: whether a batch counts as ended: a function of its number, from 0, asked whenever it is looked at.
        refusal: why a batch of so many requests is refused after it was taken: an error, or None.
        faults: (status, body) of the next requests whose path begins so: `{"/v1/batches": deque([...])}`.
        batches: the requests' bodies of each batch, in the order in which they came.
        log: (method, path) of every request.
        created_at: seconds since 1970.
    """

    def __init__(self, answer):
        self.answer = answer
        self.ended = lambda number: True
        self.refusal = lambda size: None
        self.faults = {}
        self.batches = []
        self.log = []
        self.created_at = time.time()
        self._files = {}
        self._known = {}
        self._results = {}
        self._numbers = count(1)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *raised):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def address(self):
        """Its base URL."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def count(self, method, beginning):
        """How many requests came whose path begins so."""
        return sum(one == method and path.startswith(beginning) for one, path in self.log)

    def fail(self, beginning, status, body=None, times=1):
        """Let the next requests whose path begins so fail."""
        body = body or {"error": {"message": f"fault {status}", "type": "fault", "code": None}}
        self.faults.setdefault(beginning, deque()).extend([(status, body)] * times)

    def forget(self):
        """Know none of the batches any more."""
        self._known.clear()

    def reply(self, method, path, headers, body):
        """(status, body) of a request; a body of bytes is sent as it is."""
        self.log.append((method, path))
        faults = next((faults for beginning, faults in self.faults.items() if path.startswith(beginning)), None)
        if faults:
            return faults.popleft()
        if headers.get("Authorization") != f"Bearer {KEY}":
            said = f"Incorrect API key provided: {headers.get('Authorization')}"
            return 401, {"error": {"message": said, "type": "invalid_request_error", "code": "invalid_api_key"}}
        found = None
        match method, path.removeprefix("/v1/").split("/"):
            case "POST", ["files"]:
                found = self._file(_uploaded(headers, body))
            case "GET", ["files", name, "content"]:
                found = self._files.get(name)
            case "DELETE", ["files", name]:
                found = {"id": name, "object": "file", "deleted": True}
            case "POST", ["batches"]:
                found = self._create(json.loads(body))
            case "GET", ["batches", name] if name in self._known:
                found = self._state(name)
        missing = {"error": {"message": f"no {path}", "type": "invalid_request_error", "code": None}}
        return (404, missing) if found is None else (200, found)

    def _file(self, content):
        name = f"file-{next(self._numbers)}"
        self._files[name] = content
        return {
            "id": name,
            "object": "file",
            "bytes": len(content),
            "created_at": int(self.created_at),
            "filename": "batch.jsonl",
            "purpose": "batch",
            "status": "processed",
        }

    def _create(self, asked):
        assert asked["endpoint"] == "/v1/responses"
        assert asked["completion_window"] == "24h"
        lines = [json.loads(line) for line in self._files[asked["input_file_id"]].splitlines()]
        assert len({line["custom_id"] for line in lines}) == len(lines)
        number = len(self.batches)
        self.batches.append([line["body"] for line in lines])
        name = f"batch_{number}"
        self._known[name] = (number, lines, asked["input_file_id"])
        return self._described(name, "validating")

    def _described(self, name, status, **others):
        _, lines, file = self._known[name]
        return {
            "id": name,
            "object": "batch",
            "endpoint": "/v1/responses",
            "input_file_id": file,
            "completion_window": "24h",
            "status": status,
            "created_at": int(self.created_at),
            "request_counts": {"total": len(lines), "completed": 0, "failed": 0},
            **others,
        }

    def _state(self, name):
        number, lines, _ = self._known[name]
        refusal = self.refusal(len(lines))
        if refusal:
            return self._described(name, "failed", errors={"object": "list", "data": [refusal]})
        if name not in self._results:
            if not self.ended(number):
                return self._described(name, "in_progress")
            self._results[name] = self._run(lines)
        status, files = self._results[name]
        return self._described(name, status, **files)

    def _run(self, lines):
        replies, failures, run = [], [], 0
        for line in lines:
            said = self.answer(line["body"])
            if said:
                run += 1
                status, body = said
                response = {"status_code": status, "request_id": "req", "body": body}
                where = replies if status < 300 else failures
                where.append({"id": "x", "custom_id": line["custom_id"], "response": response, "error": None})
        files = {
            kind: self._file("\n".join(json.dumps(one) for one in ones).encode())["id"]
            for kind, ones in (("output_file_id", replies), ("error_file_id", failures))
            if ones
        }
        return "completed" if run == len(lines) else "expired", files


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def handle_one(self):
        """Answer one request."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, said = self.server.owner.reply(self.command, self.path, self.headers, body)
        data = said if isinstance(said, bytes) else json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = handle_one  # noqa: N815  # the library's names

    def log_message(self, *args):
        """Say nothing."""


def _uploaded(headers, body):
    """The file in a form."""
    boundary = re.search(r"boundary=([^;]+)", headers["Content-Type"])[1].strip('"').encode()
    part = next(part for part in body.split(b"--" + boundary) if b'filename="batch.jsonl"' in part)
    return part.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
