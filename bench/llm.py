"""What the LLM judge takes: requests and tokens a case, time over the ideal, processor time, memory; faults; kills.

    python bench/llm.py cost   FAKE TRIPLES
    python bench/llm.py speed  FAKE TRIPLES [--cases 500] [--concurrency 64] [--repeat 3] [--metrics thelma]
    python bench/llm.py faults FAKE TRIPLES [--cases 50]
    python bench/llm.py kill   FAKE TRIPLES [--cases 100]
    python bench/llm.py budget FAKE TRIPLES [--cases 120]

FAKE is the script of a server that speaks OpenAI's protocol and answers from the schema of each request, with faults on
request (`--port`, `--latency`, `/reset`, `/stats`). TRIPLES holds cases (query, contexts, response); they are varied so
that all are different. Every measurement is a process of its own, through the same path as `ragtriage evaluate`, all
seven scores, with a store on disk. The ideal is requests × latency ÷ requests in flight, from the same run. Beside each
measurement of speed stand two bare ones: as many requests of the same size, as many at once, and nothing else, by
pydantic-ai's `direct.model_request` and by its `Agent`, both with its own client. Processor time differs from machine
to machine by a factor of three; the ratios to these two don't.
"""

import argparse
import asyncio
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, NativeOutput, StructuredDict
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, SystemPromptPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from speed import varied

from ragtriage.core.questions import supported
from ragtriage.diagnosis.rules import thresholds_with
from ragtriage.execution.evaluate_file import evaluate_file
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.llm.options import LLM_BATCH, LLMOptions, Price
from ragtriage.judges.llm.prompts import read_prompts
from ragtriage.judges.llm.reply_json import JsonForm
from ragtriage.judges.llm.requests import group_questions
from ragtriage.judges.session import JudgeSession
from ragtriage.metrics import metrics_named
from ragtriage.readers import open_cases
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.store import open_store

PORT = 8931
LATENCY = 0.2
SEVEN = "thelma"
SIX = "thelma,-fact_precision"
FAULTS: dict[str, dict[str, float]] = {
    "none": {},
    "500 at 10 %": {"p_500": 0.1},
    "malformed at 10 %": {"p_malformed": 0.1},
    "truncated at 10 %": {"p_truncated": 0.1},
    "reset at 10 %": {"p_reset": 0.1},
    "429 at 30 %": {"p_429": 0.3},
    "slow (60 s) at 2 %": {"p_slow": 0.02},
}


def evaluate(path: str, folder: str, metrics: str, concurrency: int, deadline: float) -> None:
    """Evaluate one file and print what it took as JSON; runs in a process of its own."""
    address = f"http://127.0.0.1:{PORT}/v1"
    options = LLMOptions(address, concurrency=concurrency, timeout=deadline, price=Price(0.25, 2))
    session = JudgeSession.of(JudgeConfig(("openai:fake",), options=options))
    config = EvaluationConfig(metrics_named(metrics.split(",")), thresholds_with({}))
    with open_store(folder) as store:
        started, processor = time.perf_counter(), time.process_time()
        result = evaluate_file(open_cases(path), session, store, config)
        seconds, processor = time.perf_counter() - started, time.process_time() - processor
        ledger, summary = session.ledger, result.first.tally.summary()
    found = {
        "cases": summary.cases,
        "failed": summary.failed,
        "scores": sum(m.n for m in summary.metrics),
        "requests": ledger.requests,
        "tokens_in": ledger.tokens_in,
        "tokens_out": ledger.tokens_out,
        "seconds": seconds,
        "cpu_ms": 1000 * processor / max(1, ledger.requests),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "repeated": dict(ledger.repeated),
    }
    print(json.dumps(found))


