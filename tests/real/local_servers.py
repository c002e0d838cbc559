"""Real servers of a tiny model, each in a process of its own on a free port of this machine."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PYTHON = os.environ.get("RAGTRIAGE_REAL_PYTHON", sys.executable)
"""The Python that has the packages of `requirements.txt` beside this file."""
PATIENCE = 120.0
"""Seconds in which a server must be up."""


@dataclass(frozen=True)
class Server:
    """A server that is up."""

    kind: str
    address: str
    log: Path

    def chat(self, **body: Any) -> tuple[int, Any]:
        """The status and the body of the answer to one chat completion."""
        request = urllib.request.Request(  # our own server
            f"{self.address}/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # our own server
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def answered(self) -> int:
        """How many chat completions it has answered so far, refused ones included; llama-cpp-python only."""
        return self.log.read_text(encoding="utf-8", errors="replace").count("POST /v1/chat/completions")


def write_tiny_model(path: Path) -> None:
    """Write the model, with the other Python."""
    subprocess.run([PYTHON, str(HERE / "tiny_model.py"), str(path)], check=True, timeout=PATIENCE)


def installed(package: str) -> bool:
    """Whether the other Python has a package."""
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
    return subprocess.run([PYTHON, "-c", code], check=False, timeout=PATIENCE).returncode == 0


@contextmanager
def serving(kind: str, model: Path, log: Path) -> Iterator[Server]:
    """A server of this model, until the block ends.

    Args:
        kind: `llama.cpp` or `llama-cpp-python`.
        model: a GGUF file.
        log: where its output goes.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    if kind == "llama.cpp":
        start = [str(HERE / "serve_llama_cpp.py"), str(model), port]
    else:
        start = ["-m", "llama_cpp.server", "--model", str(model), "--host", "127.0.0.1", "--port", port,
                 "--n_ctx", "32768", "--n_threads", "1", "--logits_all", "false", "--model_alias", "tiny"]  # fmt: skip
    with log.open("wb") as out, subprocess.Popen([PYTHON, *start], stdout=out, stderr=subprocess.STDOUT) as process:
        try:
            server = Server(kind, f"http://127.0.0.1:{port}/v1", log)
            _wait(server, process)
            yield server
        finally:
            process.kill()


def _wait(server: Server, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{server.address}/models", timeout=5):  # our own server
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"{server.kind} isn't up; its last words: {server.log.read_text(errors='replace')[-2000:]}")
