"""How long a comparison takes, and whether what it says is true.

Run: python bench/compare.py scale [CASES]     two runs of so many cases and a baseline file, scores only [100000]
     python bench/compare.py findings [CASES]  the same with findings
     python bench/compare.py p-values          eight metrics, 5,000 changed groups, 10,000 random swaps
     python bench/compare.py same              two trials of the same application: how often something is called worse
     python bench/compare.py coverage          how often the interval holds the truth, also in groups
     python bench/compare.py gates             false failures at a true difference of −margin; whether `sees` is seen
"""

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ragtriage import Case, Component, Record, Score, Source, Undefined, Verdict, Verdicts, open_store, thresholds_with
from ragtriage.core.steps import Decompose, Match
from ragtriage.metrics import metrics_named
from ragtriage.runs.compare.baseline import BaselineOptions, write_baseline
from ragtriage.runs.compare.compare import Chosen, CompareOptions, compare_chosen
from ragtriage.runs.compare.comparison import Comparison
from ragtriage.runs.compare.gates import margin_outcome
from ragtriage.runs.compare.sides import side_of
from ragtriage.runs.compare.statistics import Paired, difference, holm, swap_ps
from ragtriage.runs.evaluation_config import config_of
from ragtriage.runs.manifest import RunIdentity
from ragtriage.store import Store

METRICS = ("thelma", "hallucination")
MARGIN = 0.05


def records(count: int, seed: int, *, steps: bool) -> Iterator[Record]:
    """Cases as an evaluation leaves them; with a seed above 0 a third of the responses and their scores change."""
    names = [m.name for m in metrics_named(METRICS)]
    claims, support = Decompose("response", "claims"), Match(Decompose("response", "claims"), "supported", "sources")
    for i in range(count):
        own, other = np.random.default_rng(i), np.random.default_rng([seed, i])
        changed = seed > 0 and other.random() < 0.33
        drawn = other if changed else own
        response = "; ".join(f"Claim {k} of case {i}, version {seed if changed else 0}" for k in range(4))
        case = Case(
            f"q{i}", f"What is there to know about case {i}?",
            tuple(Source(f"A text of some length about case {i} that was found in place {k}. " * 6) for k in range(4)),
            response, tags={"topic": f"t{i % 50}", "document": f"d{i // 10}"},
        )  # fmt: skip
        values = drawn.integers(0, 5, len(names)) / 4
        outcomes = {n: Score(float(v), 4) if drawn.random() > 0.03 else Undefined("the response makes no claim")
                    for n, v in zip(names, values, strict=True)}  # fmt: skip
        known: dict[str, Any] = {}
        if steps:
            parts, at = [], 0
            for text in response.split("; "):
                at = response.index(text, at)
                parts.append(Component(text, (at, at + len(text))))
            cells = tuple((Verdict("yes" if drawn.random() > 0.3 else "no", 0.8, 0.9),) for _ in parts)
            known = {str(claims): tuple(parts), str(support): Verdicts(tuple(parts), cells)}
        yield Record(case, known, outcomes)


def store_runs(store: Store, count: int, *, steps: bool) -> None:
    """Two runs: the second with other responses and scores on a third of the cases."""
    for seed in (0, 1):
        names = tuple(m.name for m in metrics_named(METRICS))
        identity = RunIdentity(str(seed), names, {"supported": "1"})
        configuration = {"thresholds": thresholds_with({})}
        run = store.begin(identity, input=f"v{seed}.jsonl", rows=count, judge="embedded", configuration=configuration)
        with run:
            for record in records(count, seed, steps=steps):
                run.keep(record)
            run.finish()


def scale(count: int, *, findings: bool) -> None:
    """Compare two runs, by slices too, and a baseline file with its run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "baseline.json"
        with open_store(folder) as store:
            started = time.perf_counter()
            store_runs(store, count, steps=findings)
            print(f"two runs of {count:,} cases were stored in {time.perf_counter() - started:.0f} s")
            reading = config_of(store.run(2).info)
            base, new = Chosen((store.run(1),)), Chosen((store.run(2),))
            memory = peak()
            if findings:
                first = CompareOptions()
                timed("the first time", lambda: compare_chosen(base, new, reading, first, findings=True), 1)
            for name, options in (
                ("run and run", CompareOptions()),
                ("by topic, in documents", CompareOptions(by="topic", cluster="document")),
            ):
                timed(name, lambda o=options: compare_chosen(base, new, reading, o, findings=findings))  # type: ignore[misc]
            whole = side_of(base.runs, "run 1", reading=reading if findings else None)
            timed("write a baseline", lambda: write_baseline(path, whole, BaselineOptions()), 1)
            print(f"  {path.stat().st_size / count:.0f} bytes a case")
            file, usual = Chosen(file=path), CompareOptions()
            timed("baseline and run", lambda: compare_chosen(file, new, reading, usual, findings=findings))
            print(f"peak {peak():.0f} MB, of which {memory:.0f} MB before the first comparison")
            alike(*(compare_chosen(side, new, reading, usual, findings=findings) for side in (base, file)))


def alike(one: Comparison, other: Comparison) -> None:
    """(e) A baseline and its run are compared alike."""
    far, names = 0.0, ("difference", "se", "low", "high")
    for a, b in zip(one.metrics, other.metrics, strict=True):
        if a.paired and b.paired:
            far = max([far, *(abs((getattr(a.paired, k) or 0) - (getattr(b.paired, k) or 0)) for k in names)])
    same_verdicts = [m.verdict for m in one.metrics] == [m.verdict for m in other.metrics]
    print(f"(e) baseline and run differ by {far:.1e} at most; verdicts alike: {same_verdicts}")


def peak() -> float:
    """The most memory that this process had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def timed(name: str, call: Any, times: int = 3) -> None:
    """Print the median seconds of a call: by the clock, and of the processor, which other programs don't lengthen."""
    took = []
    for _ in range(times):
        started = time.perf_counter(), time.process_time()
        call()
        took.append((time.perf_counter() - started[0], time.process_time() - started[1]))
    clock, processor = (median(column) for column in zip(*took, strict=True))
    print(f"{name}: {clock:.2f} s, {processor:.2f} s of the processor (median of {times})", flush=True)


