"""How quickly a file of traces becomes cases, and in how much memory.

    python bench/traces/million.py [--spans 1000000]

Writes a file of OTLP JSON with so many spans of some 1.8 kB, 512 a line: traces of ten (a chain, two retrievals with
four texts each, a model, HTTP and database spans), whose spans lie up to 2,000 spans apart. The first case is there
when judging can begin. It is read in a process of its own.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragtriage.readers import open_cases

A_LINE = 512
APART = 2_000
START = 1_764_000_000_000_000_000
WORDS = "ferry ticket quay harbour morning office crossing price children bicycle upper deck timetable storm".split()


def text(draw: random.Random, words: int) -> str:
    """A text of so many words."""
    return " ".join(draw.choice(WORDS) for _ in range(words))


def trace(number: int, draw: random.Random) -> Iterator[dict[str, Any]]:
    """The spans of one trace."""
    kinds = ["", "CHAIN", "RETRIEVER", "", "RETRIEVER", "", "EMBEDDING", "LLM", "", ""]
    for at, kind in enumerate(kinds):
        held: dict[str, str] = {"openinference.span.kind": kind} if kind else {"db.statement": text(draw, 200)}
        if kind in {"CHAIN", "LLM"}:
            held |= {"input.value": text(draw, 120 if kind == "LLM" else 12), "output.value": text(draw, 150)}
        if kind == "RETRIEVER":
            for place in range(4):
                held[f"retrieval.documents.{place}.document.content"] = text(draw, 60)
                held[f"retrieval.documents.{place}.document.id"] = f"{number}-{place}"
        parent = "" if at == 0 else f"{number * 10 + (1 if at == 1 else 2):016x}"
        start = START + number * 10_000_000 + at * 1_000_000
        yield {
            "traceId": f"{number + 1:032x}",
            "spanId": f"{number * 10 + at + 1:016x}",
            "parentSpanId": parent,
            "name": kind or "span",
            "startTimeUnixNano": str(start),
            "endTimeUnixNano": str(start + 900_000),
            "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in held.items()],
        }


def write(path: Path, spans: int) -> None:
    """The file."""
    draw = random.Random(0)
    waiting: list[dict[str, Any]] = []
    with path.open("w", encoding="utf-8") as target:

        def line(some: list[dict[str, Any]]) -> None:
            target.write(json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": some}]}]}) + "\n")

        for number in range(spans // 10):
            waiting += trace(number, draw)
            if len(waiting) >= APART:
                draw.shuffle(waiting)
                while len(waiting) > APART - A_LINE:
                    line(waiting[:A_LINE])
                    del waiting[:A_LINE]
        line(waiting)


def measure(path: str) -> None:
    """One reading, as a line of JSON."""
    began, processor = time.perf_counter(), time.process_time()
    rows = open_cases(path).rows()
    next(rows)
    first, first_processor = time.perf_counter() - began, time.process_time() - processor
    count = 1 + sum(1 for _ in rows)
    found = {
        "cases": count,
        "first": first,
        "first_processor": first_processor,
        "processor": time.process_time() - processor,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(found))


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=1_000_000)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.measure:
        measure(flags.measure)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "traces.jsonl"
        write(path, flags.spans)
        size = path.stat().st_size
        ended = subprocess.run(
            [sys.executable, __file__, "--measure", path], check=True, capture_output=True, text=True
        )
    found = json.loads(ended.stdout)
    rate = flags.spans / found["processor"]
    print(
        f"{flags.spans:,} spans of {size / flags.spans:,.0f} bytes, {found['cases']:,} cases: first after "
        f"{found['first']:.1f} s ({found['first_processor']:.1f} s of the processor), {rate:,.0f} spans a second of "
        f"the processor, peak {found['peak']:.0f} MB"
    )


if __name__ == "__main__":
    main()
