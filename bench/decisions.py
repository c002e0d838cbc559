"""What a decision model takes: time over the ideal, processor time over a bare client's, memory.

    python bench/decisions.py [--cases 500] [--latency 0.2] [--concurrency 64] [--repeat 3]

A server that waits and then gives every question the same probability runs in a process of its own, and so does each
measurement. `judge` asks the questions of so many cases (4 sources, 5 facts each, 5 claims, 5 sub-questions: 7 requests
a case) as an evaluation does, a case a task. `bare` sends the same bodies by httpx and reads the replies as JSON, and
does nothing else. `evaluate` is `ragtriage evaluate` on such cases with a store on disk: the embedded judge breaks the
texts up there, which takes most of the processor. The ideal is requests × latency ÷ requests in flight.
"""

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any

import httpx

from ragtriage.core import questions as ask
from ragtriage.core.questions import Question
from ragtriage.diagnosis.rules import thresholds_with
from ragtriage.execution.evaluate_file import evaluate_file
from ragtriage.judges.build import build_judge
from ragtriage.judges.decisions.asking import state_request
from ragtriage.judges.decisions.judge import BATCH
from ragtriage.judges.decisions.models import read_words
from ragtriage.judges.decisions.transport import body_of
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.llm.requests import group_questions
from ragtriage.judges.session import JudgeSession
from ragtriage.metrics import metrics_named
from ragtriage.readers import open_cases
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.store import open_store

PORT = 8932
URL = f"http://127.0.0.1:{PORT}"
WARM = 64
"""Requests before the clock starts, so that connections stand."""


def texts_of(case: int) -> tuple[list[str], str, str]:
    """Sources, query and response of a case."""
    sources = [
        " ".join(f"Ticket {case}.{source}.{fact} costs {fact + 3} euros and is valid for a day." for fact in range(5))
        for source in range(4)
    ]
    query = " ".join(f"What does ticket {case}.{part}.0 cost?" for part in range(5))
    response = " ".join(f"Ticket {case}.{part}.0 costs {part + 3} euros." for part in range(5))
    return sources, query, response


def questions_of(case: int) -> list[Question]:
    """Most of what an evaluation asks about a case."""
    sources, query, response = texts_of(case)
    parts = [f"{one}?" for one in query.split("? ")]
    claims = [f"{one}." for one in response.split(". ")]
    found = [ask.answered(part, [source]) for source in sources for part in parts]
    found += [ask.essential(query, source) for source in sources]
    found += [ask.supported(claim, sources) for claim in claims]
    found += [ask.essential(query, fact) for source in sources for fact in source.split(". ")]
    found += [ask.relevant(query, claim, response) for claim in claims]
    found += [ask.answered(part, [response], query=query) for part in parts]
    return [*found, ask.declines(query, response)]


def bodies_of(case: int) -> list[str]:
    """The same as they are sent."""
    words = read_words()
    states = (state_request(request, words) for request in group_questions(questions_of(case), BATCH))
    return [body_of("systemone", "m", state.state, state.typed) for state in states]


def measure(what: str, cases: int, concurrency: int) -> None:
    """One measurement, as a line of JSON; runs in a process of its own."""
    requests, seconds, processor = {"judge": by_judge, "bare": by_client, "evaluate": by_command}[what](
        cases, concurrency
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"requests": requests, "seconds": seconds, "processor": processor, "peak": peak}))


def timed(begin: Awaitable[Any], work: Awaitable[Any]) -> tuple[float, float]:
    """Seconds and processor seconds of the work, behind what is only to begin."""

    async def both() -> tuple[float, float]:
        await begin
        started, processor = time.perf_counter(), time.process_time()
        await work
        return time.perf_counter() - started, time.process_time() - processor

    return asyncio.run(both())


def session_of(concurrency: int) -> JudgeSession:
    """Who asks the server."""
    return JudgeSession.of(JudgeConfig((f"systemone:m@{URL}",), options=LLMOptions(concurrency=concurrency)))


