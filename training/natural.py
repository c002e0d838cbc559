"""The labelled rows of natural cases, and what a matcher says of those that it wasn't trained on."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from rows import REORDERED, SHORT, plain
from splits import GROUPS, split_of

from ragtriage.judges.embedded.fitted_models import PIECEWISE
from ragtriage.judges.embedded.matcher import HEADS, Matcher, head_of, pairs_by_sentence

KEPT = ("kind", "x", "label", "group", "domain", "question", "split", "logits")
"""What is needed of a row."""

Columns = dict[str, np.ndarray]
Reader = Callable[[str, dict[str, list[Any]]], np.ndarray]
"""The name of a file of rows and its columns → (n, heads) or more, what a matcher says; nan where it isn't asked."""


def natural_rows(work: Path, read: Reader) -> dict[str, Columns]:
    """The rows of natural cases by model; what the matcher says stands beside those that it wasn't trained on."""
    public = trained_questions(work)
    out: dict[str, dict[str, list[Any]]] = {}
    for path in sorted((work / "rows").glob("*.pkl")):
        if path.stem.startswith(("public", "agreement")) or path.stem.removeprefix("authored-") in GROUPS:
            continue
        columns = pickle.loads(path.read_bytes())
        met = {group for group, a in zip(columns["group"], columns["a"], strict=True) if plain(a) in public}
        places = zip(columns["set"], columns["group"], columns["domain"], strict=True)
        # "met": a question of the case was trained on with other passages, so the matcher has an easier time there
        columns["split"] = [split_of(*one) and ("met" if one[1] in met else split_of(*one)) for one in places]
        columns["logits"] = read(path.stem, columns)
        for i, task in enumerate(columns["task"]):
            place = out.setdefault(task, {name: [] for name in KEPT})
            for name in KEPT:
                place[name].append(columns[name][i])
    rows = {task: {name: np.array(values) for name, values in some.items()} for task, some in out.items()}
    # Without the query a judge can't know that a text is a response; the question is a stand-alone one then.
    alone = of(rows["answered_response"], rows["answered_response"]["kind"] == "response")
    rows["answered"] = {name: np.concatenate([values, alone[name]]) for name, values in rows["answered"].items()}
    return rows


def trained_questions(work: Path) -> set[str]:
    """Questions of the public sets, in small letters and without marks."""
    found: set[str] = set()
    for path in (work / "rows").glob("public-*.pkl"):
        columns = pickle.loads(path.read_bytes())
        asked = (a for a, task in zip(columns["a"], columns["task"], strict=True) if task != "supported")
        found.update(map(plain, asked))
    return found


def logits_of(columns: dict[str, list[Any]], matcher: Matcher, folder: Path) -> np.ndarray:
    """(n, 2 · heads), nan where the matcher was trained or isn't asked; kept in a file, as reading takes minutes.

    The second half is what it says at most of a sentence, of `PIECEWISE` tasks.
    """
    pairs = list(zip(columns["a"], columns["b"], strict=True))
    tasks = zip(columns["task"], columns["split"], strict=True)
    wanted = [i for i, (task, split) in enumerate(tasks) if split in ("fusion", "held") and fused(task)]
    sentences = {i: pairs_by_sentence(pairs[i]) for i in wanted if columns["task"][i] in PIECEWISE}
    asked = hashlib.sha256((folder / "matcher.onnx").read_bytes())
    asked.update(repr([(pairs[i], sentences.get(i)) for i in wanted]).encode())
    cache = folder / f"logits-{asked.hexdigest()[:16]}.npy"
    if cache.exists():
        kept: np.ndarray = np.load(cache)
        return kept
    found = np.full((len(pairs), 2 * len(HEADS)), np.nan, np.float32)
    read = matcher.match(chain((pairs[i] for i in wanted), *sentences.values()))
    for i in wanted:
        found[i, : len(HEADS)] = read[pairs[i]]
        if i in sentences:
            found[i, len(HEADS) :] = np.max([read[one] for one in sentences[i]], axis=0)
    part = cache.with_suffix(".part.npy")
    np.save(part, found)
    part.replace(cache)
    return found


def fused(task: str) -> bool:
    """Whether a task has a fusion."""
    return head_of(task) not in ("", "similar", "same_answer")


def of(rows: Columns, keep: np.ndarray) -> Columns:
    """Some of the rows."""
    return {name: values[keep] for name, values in rows.items()}


def counted(rows: Columns) -> np.ndarray:
    """Which rows set shares and figures; the others only teach."""
    return ~np.isin(rows["kind"], (SHORT, REORDERED))