def p_values() -> None:
    """The p-values of eight metrics."""
    generator = np.random.default_rng(0)
    sums = {f"m{k}": generator.normal(0.01, 1, 5000) for k in range(8)}
    timed("8 p-values over 5,000 changed groups", lambda: swap_ps(sums))


def shares(generator: np.random.Generator, chance: Any) -> Any:
    """Shares of two to five verdicts, each yes with its case's chance."""
    parts = generator.integers(2, 6, chance.shape)
    return generator.binomial(parts, chance) / parts


def paired(base: Any, new: Any, group: Any = None) -> Paired:
    """Numbers of cases that weigh alike."""
    count = len(base)
    return Paired(base, new, np.ones(count), np.arange(count) if group is None else group)


def same(times: int = 1000) -> None:
    """(a) Two trials of one application by a judge with noise, resampled by cases: nothing has changed."""
    generator = np.random.default_rng(1)
    cases, metrics = 200, 7
    chance = np.clip(generator.normal(0.8, 0.2, (cases, metrics)), 0.02, 0.99)
    one, other = shares(generator, chance), shares(generator, chance)
    noisy = generator.random((cases, metrics)) < 0.4  # most verdicts are the same in both trials
    # which trial is called base is chance, so that the pool itself has no difference
    found = 0
    for _ in range(times):
        picks, turned = generator.integers(0, cases, cases), generator.random((cases, 1)) < 0.5
        a, b = one[picks], np.where(noisy[picks], other[picks], one[picks])
        a, b = np.where(turned, b, a), np.where(turned, a, b)
        ps = swap_ps({str(m): paired(a[:, m], b[:, m]).sums() for m in range(metrics)})
        found += any(p < 0.05 for p in holm({name: p for name, (p, _) in ps.items()}).values())
    print(
        f"(a) no change, {metrics} metrics, {times} times: something is called better or worse in {found / times:.1%}"
    )


def coverage(times: int = 2000) -> None:
    """(b) How often the interval holds the truth."""
    generator = np.random.default_rng(2)
    kinds = {
        "rare ±1": ([-1, 1, 0], [0.02, 0.01, 0.97]),
        "rare −1": ([-1, 0], [0.02, 0.98]),
        "±1": ([-1, 1, 0], [0.10, 0.05, 0.85]),
        "shares, 10 %": ([-1, -0.5, -1 / 3, 1 / 3, 0.5, 0], [0.005, 0.03, 0.02, 0.02, 0.025, 0.9]),
        "shares, 40 %": ([-1, -0.5, -1 / 3, 1 / 3, 0.5, 0], [0.02, 0.12, 0.08, 0.08, 0.1, 0.6]),
    }
    for count in (20, 50, 100, 300):
        told = []
        for name, (values, chances) in kinds.items():
            truth = float(np.dot(values, chances))
            for grouped in (False, True):
                group = np.arange(count) // 5 if grouped else np.arange(count)
                held = 0
                for _ in range(times):
                    drawn = generator.choice(values, size=count, p=chances)
                    if grouped:  # every second case changes as the first of its group does
                        follows = generator.random(count) < 0.5
                        drawn = np.where(follows, drawn[(group * 5)], drawn)
                    found = difference(paired(np.zeros(count), drawn, group))
                    held += found is not None and found.low is not None and found.low <= truth <= (found.high or 0)
                told.append(f"{name}{' in groups' if grouped else ''} {held / times:.3f}")
        print(f"(b) n = {count}: {'; '.join(told)}")


def gates(times: int = 20_000) -> None:
    """(c) At a true difference of −margin at most 2.5 % fail; a difference as large as `sees` is found in 80 %."""
    generator = np.random.default_rng(3)
    for count in (100, 400):
        failed = 0
        for _ in range(times):
            change = generator.choice([-0.5, 0.5, 0], size=count, p=[0.2, 0.1, 0.7])  # its mean is −0.05
            found = difference(paired(np.zeros(count), change))
            failed += found is not None and margin_outcome(found.low or 0, found.high or 0, MARGIN) == "worse"
        seen = 0

        even = [generator.choice([-0.5, 0.5, 0], size=count, p=[0.15, 0.15, 0.7]) for _ in range(200)]
        reach = median(found.sees or 0 for one in even if (found := difference(paired(np.zeros(count), one))))
        up = 0.15 + reach  # a chance of +0.5 that makes the true difference as large as `sees` says
        for _ in range(times):
            change = generator.choice([-0.5, 0.5, 0], size=count, p=[0.15 - reach, up, 0.7])
            found = difference(paired(np.zeros(count), change))
            seen += found is not None and (found.low or 0) > 0
        wrong = failed / times
        print(f"(c) n = {count}: false failures {wrong:.3f}; sees {reach:.3f}, found in {seen / times:.3f}")


def main() -> None:
    """Run what the first argument names."""
    command, *rest = sys.argv[1:] or ["p-values"]
    count = int(rest[0]) if rest else 100_000
    {
        "scale": lambda: scale(count, findings=False),
        "findings": lambda: scale(count, findings=True),
        "p-values": p_values,
        "same": same,
        "coverage": coverage,
        "gates": gates,
    }[command]()


if __name__ == "__main__":
    main()
