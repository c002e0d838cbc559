"""Trains the reader: one encoder for pairs of texts, with heads for parts of the second text and for its word pieces.

    pip install -r training/requirements.txt
    python training/train.py WORK RUN [--fold 0] [--teachers RUN …] [--seed 0]

WORK/packed.npz is what `training/packed.py` wrote; the weights go to WORK/runs/RUN, with the logits of all targets. A
run that was cut off goes on from its last checkpoint when the command is given again. With `--teachers` the labels are
mixed with what other runs, of a larger encoder (`--base`), say of the same target.

Rows with a split are kept out: domains and cases to measure and to fit on (`splits.py`), writers to measure on.
Agreement sets that are lent are trained on but for one `--fold`.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from arrays import CUTS, EITHER, HEADS, KINDS, MARKS, SHIFT, UNKNOWN, Packed
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoConfig, AutoModel

TOKENS = {"cuda": 49152, "cpu": 4096}
"""Word pieces in a batch, padding included; a processor takes several such parts for one step."""
STEP = 49152
POOL = 64
"""Batches whose rows are sorted by length together."""
WARM_UP = 0.06
SAVE_EVERY = 240.0
"""Seconds."""
SMOOTHING = 0.02
TAUGHT = 0.6
"""How much a teacher's probability counts, against the label."""
RANKING = 0.5
"""How much it counts that a supported claim is likelier than its twin, beside the labels of both."""
TAGGING = 0.5
SHARES = {"contrast": 6.0, "claims": 3.0, "twins-sentences": 0.2, "twins-claims": 0.5}
"""How often an epoch draws the readings of a kind; 1 for all others."""
UNITS = 384


