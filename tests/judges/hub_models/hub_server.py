"""A model hub on this machine, with the addresses and headers that huggingface_hub's client asks for."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

LARGE = (".safetensors", ".onnx", ".bin")
"""Endings of files that a hub keeps in LFS, by their SHA-256."""


@dataclass
class Repository:
    """One repository at one commit."""

    commit: str
    files: dict[str, bytes]

    @classmethod
    def of(cls, folder: Path, commit: str, **more: bytes) -> Repository:
        """What lies in a folder, and these files."""
        files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        return cls(commit, files | more)


@dataclass
class Hub:
    """What is served, and what was asked for."""

    repositories: Mapping[str, Repository]
    url: str = ""
    asked: list[str] = field(default_factory=list)

    def fetched(self) -> list[str]:
        """The files that were fetched, in order."""
        return [path.partition("/resolve/")[2].partition("/")[2] for path in self.asked if "GET /" in path]


def _entry(name: str, content: bytes) -> dict[str, Any]:
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    found: dict[str, Any] = {"rfilename": name, "size": len(content), "blobId": blob}
    if name.endswith(LARGE):
        digest = hashlib.sha256(content).hexdigest()
        found["lfs"] = {"sha256": digest, "size": len(content), "pointerSize": 130}
    return found


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:  # noqa: C901 - one class with a method an address
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def log_message(self, *args: object) -> None:
            """Nothing."""

        def _answer(self, *, body: bool) -> None:
            path = unquote(urlsplit(self.path).path)
            hub.asked.append(f"{self.command} {path}")
            name = next((one for one in hub.repositories if f"/{one}/" in f"{path}/"), "")
            repository = hub.repositories.get(name)
            if repository is None:
                self._send(401, b'{"error": "Repository Not Found"}', {"X-Error-Code": "RepoNotFound"}, body=body)
                return
            rest = path.partition(f"/{name}")[2]
            if "/resolve/" in rest:
                self._file(repository, rest.split("/", 3)[3], body=body)
            elif "/tree/" in rest:
                listed = [
                    {"type": "file", "path": one["rfilename"], "size": one["size"], "oid": one["blobId"]}
                    | ({"lfs": {"oid": one["lfs"]["sha256"], **one["lfs"]}} if "lfs" in one else {})
                    for one in (_entry(*item) for item in repository.files.items())
                ]
                self._json(listed, body=body)
            else:
                wanted = rest.rpartition("/revision/")[2]
                if "/revision/" in rest and wanted != repository.commit:
                    self._send(404, b"{}", {"X-Error-Code": "RevisionNotFound"}, body=body)
                    return
                siblings = [_entry(*item) for item in repository.files.items()]
                self._json({"id": name, "sha": repository.commit, "siblings": siblings, "tags": []}, body=body)

        def _file(self, repository: Repository, file: str, *, body: bool) -> None:
            if file not in repository.files:
                self._send(404, b"", {"X-Error-Code": "EntryNotFound"}, body=body)
                return
            content = repository.files[file]
            entry = _entry(file, content)
            tag = entry["lfs"]["sha256"] if "lfs" in entry else entry["blobId"]
            headers = {"ETag": f'"{tag}"', "X-Repo-Commit": repository.commit, "Accept-Ranges": "bytes"}
            self._send(200, content, headers, body=body)

        def _json(self, value: Any, *, body: bool) -> None:
            self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json"}, body=body)

        def _send(self, status: int, content: bytes, headers: Mapping[str, str], *, body: bool) -> None:
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if body:
                self.wfile.write(content)

    return Handler


@contextmanager
def serving(repositories: Mapping[str, Repository]) -> Iterator[Hub]:
    """A hub with these repositories, by `owner/name`."""
    hub = Hub(repositories)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(hub))
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