def by_judge(cases: int, concurrency: int) -> tuple[int, float, float]:
    """Requests, seconds and processor seconds of the judge alone."""
    session = session_of(concurrency)
    judge = build_judge(session).judge
    asked = [questions_of(case) for case in range(-WARM // 7, cases)]
    window = asyncio.Semaphore(session.config.window)

    async def one(questions: Sequence[Question]) -> None:
        async with window, aclosing(judge.ask(questions)) as answers:  # type: ignore[type-var]  # a generator
            async for _ in answers:
                pass

    async def all_of(some: Sequence[Sequence[Question]]) -> None:
        await asyncio.gather(*map(one, some))

    seconds, processor = timed(all_of(asked[:-cases]), all_of(asked[-cases:]))
    return 7 * cases, seconds, processor


def by_client(cases: int, concurrency: int) -> tuple[int, float, float]:
    """The same of a client that sends the same bodies."""
    bodies = [body for case in range(-WARM // 7, cases) for body in bodies_of(case)]
    first = len(bodies) - 7 * cases
    limits = httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    client = httpx.AsyncClient(limits=limits, timeout=60, headers={"Content-Type": "application/json"})
    places = asyncio.Semaphore(concurrency)

    async def one(body: str) -> None:
        async with places:
            (await client.post(f"{URL}/v1/systemone", content=body.encode())).json()

    async def all_of(some: Sequence[str]) -> None:
        await asyncio.gather(*map(one, some))

    return len(bodies) - first, *timed(all_of(bodies[:first]), all_of(bodies[first:]))


def by_command(cases: int, concurrency: int) -> tuple[int, float, float]:
    """The same of a whole evaluation."""
    session = session_of(concurrency)
    config = EvaluationConfig(metrics_named(["thelma"]), thresholds_with({}))
    with tempfile.TemporaryDirectory() as folder, open_store(folder) as store:
        path = Path(folder) / "rows.jsonl"
        names = ("contexts", "question", "answer")
        path.write_text(
            "".join(json.dumps(dict(zip(names, texts_of(case), strict=True))) + "\n" for case in range(cases))
        )
        started, processor = time.perf_counter(), time.process_time()
        evaluate_file(open_cases(path), session, store, config)
        return session.ledger.requests, time.perf_counter() - started, time.process_time() - processor


async def serve(latency: float) -> None:
    """Answers every question alike, after a while."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                body = await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
                await asyncio.sleep(latency)
                asked = json.loads(body)["questions"]
                nouls = {name: {"noul": 0.9} for name, one in asked.items() if one["type"] == "noul"}
                choices = {
                    name: {"probabilities": dict.fromkeys(one["criteria"], 1 / len(one["criteria"]))}
                    for name, one in asked.items()
                    if one["type"] == "choice"
                }
                usage = {"input_tokens": len(body) // 4, "output_tokens": len(asked)}
                text = json.dumps({"model": "m", "answers": nouls | choices, "usage": usage}).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
                writer.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", PORT, backlog=1000, limit=1 << 20)
    print("ready", flush=True)
    await server.serve_forever()


@contextmanager
def serving(latency: float) -> Iterator[None]:
    """The server, for as long as the block runs."""
    run = [sys.executable, __file__, "--serve", "--latency", str(latency)]
    with subprocess.Popen(run, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.serve:
        asyncio.run(serve(flags.latency))
        return
    if flags.measure:
        measure(flags.measure, flags.cases, flags.concurrency)
        return
    found: dict[str, list[dict[str, float]]] = {"bare": [], "judge": [], "evaluate": []}
    with serving(flags.latency):
        for _ in range(flags.repeat):
            for what, runs in found.items():
                run = [sys.executable, __file__, "--measure", what, "--cases", str(flags.cases)]
                run += ["--concurrency", str(flags.concurrency)]
                runs.append(json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout))
    for what, runs in found.items():
        middle = {name: statistics.median(one[name] for one in runs) for name in runs[0]}
        ideal = middle["requests"] * flags.latency / flags.concurrency
        processor = 1000 * middle["processor"] / middle["requests"]
        print(
            f"{what:8} {middle['requests']:6,.0f} requests, {middle['seconds']:6.1f} s = "
            f"{middle['seconds'] / ideal:.2f} x ideal, processor {processor:.2f} ms a request, peak "
            f"{middle['peak']:.0f} MB"
        )
    bare, judge = (statistics.median(one["processor"] for one in found[what]) for what in ("bare", "judge"))
    print(f"processor of the judge: {judge / bare:.2f} x the bare client's")


if __name__ == "__main__":
    main()