class Reader(nn.Module):
    """Readings → a logit a head for spans of word pieces, and scores of tags for every piece.

    A span is its mean, beside the mean and the highest values of the first text and the mark of the beginning; then a
    layer with tanh and a line.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        config = AutoConfig.from_pretrained(folder)
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
        self.mpnet = config.model_type == "mpnet"
        settings = {} if torch.cuda.is_available() and not self.mpnet else {"attn_implementation": "eager"}
        self.encoder = AutoModel.from_config(config, add_pooling_layer=False, **settings)
        if (folder / "model.safetensors").exists() or (folder / "pytorch_model.bin").exists():
            self.encoder = AutoModel.from_pretrained(
                folder, config=config, dtype=torch.float32, add_pooling_layer=False, **settings
            )
        self.hidden = nn.Linear(4 * config.hidden_size, UNITS)
        self.heads = nn.Linear(UNITS, len(HEADS))
        self.tags = nn.Linear(config.hidden_size, len(KINDS) + len(CUTS) + 3)
        self.dropout = nn.Dropout(0.1)

    def tokens(self, ids: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        """(n, longest) each → (n, longest, units)."""
        given = {"input_ids": as_mpnet(ids)} if self.mpnet else {"input_ids": ids, "token_type_ids": types}
        found: Tensor = self.encoder(**given, attention_mask=mask).last_hidden_state
        return found

    def spans(self, tokens: Tensor, first: Tensor, row: Tensor, span: Tensor) -> Tensor:
        """(t,) rows of `tokens` and (t, 2) spans in them → (t, heads) logits; `first` is 1 where the first text is."""
        tokens = tokens.float()
        own = first[..., None].float()
        average = (tokens * own).sum(1) / own.sum(1)
        highest = (tokens + (1 - own) * -1e4).amax(1)
        sums = functional.pad(tokens.cumsum(1), (0, 0, 1, 0))
        mean = (sums[row, span[:, 1]] - sums[row, span[:, 0]]) / (span[:, 1] - span[:, 0])[:, None]
        both = torch.cat([mean, average[row], highest[row], tokens[row, 0]], 1)
        logits: Tensor = self.heads(torch.tanh(self.hidden(self.dropout(both))))
        return logits


def as_mpnet(ids: Tensor) -> Tensor:
    """BERT's numbers of pieces as MPNet's."""
    out = ids + SHIFT
    for bert, mpnet in MARKS.items():
        out = torch.where(ids == bert, mpnet, out)
    return out


class Rows:
    """The arrays of `Packed` on a device, and batches out of them."""

    def __init__(self, packed: Packed, device: str) -> None:
        def there(values: np.ndarray, kind: Any = np.int64) -> Tensor:
            return torch.from_numpy(values.astype(kind)).to(device)

        self.packed, self.device = packed, device
        self.lengths = np.diff(packed.starts)
        self.pieces, self.tags = there(packed.pieces, np.int32), there(packed.tags, np.int8)
        self.starts, self.second = there(packed.starts), there(packed.second)
        self.first_target = there(packed.first_target)
        self.span, self.head = there(packed.span), there(packed.head)
        self.weight = there(packed.weight, np.float32)
        self.twin = there(packed.twin)
        self.targets = packed.first_target[1:] - packed.first_target[:-1]

    def batch(self, rows: np.ndarray) -> dict[str, Tensor]:
        """Word pieces padded, and the targets of these rows."""
        numbers = torch.from_numpy(rows).to(self.device)
        longest = -(-int(self.lengths[rows].max()) // 8) * 8
        places = self.starts[numbers][:, None] + torch.arange(longest, device=self.device)
        mask = places < self.starts[numbers + 1][:, None]
        places = places.clamp(max=len(self.pieces) - 1)
        counts = self.targets[rows]
        which = np.concatenate(
            [np.arange(a, a + n) for a, n in zip(self.packed.first_target[rows], counts, strict=True)]
        )
        return {
            "ids": self.pieces[places].long() * mask,
            "types": ((torch.arange(longest, device=self.device) >= self.second[numbers][:, None]) & mask).long(),
            "mask": mask.long(),
            "tags": torch.where(mask[..., None], self.tags[places].long(), UNKNOWN),
            "row": torch.from_numpy(np.repeat(np.arange(len(rows)), counts)).to(self.device),
            "target": torch.from_numpy(which.astype(np.int64)).to(self.device),
            "twin": self.twin[numbers],
        }


def chosen(packed: Packed, args: Mapping[str, Any], epoch: int) -> list[np.ndarray]:
    """The rows of an epoch, twins together."""
    draw = np.random.default_rng(args["seed"] * 1000 + epoch)
    out: list[np.ndarray] = []
    for origin in np.unique(packed.origin):
        kind = "agreement" if origin.startswith("agreement") else origin
        share = next((s for name, s in {**SHARES, **args["shares"]}.items() if kind.startswith(name)), 1.0)
        here = np.flatnonzero(packed.origin == origin)
        split = packed.split[here]
        lent = np.char.startswith(split, "fold") & (split != f"fold {args['fold']}")
        here = here[(split == "") | lent]
        if not len(here):
            continue
        twin = packed.twin[here]
        edges = np.flatnonzero(np.r_[True, (twin[1:] != twin[:-1]) | (twin[1:] < 0)])
        groups = np.split(here, edges[1:])
        out += [group for group in groups for _ in range(int(share) + (draw.random() < share % 1))]
    return out


def batches(lengths: np.ndarray, groups: list[np.ndarray], seed: int) -> list[np.ndarray]:
    """Groups of like length together, in a random order."""
    draw = np.random.default_rng(seed)
    longest = np.array([lengths[group].max() for group in groups])
    order = draw.permutation(len(groups))
    size = STEP // 100 * POOL
    out: list[np.ndarray] = []
    for start in range(0, len(order), size):
        some = order[start : start + size]
        some = some[np.argsort(longest[some], kind="stable")]
        batch: list[np.ndarray] = []
        count = 0
        for at in some:
            if batch and longest[at] * (count + len(groups[at])) > STEP:
                out.append(np.concatenate(batch))
                batch, count = [], 0
            batch.append(groups[at])
            count += len(groups[at])
        out.append(np.concatenate(batch))
    draw.shuffle(out)  # type: ignore[arg-type]  # it shuffles lists too
    return out


def parts(lengths: np.ndarray, rows: np.ndarray, most: int) -> Iterator[np.ndarray]:
    """Rows in their order, until so many word pieces are reached."""
    start, longest = 0, 0
    for at, row in enumerate(rows):
        longest = max(longest, int(lengths[row]))
        if at > start and longest * (at + 1 - start) > most:
            yield rows[start:at]
            start, longest = at, int(lengths[row])
    yield rows[start:]


def loss_of(model: Reader, rows: Rows, batch: Mapping[str, Tensor], labels: Tensor) -> Tensor:
    """Sums over targets, twins and tagged pieces, each over its number."""
    with torch.autocast(rows.device, dtype=torch.bfloat16):
        tokens = model.tokens(batch["ids"], batch["types"], batch["mask"])
    target = batch["target"]
    total = tokens.new_zeros((), dtype=torch.float32)
    if len(target):
        logits = model.spans(tokens, batch["mask"] - batch["types"], batch["row"], rows.span[target])
        asked = logits.gather(1, rows.head[target][:, None])[:, 0]
        weight = rows.weight[target]
        each = functional.binary_cross_entropy_with_logits(asked, labels[target], reduction="none")
        total = total + (each * weight).sum() / weight.sum()
        twin = batch["twin"][batch["row"]]
        high = (labels[target] >= 0.5) & (twin >= 0)
        low = (labels[target] < 0.5) & (twin >= 0)
        if high.any() and low.any():
            beside = (twin[high][:, None] == twin[low][None, :]).float()
            margin = asked[high][:, None] - asked[low][None, :]
            total = total + RANKING * (functional.softplus(-margin) * beside).sum() / beside.sum().clamp(min=1)
    tags = batch["tags"]
    known = (tags != UNKNOWN).any(-1)
    if known.any():
        scores, tags = model.tags(tokens[known].float()), tags[known]
        kinds, cuts = scores[:, : len(KINDS)], scores[:, len(KINDS) : len(KINDS) + len(CUTS)]
        chances = functional.log_softmax(kinds, 1)
        either = torch.logsumexp(chances[:, 1:], 1)
        plain = chances.gather(1, tags[:, :1].clamp(min=0))[:, 0]
        said = torch.where(tags[:, 0] == EITHER, either, plain)[tags[:, 0] != UNKNOWN]
        if len(said):
            total = total - TAGGING * said.mean()
        if (cut := tags[:, 1] != UNKNOWN).any():
            total = total + 3 * TAGGING * functional.cross_entropy(cuts[cut], tags[cut, 1])
            inside = functional.binary_cross_entropy_with_logits(scores[cut, -3:-1], tags[cut, 2:4].float())
            total = total + TAGGING * inside
        if (claim := tags[:, 4] != UNKNOWN).any():
            other = functional.binary_cross_entropy_with_logits(scores[claim, -1], tags[claim, 4].float())
            total = total + 2 * TAGGING * other
    return total


def train(
    model: Reader, rows: Rows, labels: Tensor, order: list[np.ndarray], folder: Path, args: Mapping[str, Any]
) -> None:
    """All batches in turn; goes on where a checkpoint of the same run says."""
    plain = [p for name, p in model.named_parameters() if "bias" in name or "LayerNorm" in name]
    names = {id(p) for p in plain}
    rest = [p for p in model.parameters() if id(p) not in names]
    optimizer = torch.optim.AdamW(
        [{"params": rest, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}],
        args["rate"],
        fused=rows.device == "cuda",
    )
    steps, warm = len(order), max(1, int(WARM_UP * len(order)))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, max(0.02, (steps - step) / max(1, steps - warm)))
    )
    checkpoint, first = folder / "checkpoint.pt", 0
    if checkpoint.exists():
        saved = torch.load(checkpoint, map_location=rows.device)
        if saved["args"] != {**args, "steps": steps}:
            raise SystemExit(f"{checkpoint} is of another run: delete it, or give this one another name")
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        schedule.load_state_dict(saved["schedule"])
        first = saved["step"]
        print(f"goes on at step {first} of {steps}", flush=True)
    model.train()
    saved_at = started = time.perf_counter()
    seen, losses = 0, []
    for step in range(first, steps):
        torch.manual_seed(args["seed"] * 1_000_003 + step)  # so that a run that goes on drops out the same
        whole = order[step]
        for part in parts(rows.lengths, whole, TOKENS[rows.device] // (2 if model.mpnet else 1)):
            loss = loss_of(model, rows, rows.batch(part), labels) * (len(part) / len(whole))
            loss.backward()
            losses.append(loss.detach())
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        seen += len(whole)
        if step % 200 == 199:
            a_second, mean = seen / (time.perf_counter() - started), float(torch.stack(losses).sum()) / 200
            print(f"{args['run']} {step + 1}/{steps}: loss {mean:.3f}, {a_second:.0f} rows a second", flush=True)
            losses.clear()
        if time.perf_counter() - saved_at > SAVE_EVERY:
            held = {"model": model, "optimizer": optimizer, "schedule": schedule}
            states = {name: part.state_dict() for name, part in held.items()}
            save(checkpoint, {**states, "step": step + 1, "args": {**args, "steps": steps}})
            saved_at = time.perf_counter()
    save(folder / "weights.pt", model.state_dict())
    checkpoint.unlink(missing_ok=True)


@torch.no_grad()
def read(model: Reader, rows: Rows) -> np.ndarray:
    """(t,), the logit of each target's head."""
    out = torch.full((len(rows.head),), float("nan"), device=rows.device)
    model.eval()
    order = np.flatnonzero(rows.targets)
    order = order[np.argsort(rows.lengths[order], kind="stable")]
    for part in parts(rows.lengths, order, TOKENS[rows.device]):
        batch = rows.batch(part)
        with torch.autocast(rows.device, dtype=torch.bfloat16):
            tokens = model.tokens(batch["ids"], batch["types"], batch["mask"])
        target = batch["target"]
        logits = model.spans(tokens, batch["mask"] - batch["types"], batch["row"], rows.span[target])
        out[target] = logits.gather(1, rows.head[target][:, None])[:, 0]
    return out.cpu().numpy()


