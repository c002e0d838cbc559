"""Writes the int8 files that the embedded judge ships.

    pip install -r training/requirements.txt
    python training/export.py encoder
    python training/export.py reader WORK RUN
    python training/export.py mean WORK RUN OF OF …

The encoder goes to the package's own `model` folder, the reader to WORK/runs/RUN; `mean` writes the mean of the weights
of other runs' readers there. Prints how far they are from the original weights.
"""

import argparse
import json
from pathlib import Path

import graph
import numpy as np
import onnx
import onnxruntime
import torch
from arrays import FIRST, LENGTH
from onnx import numpy_helper
from train import Reader
from transformers import AutoModel

from ragtriage.judges.embedded.encoder import MODEL, WordPieces

CHECK = (
    ("The refund is paid within 14 days of the return, by the same means of payment.", "Refunds take two weeks."),
    ("Who won the 1896 election in Baroda?", "The 1896 election in Baroda was won by Rao, a former clerk."),
    ("Store the vaccine between 2 and 8 °C; discard it if it was frozen.", "A frozen vaccine can be thawed."),
    ("Short.", "Long."),
    (
        "Kubernetes restarts a pod whose liveness probe fails three times in a row, but never for its readiness probe.",
        "What makes Kubernetes restart a pod?",
    ),
)


def export_encoder(target: Path) -> None:
    """The sentence encoder and its vocabulary."""
    folder = graph.carried()
    original = AutoModel.from_pretrained(folder)
    weights = {k: v.numpy().astype(np.float32) for k, v in original.state_dict().items() if v.is_floating_point()}
    onnx.save(graph.encoder(weights), str(target / "encoder.onnx"))
    settings = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    numbers = settings["model"]["vocab"]
    (target / "vocab.txt").write_text("".join(f"{piece}\n" for piece in sorted(numbers, key=numbers.get)), "utf-8")
    pieces = WordPieces(target / "vocab.txt")
    session = onnxruntime.InferenceSession(str(target / "encoder.onnx"))
    for text, _ in CHECK:
        ids = np.array([pieces.encode(text, 256)], np.int64)
        with torch.no_grad():
            a = original(torch.tensor(ids)).last_hidden_state.mean(1).numpy()[0]
        b = session.run(["mean"], {"ids": ids})[0][0]
        print(f"cosine {a @ b / np.linalg.norm(a) / np.linalg.norm(b):.4f}  {text}")


def export_reader(run: Path) -> None:
    """The reader of a run, into the run's folder."""
    state = torch.load(run / "weights.pt", map_location="cpu")
    weights = {k: v.numpy().astype(np.float32) for k, v in state.items() if v.is_floating_point()}
    onnx.save(graph.reader(weights, LENGTH), str(run / "reader.onnx"))
    pieces = WordPieces(MODEL / "vocab.txt")
    session = onnxruntime.InferenceSession(str(run / "reader.onnx"))
    original = Reader(graph.carried())
    original.load_state_dict(state)
    original.eval()
    for first, second in CHECK:
        begin = pieces.encode(second, FIRST)
        ids = np.array([[*begin, *pieces.encode(first, LENGTH)[1:]]], np.int64)
        types = (np.arange(ids.shape[1]) >= len(begin)).astype(np.int64)[None]
        parts = np.where(np.arange(ids.shape[1]) < len(begin), 0, 1)[None].astype(np.float32)
        parts[0, -1] = 0
        parts /= parts.sum()
        span = torch.tensor([[len(begin), ids.shape[1] - 1]])
        with torch.no_grad():
            tokens = original.tokens(torch.tensor(ids), torch.tensor(types), torch.ones_like(torch.tensor(ids)))
            own = torch.tensor(1 - types)
            a = original.spans(tokens, own, torch.zeros(1, dtype=torch.long), span).numpy()[0]
        b = session.run(["logits"], {"ids": ids, "types": types, "parts": parts})[0][0]
        print(f"logits {np.round(a, 2)}, int8 {np.round(b, 2)}  {second}")


def export_mean(target: Path, paths: list[Path]) -> None:
    """A reader whose weights are the means of those of other readers."""
    models = [onnx.load(str(path)) for path in paths]
    arrays = [{one.name: numpy_helper.to_array(one) for one in model.graph.initializer} for model in models]
    means: dict[str, np.ndarray] = {}
    for name, first in arrays[0].items():
        scale = f"{name}.s" if name == "words" else f"{name.removesuffix('.w')}.s"
        if first.dtype == np.int8:
            rows = name == "words"  # a scale for each row there, for each column elsewhere
            axis, most = (1, 127.0) if rows else (0, 63.0)
            mean = np.mean([some[name].astype(np.float32) * some[scale] for some in arrays], axis=0)
            means[scale] = np.maximum(np.abs(mean).max(axis=axis, keepdims=rows) / most, 1e-12).astype(np.float32)
            means[name] = np.round(mean / means[scale]).astype(np.int8)
        elif name not in means and first.dtype == np.float32:
            means[name] = np.mean([some[name] for some in arrays], axis=0, dtype=np.float32)
    for one in models[0].graph.initializer:
        if one.name in means:
            one.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(means[one.name]), one.name))
    target.mkdir(parents=True, exist_ok=True)
    onnx.save(models[0], str(target / "reader.onnx"))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["encoder", "reader", "mean"])
    parser.add_argument("work", type=Path, nargs="?")
    parser.add_argument("run", nargs="?")
    parser.add_argument("of", nargs="*")
    args = parser.parse_args()
    if args.what == "encoder":
        export_encoder(MODEL)
    elif not args.work or not args.run:
        parser.error(f"{args.what} needs WORK and RUN")
    elif args.what == "reader":
        export_reader(args.work / "runs" / args.run)
    else:
        export_mean(args.work / "runs" / args.run, [args.work / "runs" / one / "reader.onnx" for one in args.of])


if __name__ == "__main__":
    main()
