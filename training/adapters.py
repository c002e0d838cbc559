"""Trains a larger reader by low-rank adapters, on a processor, for as long as there is time.

    python training/adapters.py WORK BASE FILE [--minutes 60] [--finish] [--average OTHER]

WORK/packed.npz is what `packed.py` wrote, BASE a folder with all-mpnet-base-v2 (Apache-2.0). The encoder stays as it
is, in bfloat16; only corrections of rank 16 to its linear layers and the reader's own layers are trained. FILE holds
these, and is written anew every five minutes; where it exists, training goes on from there, with new readings too.
`--finish` lets the rate fall to nothing; `--average` begins from the mean of FILE and another. After every half hour,
and at the end, it prints what the reader knows of cases by writers that it wasn't trained on (`tests/held_out`).

Of the readings the most telling are drawn most often: see `SHARES`. What makes it quick on few cores: readings
packed by length, and an allocator that gives no memory back (MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000
MALLOC_TOP_PAD_=500000000).
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from arrays import Packed
from packed import pack
from readings import judged, written
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from splits import FOLD_NAMES
from torch import Tensor, nn
from train import Reader, Rows, batches, loss_of, parts, read, save

if TYPE_CHECKING:
    from pairs import Pair

RANK, SCALE = 16, 2.0
RATE = 3e-4
STEP = 2048
"""Word pieces of a step, padding included."""
WARM_UP, SAVE_EVERY, LOOK_EVERY = 100, 300.0, 1800.0
"""Steps, seconds, seconds."""
SHARES = {
    "cases": 3.0,
    "contrast": 1.0,
    "natural": 0.25,
    "authored": 0.5,
    "agreement-supported": 3.0,
    "agreement-answered": 3.0,
    "agreement-essential": 0.2,
    "public": 0.25,
    "twins": 0.1,
    "remarks": 3.0,
    "claims": 1.0,
}
"""Share of the readings of a kind that is drawn before any is drawn again."""
TRAINED = ("", *FOLD_NAMES[1:])
"""Splits that are drawn from: of lent agreement sets two folds of three; on the first it is measured."""
HELD_OUT = Path(__file__).parents[1] / "tests" / "held_out"


class Adapted(nn.Module):
    """A frozen linear layer and a correction of low rank."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.layer = layer
        self.down = nn.Parameter(torch.randn(RANK, layer.in_features) / math.sqrt(layer.in_features))
        self.up = nn.Parameter(torch.zeros(layer.out_features, RANK))

    def forward(self, x: Tensor) -> Tensor:
        """(…, in) → (…, out)."""
        correction: Tensor = (x @ self.down.to(x.dtype).T) @ self.up.to(x.dtype).T
        return self.layer(x) + SCALE * correction


def adapted(base: Path) -> Reader:
    """A reader on a frozen encoder, of which the adapters and its own layers are trained."""
    model = Reader(base)
    model.encoder.to(torch.bfloat16)
    for weight in model.encoder.parameters():
        weight.requires_grad_(requires_grad=False)
    for layer in model.encoder.encoder.layer:
        for name in "qkvo":
            setattr(layer.attention.attn, name, Adapted(getattr(layer.attention.attn, name)))
        layer.intermediate.dense, layer.output.dense = Adapted(layer.intermediate.dense), Adapted(layer.output.dense)
    return model


def drawn(packed: Packed, seed: int) -> list[np.ndarray]:
    """The readings of one turn in their steps, twins together."""
    draw = np.random.default_rng(seed)
    groups: list[np.ndarray] = []
    for origin in np.unique(packed.origin):
        share = next(share for kind, share in SHARES.items() if origin.startswith(kind))
        here = np.flatnonzero((packed.origin == origin) & np.isin(packed.split, TRAINED))
        if not len(here):
            continue
        twin = packed.twin[here]
        edges = np.flatnonzero(np.r_[True, (twin[1:] != twin[:-1]) | (twin[1:] < 0)])
        some = [group for group in np.split(here, edges[1:]) if len(group) <= 8]
        groups += [group for group in some for _ in range(int(share) + (draw.random() < share % 1))]
    lengths = np.diff(packed.starts)
    steps = [part for batch in batches(lengths, groups, seed) for part in parts(lengths, batch, STEP)]
    return [steps[at] for at in draw.permutation(len(steps))]