def send_bare(by: str, requests: int, characters: int, concurrency: int) -> None:
    """Send as many requests of such a size without an evaluation around them; see `evaluate`."""
    options = LLMOptions(f"http://127.0.0.1:{PORT}/v1")
    request = group_questions([supported(f"It is {number}.", ["It is so."]) for number in range(5)], LLM_BATCH)[0]
    prompt = JsonForm(read_prompts()).render(request)
    text = "hello world, this is a text. " * (characters // 29)
    model = OpenAIChatModel("fake", provider=OpenAIProvider(base_url=options.base_url))
    form = OutputObjectDefinition(json_schema=dict(prompt.schema), name="answers", strict=True)
    parameters = ModelRequestParameters(output_mode="native", output_object=form, allow_text_output=True)
    agent = Agent(model, output_type=NativeOutput(StructuredDict(dict(prompt.schema))), system_prompt=prompt.system)
    settings = ModelSettings(temperature=0.0, max_tokens=1000)
    places = asyncio.Semaphore(concurrency)

    async def one(number: int) -> None:
        async with places, asyncio.timeout(120.0):
            if by == "Agent":
                await agent.run(f"{number} {text}", model_settings=settings)
            else:
                parts = [SystemPromptPart(prompt.system), UserPromptPart(f"{number} {text}")]
                messages = [ModelRequest(parts=parts)]
                await model_request(model, messages, model_settings=settings, model_request_parameters=parameters)

    async def all_of_them() -> None:
        await one(0)
        nonlocal started, processor
        started, processor = time.perf_counter(), time.process_time()
        await asyncio.gather(*map(one, range(1, requests + 1)))

    started = processor = 0.0
    asyncio.run(all_of_them())
    seconds, processor = time.perf_counter() - started, time.process_time() - processor
    print(json.dumps({"requests": requests, "seconds": seconds, "cpu_ms": 1000 * processor / requests}))


@contextmanager
def serving(fake: Path) -> Iterator[None]:
    """The server, for as long as the block runs."""
    command = [sys.executable, str(fake), "--port", str(PORT), "--latency", str(LATENCY)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert server.stdout
    if not server.stdout.readline():
        raise SystemExit(f"the server doesn't start: is port {PORT} taken?")
    try:
        yield
    finally:
        server.terminate()
        server.wait()


def call(path: str, body: dict[str, float] | None = None) -> dict[str, Any]:
    """Ask the server for its counters, or set its faults (which zeroes them)."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)  # type: ignore[no-any-return]  # the server's object


def command(path: Path, folder: str, metrics: str, concurrency: int, deadline: float = 120.0) -> list[str]:
    """The process of one measurement."""
    given = [str(path), folder, metrics, str(concurrency), str(deadline)]
    return [sys.executable, __file__, "measure", *given]


def measured(*given: Any, **faults: float) -> dict[str, Any]:
    """One measurement, with the server's counters."""
    call("/reset", faults)
    with tempfile.TemporaryDirectory() as folder:
        path, *rest = given
        done = subprocess.run(command(path, folder, *rest), check=True, capture_output=True, text=True, env=ENVIRONMENT)
        verdicts = stored(folder)
    return json.loads(done.stdout) | {"server": call("/stats"), "verdicts": verdicts}  # type: ignore[no-any-return]


ENVIRONMENT = {**os.environ, "PYTHONHASHSEED": "0", "OPENAI_API_KEY": "none"}


def stored(folder: str) -> dict[str, Any]:
    """Every score and every step of every case, by case."""
    with open_store(folder, create=False) as store:
        return {record.case.id: (record.outcomes, record.steps) for record in store.run().records()}


def cases(triples: Path, count: int, folder: str) -> Path:
    """A file of so many cases, all different."""
    rows = [json.loads(line) for line in triples.read_text(encoding="utf-8").splitlines()]
    path = Path(folder) / "cases.jsonl"
    with path.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in varied(rows, count))
    return path


def cost(path: Path) -> None:
    """Requests and tokens a case, with and without fact precision."""
    print("| scores | requests a case | prompt tokens a case | reply tokens a case |\n|---|---|---|---|")
    for name, metrics in (("seven", SEVEN), ("without fact precision", SIX)):
        found = measured(path, metrics, 16)
        per_case = [found["server"][key] / found["cases"] for key in ("calls", "prompt_tokens", "completion_tokens")]
        print(f"| {name} | {per_case[0]:.1f} | {per_case[1]:,.0f} | {per_case[2]:,.0f} |", flush=True)


def bare(by: str, beside: dict[str, Any], concurrency: int) -> dict[str, Any]:
    """A bare measurement with as many requests as another one had, of the same size."""
    requests = beside["requests"]
    given = [by, str(requests), str(beside["server"]["prompt_chars"] // requests), str(concurrency)]
    call("/reset", {})
    done = subprocess.run(
        [sys.executable, __file__, "bare", *given], check=True, capture_output=True, text=True, env=ENVIRONMENT
    )
    return json.loads(done.stdout)  # type: ignore[no-any-return]  # what `send_bare` prints


def speed(path: Path, metrics: str, concurrency: int, repeat: int) -> None:
    """Wall over ideal, processor time a request, peak memory, most in flight; beside the bare measurements."""
    print("| what | cases | requests | in flight at most | wall s | wall ÷ ideal | CPU ms a request | peak MB |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    runs = []
    bares: dict[str, list[dict[str, Any]]] = {"model_request": [], "Agent": []}
    for _ in range(repeat):
        runs.append(measured(path, metrics, concurrency))
        for by, found in bares.items():
            found.append(bare(by, runs[-1], concurrency))
    for one in chain(runs, *bares.values()):
        one["over"] = one["seconds"] / (one["requests"] * LATENCY / concurrency)
    most = max(run["server"]["max_in_flight"] for run in runs)
    peak = f"{statistics.median(run['peak_mb'] for run in runs):.0f}"
    requests = f"{statistics.median(run['requests'] for run in runs):.0f}"
    print(f"| {metrics} | {runs[0]['cases']} | {requests} | {most} of {concurrency} | {times(runs)} | {peak} |")
    for by, found in bares.items():
        print(f"| pydantic-ai's {by}, bare | | {requests} | | {times(found)} | |")
        ratios = [
            statistics.median(run[key] / other[key] for run, other in zip(runs, found, strict=True))
            for key in ("seconds", "over", "cpu_ms")
        ]
        print(f"| {metrics} ÷ {by} | | | | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " | |", flush=True)


def times(runs: list[dict[str, Any]]) -> str:
    """Medians of the seconds, of their ratio to the ideal, and of the processor time, with their ranges."""
    columns = [sorted(run[key] for run in runs) for key in ("seconds", "over", "cpu_ms")]
    return " | ".join(f"{statistics.median(column):.2f} ({column[0]:.2f} to {column[-1]:.2f})" for column in columns)


def faults(path: Path) -> None:
    """Scores lost, and cases whose scores or verdicts differ from the run without faults."""
    print("| fault | requests | repeated | scores lost | cases that differ | wall s |\n|---|---|---|---|---|---|")
    whole: dict[str, Any] = {}
    for name, settings in FAULTS.items():
        found = measured(path, SEVEN, 16, 10.0, **settings)
        whole = whole or found
        differ = sum(found["verdicts"].get(case) != said for case, said in whole["verdicts"].items())
        lost = whole["scores"] - found["scores"]
        again = ", ".join(f"{count} {cause}" for cause, count in found["repeated"].items()) or "-"
        row = (name, found["requests"], again, f"{lost} of {whole['scores']}", differ, f"{found['seconds']:.0f}")
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


def kill(path: Path, concurrency: int) -> None:
    """SIGKILL half-way, then the same again: requests after the restart against the bound."""
    whole = measured(path, SEVEN, concurrency)
    total = whole["server"]["calls"]
    call("/reset", {})
    with tempfile.TemporaryDirectory() as folder:
        given = command(path, folder, SEVEN, concurrency)
        first = subprocess.Popen(given, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
        while call("/stats")["ok"] < total // 2:
            time.sleep(0.02)
        first.send_signal(signal.SIGKILL)
        first.wait()
        time.sleep(2 * LATENCY)  # what was in flight ends on the server
        before = call("/stats")
        call("/reset", {})
        subprocess.run(given, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
        after = call("/stats")
        same = stored(folder) == whole["verdicts"]
    unheard = before["client_gone"]
    print(f"{total} requests in all; killed when {before['ok']} had been answered, with {unheard} in flight")
    left = total - before["ok"]
    print(f"after the restart: {after['calls']} requests; the bound is {left} + {concurrency} in flight")
    print(f"every score and verdict equal to the run that wasn't killed: {same}")


def budget(path: Path, folder: Path) -> None:
    """Cases that budgets buy one process and several, at $1 and $4 a million tokens; what all of them cost."""
    model = ["--judge", "openai:fake", "--base-url", f"http://127.0.0.1:{PORT}/v1", "--price", "1:4", "--json"]
    print("| processes | budget | cases done | requests | spent |\n|---|---|---|---|---|")
    for dollars in (0.6, 1.2, 1.8, 100.0):
        for processes in (1, 2, 4):
            own = folder / f"{processes} for {dollars}"
            many = ["--on", f"local:{processes}", "--out", str(own / "set")] if processes > 1 else []
            given = ["evaluate", str(path), *model, "--budget", str(dollars), "--store", str(own / "store"), *many]
            done = subprocess.run(
                [sys.executable, "-m", "ragtriage", *given],
                check=False,
                capture_output=True,
                text=True,
                env=ENVIRONMENT,
            )
            told = json.loads(done.stdout or "{}")
            spent = told.get("spent", {"requests": 0, "cost": 0.0})
            row = (processes, f"${dollars:.2f}", told.get("cases", 0), spent["requests"], f"${spent['cost']:.2f}")
            print("| " + " | ".join(map(str, row)) + " |", flush=True)


def main() -> None:
    """Command line."""
    if sys.argv[1:2] == ["measure"]:
        path, folder, metrics, concurrency, deadline = sys.argv[2:]
        evaluate(path, folder, metrics, int(concurrency), float(deadline))
        return
    if sys.argv[1:2] == ["bare"]:
        send_bare(sys.argv[2], *map(int, sys.argv[3:]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["cost", "speed", "faults", "kill", "budget"])
    parser.add_argument("fake", type=Path)
    parser.add_argument("triples", type=Path)
    parser.add_argument("--cases", type=int)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--metrics", default=SEVEN)
    args = parser.parse_args()
    count = args.cases or {"cost": 50, "speed": 500, "faults": 50, "kill": 100, "budget": 120}[args.what]
    with tempfile.TemporaryDirectory() as folder, serving(args.fake):
        path = cases(args.triples, count, folder)
        match args.what:
            case "cost":
                cost(path)
            case "speed":
                speed(path, args.metrics, args.concurrency, args.repeat)
            case "faults":
                faults(path)
            case "budget":
                budget(path, Path(folder))
            case _:
                kill(path, args.concurrency)


if __name__ == "__main__":
    main()
