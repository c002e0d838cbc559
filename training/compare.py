"""Compares runs of the matcher: on cases of domains that nothing is fitted on, and with people on the agreement sets.

    python training/compare.py WORK AGREEMENT RUN …

Each RUN was trained with `--read kept`. Runs joined by commas are those of folds 0, 1, … of one recipe: each row of a
lent set is answered by the run that wasn't trained on it, and other rows by the first run. Rows that some column can't
answer so are left out of all. The last column is the judge without a matcher. Verdicts are those of the judge, but that
tables aren't told from prose.
"""

from __future__ import annotations

import argparse
import json
import pickle
import sys
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import fuse
import numpy as np
from natural import Columns, counted, fused, natural_rows, of
from packed import Packed

from ragtriage.judges.embedded.attribution import without_attribution
from ragtriage.judges.embedded.contradictions import contradicting_sentence
from ragtriage.judges.embedded.fitted_models import PIECEWISE, Model, fused_inputs
from ragtriage.judges.embedded.readings import read, read_sentence
from ragtriage.judges.embedded.unsupported_names import unsupported_names
from ragtriage.judges.embedded.unsupported_numbers import unsupported_numbers
from ragtriage.text import split_claims

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
import agreement

FLOOR = "floor"
Fitted = tuple[dict[str, Any], np.ndarray]
"""Coefficients, and log odds of the rows fitted on."""


def logits_of(work: Path, rows: Packed, runs: list[str]) -> np.ndarray:
    """(n, heads) by the first run, or by the one that a row was kept from; nan where all were trained on it."""
    first = np.load(work / "runs" / runs[0] / "logits.npy").astype(np.float64)
    out = np.where(np.char.startswith(rows.split, "fold")[:, None], np.nan, first)
    for run in runs:
        fold = json.loads((work / "runs" / run / "run.json").read_text(encoding="utf-8"))["fold"]
        kept = rows.split == f"fold {fold}"
        out[kept] = np.load(work / "runs" / run / "logits.npy")[kept]
    return out


def floors(rows: Mapping[str, Columns]) -> dict[str, Fitted]:
    """Each task's fitted model, which no run has a part in."""
    return {task: fuse.fit_model(task, some) for task, some in sorted(rows.items()) if task != "similar"}


def held_out(task: str, rows: Columns, fusion: dict[str, Any] | None) -> dict[str, float]:
    """AUCs on the domains that nothing is fitted on, and for `supported` what a no is worth there."""
    some = of(rows, (rows["split"] == "held") & counted(rows))
    if len(set(some["label"])) < 2:
        return {}
    odds = some["floor"] if fusion is None else applied(fusion, some["floor"], some["logits"])
    out = {"AUC": fuse.auc(some["label"], odds)}
    if task == "supported":
        right, found, _ = fuse.precision_of_no(some["label"], fuse.sigmoid(odds), fuse.UNSURE)
        out |= {"no is right": right, "and finds": found}
    return out


def applied(fusion: dict[str, Any], odds: np.ndarray, logits: np.ndarray) -> np.ndarray:
    """The log odds of a fusion."""
    return np.asarray(fused_inputs(odds, logits) @ np.array(fusion["weights"]) + fusion["bias"])


def never_yes(row: Mapping[str, Any]) -> bool:
    """Whether a detail of a claim is unsupported or contradicted, so that the judge doesn't say yes."""
    texts = [source if isinstance(source, str) else source["text"] for source in row["sources"]]
    readings = [read(text) for text in texts]
    sentences = [sentence for reading in readings for sentence in reading.sentences]
    known = frozenset[str]().union(*(reading.stems for reading in readings))
    claims = [part.text for part in split_claims(row["claim"]) if not part.remark] or [row["claim"]]
    beside = (*texts, row.get("query") or "")
    return any(
        unsupported_numbers(one.text, (), beside)
        or unsupported_names(one, sentences, known, beside)
        or contradicting_sentence(one, sentences)
        for one in map(read_sentence, map(without_attribution, claims))
    )