def train(model: Reader, rows: Rows, file: Path, minutes: float, *, finish: bool) -> None:
    """Steps for so long, from where `file` is."""
    trained = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    optimizer = torch.optim.AdamW(trained.values(), RATE, weight_decay=0.01)
    state, first, seen = file.with_suffix(".state"), 0, 0
    if file.exists():
        with safe_open(file, "pt") as saved:
            first, seen = (int(saved.metadata()[name]) for name in ("step", "seen"))
        model.load_state_dict(load_file(file), strict=False)
        if state.exists():
            optimizer.load_state_dict(torch.load(state))
    labels = torch.from_numpy(rows.packed.label.astype(np.float32)) * 0.96 + 0.02
    started = kept = looked = time.monotonic()
    step, losses, begun = first, [], seen

    def keep() -> None:
        weights = {name: weight.detach().to(torch.bfloat16) for name, weight in trained.items()}
        part = file.with_suffix(".part")
        save_file(weights, part, {"step": str(step), "seen": str(seen)})
        part.replace(file)
        save(state, optimizer.state_dict())

    model.train()
    turn: list[np.ndarray] = []
    while (gone := (time.monotonic() - started) / 60) < minutes:
        turn = turn or drawn(rows.packed, step)
        rate = RATE * min(1.0, (step - first + 1) / WARM_UP) * (max(0.02, 1 - gone / minutes) if finish else 1.0)
        for group in optimizer.param_groups:
            group["lr"] = rate
        part = turn.pop()
        loss = loss_of(model, rows, rows.batch(part), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(trained.values(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        step, seen = step + 1, seen + len(part)
        losses.append(float(loss.detach()))
        now = time.monotonic()
        if now - kept > SAVE_EVERY:
            a_second = (seen - begun) / (now - started)
            print(f"{gone:.0f} min, {seen} readings, {a_second:.1f} a second, loss {np.mean(losses):.3f}", flush=True)
            keep()
            kept = now
            losses.clear()
        if now - looked > LOOK_EVERY:
            print(seen, *known(model), sep=", ", flush=True)
            looked = time.monotonic()
            model.train()
    keep()
    print(seen, *known(model), sep=", ", flush=True)


def average(file: Path, other: Path) -> None:
    """Make a file the mean of itself and another one that it went on from; the layer of the marks stays its own."""
    with safe_open(file, "pt") as saved:
        metadata = saved.metadata()
    own, theirs = load_file(file), load_file(other)
    mean = {name: ((own[name].float() + theirs[name].float()) / 2).to(torch.bfloat16) for name in own}
    save_file(mean | {name: own[name] for name in own if name.startswith("tags.")}, file, metadata)


def known(model: Reader) -> list[str]:
    """What the reader knows of cases by other writers: AUC of whole sentences, and twins in order, by kind."""
    cases = [pair for path in sorted(HELD_OUT.glob("cases-*.jsonl")) for pair in judged(path)]
    logits, good = _claims(model, cases)
    auc = (logits[good][:, None] > logits[~good][None]).mean()
    twins = list(written(HELD_OUT / "contrast.jsonl", random.Random(0)))
    logits, supported = _claims(model, twins)
    right = logits[supported] > logits[~supported]
    kinds = np.array([pair.kind.removeprefix("written ") for pair in twins if _is_claim(pair)])[~supported]
    by_kind = " ".join(f"{kind} {right[kinds == kind].mean():.2f}" for kind in np.unique(kinds))
    told = f"{(~good).sum()} of {len(good)} not supported"
    return [f"claims {auc:.3f} ({told})", f"twins {right.mean():.3f} of {len(right)}", by_kind]


def _is_claim(pair: Pair) -> bool:
    return bool(pair.targets) and pair.targets[0][0] == "supported"


def _claims(model: Reader, pairs: Iterable[Pair]) -> tuple[np.ndarray, np.ndarray]:
    """Logits and labels of those that are claims."""
    some = [pair for pair in pairs if _is_claim(pair)]
    return read(model, Rows(pack(some), "cpu")), np.array([pair.targets[0][3] > 0.5 for pair in some])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("base", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--finish", action="store_true")
    parser.add_argument("--average", type=Path, metavar="OTHER")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.average:
        average(args.file, args.average)
    model = adapted(args.base)
    train(model, Rows(Packed.load(args.work / "packed.npz"), "cpu"), args.file, args.minutes, finish=args.finish)


if __name__ == "__main__":
    main()
