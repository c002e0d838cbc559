"""What may stand between a store and its server: a proxy that cuts connections, and a pooler that changes sessions."""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Self


class _Listening:
    """Accepts connections in threads, until it is left."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self._listener, *self._open):
            close(one)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._open.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        raise NotImplementedError


def close(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


class Proxy(_Listening):
    """Passes everything on to a server's socket, and cuts every connection after so many bytes of either side.

    Args:
        server: the path of the server's socket.
        cuts: bytes from the client after which the first, second, … connection is cut; later ones aren't.

    Attributes:
        away: while it is set, every connection is refused, and those that there are have been cut.
        cut: how many connections were cut in the middle.
        deaf: once the client has sent this, it hears nothing more and is cut: the server has done what it was told.
    """

    def __init__(self, server: str, cuts: tuple[int, ...] = ()) -> None:
        super().__init__()
        self._server = server
        self._cuts = list(cuts)
        self.away = threading.Event()
        self.cut = 0
        self.deaf: bytes | None = None

    def leave(self) -> None:
        """Cut all connections and refuse further ones."""
        self.away.set()
        for one in self._open:
            close(one)

    def _serve(self, client: socket.socket) -> None:
        if self.away.is_set():
            close(client)
            return
        server = socket.socket(socket.AF_UNIX)
        server.connect(self._server)
        self._open.append(server)
        left = self._cuts.pop(0) if self._cuts else None
        answers = threading.Thread(target=_pass_on, args=(server, client), daemon=True)
        answers.start()
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                if self.deaf and self.deaf in data:
                    self.deaf = None
                    self.cut += 1
                    close(client)
                    server.sendall(data)
                    answers.join()  # to its next answer, which comes when it has done it
                    break
                if left is not None and len(data) >= left:
                    server.sendall(data[:left])
                    self.cut += 1
                    break
                left = None if left is None else left - len(data)
                server.sendall(data)
        close(server)
        close(client)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    close(target)


class Pooler(_Listening):
    """Pools transactions as PgBouncer does: each is carried out in the next one of a few sessions of the server.

    Args:
        server: the path of the server's socket.
        database: to which it connects.
        sessions: how many.
    """

    def __init__(self, server: str, database: str, sessions: int = 3) -> None:
        super().__init__()
        self._free = threading.Condition()
        self._sessions: list[socket.socket] = []
        self._greeting = b""
        for _ in range(sessions):
            session = socket.socket(socket.AF_UNIX)
            session.connect(server)
            named = f"user\0postgres\0database\0{database}\0\0".encode()
            session.sendall(struct.pack("!ii", len(named) + 8, 196608) + named)
            self._greeting = b"".join(_messages_until_ready(session))
            self._sessions.append(session)
        self._open += self._sessions
        self.transactions = 0

    def ask(self, statement: str) -> list[list[str]]:
        """The first row that a statement gives in each of the sessions, as texts."""
        found = []
        for session in self._sessions:
            session.sendall(b"Q" + struct.pack("!i", len(statement) + 5) + statement.encode() + b"\0")
            row = next(message for message in list(_messages_until_ready(session)) if message[:1] == b"D")
            values, at = [], 7
            for _ in range(struct.unpack("!h", row[5:7])[0]):
                (size,) = struct.unpack("!i", row[at : at + 4])
                values.append(row[at + 4 : at + 4 + size].decode())
                at += 4 + size
            found.append(values)
        return found

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, struct.error):
            while True:
                (size,) = struct.unpack("!i", _exactly(client, 4))
                (code,) = struct.unpack("!i", _exactly(client, size - 4)[:4])
                if code not in (80877103, 80877104):  # whether TLS or GSSAPI is to be spoken
                    break
                client.sendall(b"N")
            client.sendall(self._greeting)
            while True:
                first = _message(client)
                if first[:1] == b"X":
                    return
                self._transaction(client, first)

    def _transaction(self, client: socket.socket, first: bytes) -> None:
        with self._free:
            while not self._sessions:
                self._free.wait()
            session = self._sessions.pop(0)
            self.transactions += 1
        try:
            message: bytes | None = first
            waiting = 0
            while True:
                while message is not None:
                    session.sendall(message)
                    waiting += message[:1] in (b"S", b"Q")
                    message = None if waiting else _message(client)
                status = b"I"
                for answer in _messages_until_ready(session):
                    client.sendall(answer)
                    status = answer[-1:]
                waiting -= 1
                if status == b"I" and not waiting:
                    return
                message = _message(client)
        finally:
            with self._free:
                self._sessions.append(session)
                self._free.notify()


def _messages_until_ready(session: socket.socket) -> Iterator[bytes]:
    while True:
        message = _message(session)
        yield message
        if message[:1] == b"Z":
            return


def _message(source: socket.socket) -> bytes:
    """One message: its type, its length, and what it says."""
    head = _exactly(source, 5)
    (size,) = struct.unpack("!i", head[1:])
    return head + _exactly(source, size - 4)


def _exactly(source: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = source.recv(size - len(data))
        if not more:
            raise ConnectionResetError
        data += more
    return data


def until(true: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until something is true."""
    waited = threading.Event()
    for _ in range(int(seconds / 0.02)):
        if true():
            return
        waited.wait(0.02)
    raise AssertionError("it doesn't become true")
