"""The command in a process of its own that needn't load it: one interpreter loads it, and forks a process each time.

The processes are as real as any: they are killed, interrupted and limited one by one, and end as an interpreter ends.
Only what it takes to import the command and a provider's package, a second of a processor, is taken once a test worker.

with Child("evaluate", "rows.jsonl", folder=tmp_path) as child:
    child.send_signal(signal.SIGINT)
    out, err = child.communicate()
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Self

COMMAND = "from ragtriage.cli import main; main()"
_LOADED = """
import ragtriage.cli.collect, ragtriage.cli.evaluate, ragtriage.cli.forget, ragtriage.cli.judge
import ragtriage.cli.results
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.llm.providers import fast_client, model_named
options = LLMOptions(base_url="http://127.0.0.1:9/v1")
model_named("openai:m", options, fast_client("openai:m", options))
"""
"""What is loaded once. The embedded judge's models aren't: they have threads, which a fork would lose."""
_ENOUGH = 120.0
"""Seconds after which something is wrong."""


class Child:
    """A process that runs the command, or other code; at the end of a `with` block it is killed if it still runs.

    Args:
        args: of the command.
        folder: where it runs; by default here.
        code: what it runs, as `python -c` does.
        stdin: its standard input, a descriptor; by default a pipe.
        stdout: its standard output, a descriptor; by default a pipe.

    Attributes:
        stdin, stdout, stderr: the other ends of its pipes, as texts.
        returncode: how it ended, the negative number of a signal that killed it; None while it runs.
    """

    def __init__(
        self,
        *args: object,
        folder: Path | None = None,
        code: str = COMMAND,
        stdin: int | None = None,
        stdout: int | None = None,
    ) -> None:
        environment = {k: v for k, v in os.environ.items() if k != "RAGTRIAGE_STORE"}
        wanted = {"args": list(map(str, args)), "folder": str(folder or Path.cwd()), "code": code, "env": environment}
        (their_in, our_in), (our_out, their_out), (our_err, their_err), (ours, theirs) = (os.pipe() for _ in range(4))
        given = [their_in if stdin is None else stdin, their_out if stdout is None else stdout, their_err, theirs]
        with _lock:
            socket.send_fds(_interpreter(), [json.dumps(wanted).encode() + b"\n"], given)
        for descriptor in (their_in, their_out, their_err, theirs):
            os.close(descriptor)
        self.stdin, self.stdout, self.stderr, self._told = (
            os.fdopen(our_in, "w", encoding="utf-8"),
            *(os.fdopen(descriptor, encoding="utf-8") for descriptor in (our_out, our_err, ours)),
        )
        self.returncode: int | None = None
        self.pid = int(self._told.readline())
        self._ended = threading.Thread(target=self._end, daemon=True)
        self._ended.start()

    def _end(self) -> None:
        self.returncode = int(self._told.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.wait()
        for stream in (self.stdin, self.stdout, self.stderr, self._told):
            with suppress(OSError):  # what is still to be written has no reader
                stream.close()

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, unless it has ended."""
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        """How it ended; None while it runs."""
        return self.returncode

    def wait(self, seconds: float = _ENOUGH) -> int:
        """Wait for its end; how it ended."""
        self._ended.join(seconds)
        assert self.returncode is not None, "it doesn't end"
        return self.returncode

    def communicate(self, given: str = "", seconds: float = _ENOUGH) -> tuple[str, str]:
        """Give it its standard input, and wait for what it says until it ends: standard output and error."""
        said: list[str] = []
        reading = threading.Thread(target=lambda: said.append(self.stdout.read()), daemon=True)
        reading.start()
        ending = threading.Timer(seconds, self.kill)
        ending.start()
        with suppress(BrokenPipeError):
            self.stdin.write(given)
            self.stdin.close()
        err = self.stderr.read()
        reading.join()
        ending.cancel()
        self.wait()
        return said[0], err


_lock = threading.Lock()


@cache
def _interpreter() -> socket.socket:
    """The way to the interpreter, which is started now; it ends with this process."""
    ours, theirs = socket.socketpair()
    # numpy's threads wouldn't live on in what is forked
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    interpreter = subprocess.Popen(  # this file, below
        [sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()], env=environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    theirs.close()

    def end() -> None:
        ours.close()
        interpreter.wait()

    atexit.register(end)
    return ours


def _forked(control: socket.socket) -> dict[str, Any]:
    """What to run: returns once in every process that was asked for, and never in the interpreter that forks them."""
    while True:
        raw, descriptors, *_ = socket.recv_fds(control, 1 << 16, 4)
        while raw and not raw.endswith(b"\n"):
            raw += control.recv(1 << 16)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG if raw else 0)[0]:
                pass
        if not raw:
            os._exit(0)
        if os.fork() == 0:
            break
        for descriptor in descriptors:
            os.close(descriptor)
    control.close()
    *streams, tells = descriptors
    child = os.fork()
    if child == 0:
        os.close(tells)
        for number, descriptor in enumerate(streams):
            os.dup2(descriptor, number)
            os.close(descriptor)
        return dict(json.loads(raw))
    for descriptor in streams:
        os.close(descriptor)
    os.write(tells, f"{child}\n".encode())
    _, status = os.waitpid(child, 0)
    os.write(tells, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _run(wanted: dict[str, Any]) -> None:
    """Be the process that was asked for."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):  # what they were opened for is another file now
        stream = os.fdopen(number, "w" if number else "r", 1 if number == 2 else -1, "utf-8", closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["env"])
    sys.argv = ["-c", *wanted["args"]]
    sys.path[0] = ""
    exec(compile(wanted["code"], "<string>", "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    exec(_LOADED, {})
    _run(_forked(socket.socket(fileno=int(sys.argv[1]))))