def taught(packed: Packed, work: Path, teachers: Sequence[str]) -> np.ndarray:
    """(t,), what each target's head is to say: its label, or that and what the teachers say."""
    targets = packed.label * (1 - 2 * SMOOTHING) + SMOOTHING
    if teachers:
        logits = np.mean([np.load(work / "runs" / one / "logits.npy") for one in teachers], axis=0, dtype=np.float32)
        own = 1 / (1 + np.exp(-logits))
        # Of a sentence in its text the label alone is learnt: a teacher that reads it by itself knows it less well.
        reading = np.repeat(np.arange(len(packed.starts) - 1), np.diff(packed.first_target))
        whole = np.diff(packed.span.astype(int), axis=1)[:, 0] == (np.diff(packed.starts) - packed.second - 1)[reading]
        targets = np.where(whole, (1 - TAUGHT) * targets + TAUGHT * own, targets)
    return np.asarray(targets, np.float32)


def save(path: Path, value: Any) -> None:
    """Whole or not at all."""
    part = path.with_suffix(".part")
    torch.save(value, part)
    part.replace(path)


def share(text: str) -> tuple[str, float]:
    """`NAME:SHARE`."""
    name, number = text.split(":")
    return name, float(number)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("run")
    parser.add_argument("--shares", nargs="*", default=[], type=share, help="NAME:SHARE of the readings of an epoch")
    parser.add_argument("--base", type=Path, help="a folder with the encoder to begin with (default: all-MiniLM-L6-v2)")
    parser.add_argument("--teachers", nargs="*", default=[], help="runs whose answers are learnt")
    parser.add_argument("--fold", type=int, help="the fold of the agreement sets that isn't trained on")
    parser.add_argument("--rate", type=float, default=2e-4, help="the highest learning rate")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_float32_matmul_precision("high")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    packed = Packed.load(args.work / "packed.npz")
    rows = Rows(packed, device)
    own = {name: str(value) if name == "base" else value for name, value in vars(args).items() if name != "work"}
    own["shares"] = dict(args.shares)
    folder = args.work / "runs" / args.run
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "logits.npy").exists():
        print(f"{args.run} is there already")
        return
    epochs = [chosen(packed, own, epoch) for epoch in range(args.epochs)]
    order = [batch for i, epoch in enumerate(epochs) for batch in batches(rows.lengths, epoch, args.seed + i)]
    counts = Counter(str(packed.origin[group[0]]) for group in epochs[0])
    (folder / "run.json").write_text(json.dumps({**own, "groups": counts}, indent=1) + "\n")
    print(f"{args.run}: {sum(map(len, epochs[0]))} rows an epoch, {len(order)} batches on {device}", flush=True)
    if args.base:
        model = Reader(args.base)
    else:
        from graph import carried  # noqa: PLC0415  # needs a package that isn't everywhere

        model = Reader(carried())
    model.to(device)
    labels = torch.from_numpy(taught(packed, args.work, args.teachers)).to(device)
    train(model, rows, labels, order, folder, own)
    np.save(folder / "logits.npy", read(model, rows).astype(np.float16))


if __name__ == "__main__":
    main()