def write_predictions(
    work: Path,
    data: Path,
    out: Path,
    rows: Packed,
    logits: np.ndarray,
    models: Mapping[str, Any],
    fusions: Mapping[str, Any],
) -> None:
    """One file a set, as `bench/agreement.py` writes them."""
    for path in sorted((work / "rows").glob("agreement-*.pkl")):
        columns = pickle.loads(path.read_bytes())
        here = logits[rows.origin == path.stem]
        found: dict[str, dict[int, float]] = {}
        for i, (task, x, item) in enumerate(zip(columns["task"], columns["x"], columns["item"], strict=True)):
            p = models[task].probability(x)
            if np.isnan(here[i]).any():
                continue
            if task in fusions:
                odds = np.array([np.log(p / (1 - p))])
                p = float(fuse.sigmoid(applied(fusions[task], odds, here[i][None]))[0])
            number = columns["question"][i]
            of_item = found.setdefault(item, {})
            of_item[number] = max(p, of_item.get(number, 0.0))
        worst = columns["set"][0].startswith("supported")
        set_path = next(data.glob(f"{columns['set'][0]}.jsonl*"))
        by_id = {row["id"]: row for row in agreement.rows_of(set_path)} if worst else {}
        target = out / f"{columns['set'][0]}.jsonl"
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("w", encoding="utf-8") as lines:
            for item, chances in found.items():
                p = min(chances.values()) if worst else max(chances.values())
                if worst and p >= 0.5 and item in by_id and never_yes(by_id[item]):
                    p = fuse.UNSURE
                verdict = "yes" if p >= 0.5 else "unknown" if worst and p > fuse.UNSURE else "no"
                lines.write(json.dumps({"id": item, "score": p, "verdict": verdict}) + "\n")


def keep_answered(data: Path, out: Path, columns: Iterable[Path]) -> None:
    """Copy the rows that every column has a prediction for; a set with none is left out."""
    for path in sorted(data.glob("*/*.jsonl*")):
        name = f"{path.parent.name}/{path.name.split('.jsonl')[0]}.jsonl"
        files = [column / name for column in columns]
        if not all(file.exists() for file in files):
            continue
        both = set.intersection(*({row["id"] for row in agreement.rows_of(file)} for file in files))
        rows = [row for row in agreement.rows_of(path) if row["id"] in both]
        if rows:
            target = out / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("agreement", type=Path)
    parser.add_argument("runs", nargs="+")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    packed = Packed.load(args.work / "packed.npz")
    fitted: dict[str, Fitted] = {}
    table: dict[str, dict[str, dict[str, float]]] = {}
    columns: dict[str, Path] = {}
    for name in [*args.runs, FLOOR]:
        logits = logits_of(args.work, packed, (args.runs[0] if name == FLOOR else name).split(","))
        rows = natural_rows(args.work, lambda file, _, said=logits: said[packed.origin == file])
        fitted = fitted or floors(rows)
        fusions = {}
        for task, (_, odds) in fitted.items():
            rows[task]["floor"] = odds
            if fused(task) and task not in PIECEWISE and name != FLOOR:  # runs keep no logits of sentences
                some = of(rows[task], np.isin(rows[task]["split"], ["fusion", "held"]))
                fusions[task], _ = fuse.fit_fusion(task, some)
            table.setdefault(task, {})[name] = held_out(task, rows[task], fusions.get(task))
        models = {task: Model(model) for task, (model, _) in fitted.items()}
        models["similar"] = Model(fuse.similar_model())
        columns[name] = args.work / "compared" / name
        write_predictions(args.work, args.agreement, columns[name], packed, logits, models, fusions)
    print("\n| held-out domains | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
    for task, by_run in table.items():
        cells = [", ".join(f"{what} {value:.3f}" for what, value in by_run[name].items()) for name in columns]
        print(f"| {task} | " + " | ".join(cells) + " |")
    print()
    rows_for_all = args.work / "compared" / "rows"
    keep_answered(args.agreement, rows_for_all, columns.values())
    agreement.print_table(args.agreement, args.work / "compared", columns, rows_for_all)


if __name__ == "__main__":
    main()
