"""How long `send` takes for a run to a server on this machine, and that the same again sends nothing.

python bench/send.py [CASES]

The server is another process that reads a request and says what each tool says, and keeps nothing: what is measured is
reading the run, writing the requests, the outbox, and HTTP.
"""

import asyncio
import json
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path += [str(Path(__file__).parents[1] / "tests" / "monitor")]
from traced_runs import keep_run, many_records

from ragtriage.monitor.outputs.destinations import DESTINATIONS
from ragtriage.monitor.outputs.send_run import send_run, write_scores
from ragtriage.runs.evaluation_config import config_of
from ragtriage.store import open_store

REPLIES = {"mlflow": {"assessment": {"assessment_id": "a-1"}}, "langfuse": {"accepted": 1}, "phoenix": {"data": []}}
"""What a tool says that it took something."""


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = next(
                (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
            )
            await reader.readexactly(length)
            tool = next((name for name in REPLIES if name.encode() in head.split(b"\r\n")[0].lower()), "")
            body = json.dumps(REPLIES.get(tool, {})).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body))
            writer.write(body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def serve(told: Any) -> None:
    """Answer for ever."""

    async def run() -> None:
        server = await asyncio.start_server(_serve, "127.0.0.1", 0, limit=1 << 24)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def main() -> None:
    """Send a run to each tool, twice."""
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(there,), daemon=True)
    server.start()
    port = here.recv()
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "store") as store:
        runs = {name: store.run(keep_run(store, list(many_records(cases, name)))) for name in ("otlp", "langsmith")}
        run = runs["otlp"]
        config = config_of(run.info)
        begin = time.monotonic()
        count = write_scores(Path(folder) / "scores.jsonl", [run], config).records
        print(f"{'--scores':12} {count:7,} records in {time.monotonic() - begin:5.1f} s")
        for name in DESTINATIONS:
            run, took = runs.get(name, runs["otlp"]), []
            for _ in range(2):
                begin, cpu = time.monotonic(), os.times()
                (done,) = send_run(store.database, run, config, {name: f"http://127.0.0.1:{port}/{name}"}, {})
                used = sum(os.times()[:2]) - sum(cpu[:2])
                took.append((time.monotonic() - begin, used, sum(done.sent.values()), done))
            (first, cpu_first, sent, done), (second, cpu_second, again, _) = took
            assert done.complete, done
            assert again == 0
            print(
                f"--{name:10} {sent:7,} sent in {first:5.1f} s ({cpu_first:.1f} s CPU); again: {again} sent in "
                f"{second:.1f} s ({cpu_second:.1f} s CPU)",
                flush=True,
            )
    server.terminate()


if __name__ == "__main__":
    main()
