"""How long `ragtriage plan` takes for a large file, as a user would call it.

    python bench/plan.py TRIPLES.jsonl [--rows 100000] [--repeat 3] [--exact]

TRIPLES holds cases (query, contexts, response). They are repeated under new ids until there are so many; a number in
every response and source keeps texts apart. Nothing is sent: the judge is a language model that nobody asks.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def written(triples: Path, rows: int, path: Path) -> None:
    """Write so many rows, no two with the same texts."""
    cases = [json.loads(line) for line in triples.read_text().splitlines()]
    with path.open("w") as out:
        for number in range(rows):
            case = dict(cases[number % len(cases)], id=str(number))
            case["response"] = f"{case['response']} See note {number}."
            case["contexts"] = [f"{text} This is passage {number}." for text in case["contexts"]]
            out.write(json.dumps(case) + "\n")


def main() -> None:
    """Print the seconds of each repeat and their median."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("triples", type=Path)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--exact", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        written(args.triples, args.rows, path)
        command = [sys.executable, "-m", "ragtriage", "plan", str(path), "--judge", "openai:gpt-4o-mini"]
        seconds = []
        for _ in range(args.repeat):
            started = time.perf_counter()
            subprocess.run(
                [*command, *(["--exact"] if args.exact else [])],
                check=True, capture_output=True, env={**os.environ, "OPENAI_API_KEY": "not-a-key"},
            )  # fmt: skip
            seconds.append(time.perf_counter() - started)
        size = path.stat().st_size / 1e6
    told = ", ".join(f"{one:.1f}" for one in seconds)
    print(f"{args.rows:,} rows, {size:.0f} MB: {told} s, median {statistics.median(seconds):.1f} s")


if __name__ == "__main__":
    main()
