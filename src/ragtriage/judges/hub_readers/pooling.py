"""From the vectors of word pieces to that of a text, as the modules of a Sentence Transformers folder say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ragtriage.core.errors import ConfigError, JudgeError
from ragtriage.judges.hub_readers.families import Numbers
from ragtriage.judges.hub_readers.folder import json_of, modules_of
from ragtriage.judges.hub_readers.packages import WITH_TORCH, require_extra
from ragtriage.judges.hub_readers.tokens import in_a_line

Pool = Callable[[Numbers, Numbers], Numbers]
"""Vectors (b, n, d) and mask (b, n) → (b, d)."""


def _mean(vectors: Numbers, mask: Numbers) -> Numbers:
    weights = mask[:, :, None].astype(np.float32)
    return np.asarray((vectors * weights).sum(1) / np.maximum(weights.sum(1), 1e-9))


def _mean_by_root(vectors: Numbers, mask: Numbers) -> Numbers:
    weights = mask[:, :, None].astype(np.float32)
    return np.asarray((vectors * weights).sum(1) / np.sqrt(np.maximum(weights.sum(1), 1e-9)))


def _weighted_mean(vectors: Numbers, mask: Numbers) -> Numbers:
    return _mean(vectors, mask * np.arange(1, mask.shape[1] + 1)[None, :])


def _highest(vectors: Numbers, mask: Numbers) -> Numbers:
    return np.asarray(np.where(mask[:, :, None] > 0, vectors, -np.inf).max(1))


def _last(vectors: Numbers, mask: Numbers) -> Numbers:
    return np.asarray(vectors[np.arange(len(vectors)), mask.shape[1] - 1 - np.argmax(mask[:, ::-1], axis=1)])


POOLS: Mapping[str, Pool] = {
    "cls": lambda vectors, _: vectors[:, 0],
    "max": _highest,
    "mean": _mean,
    "mean_sqrt_len_tokens": _mean_by_root,
    "weightedmean": _weighted_mean,
    "lasttoken": _last,
}
_SWITCHES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""How older versions write it → how newer ones do."""
_ACTIVATIONS: Mapping[str, Callable[[Numbers], Numbers]] = {"Tanh": np.tanh, "Identity": lambda x: x}


@dataclass(frozen=True, slots=True)
class Pooling:
    """What makes the vector of a text."""

    pools: tuple[Pool, ...]
    """Their vectors stand behind each other."""
    dense: tuple[Callable[[Numbers], Numbers], ...] = ()
    prompt: str = ""
    """What the folder wants before every text."""

    def vectors(self, pieces: Numbers, mask: Numbers) -> Numbers:
        """(b, d), each of length 1: cosines are what is wanted of them."""
        found = np.concatenate([pool(pieces, mask) for pool in self.pools], axis=1)
        for layer in self.dense:
            found = layer(found)
        return np.asarray(found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12), np.float32)


def open_pooling(folder: Path) -> Pooling:
    """The modules behind the transformer of a Sentence Transformers folder.

    Raises:
        ConfigError: a module can't be read, or is none of pooling, dense layer and normalisation; says which.
        JudgeError: the weights of a dense layer can't be read.
        MissingExtraError: a dense layer needs a package that isn't installed.
    """
    pools: tuple[Pool, ...] = (_mean,)
    dense = []
    for kind, path in modules_of(folder):
        if kind == "Pooling":
            pools = _pools(path)
        elif kind == "Dense":
            dense.append(_dense(path))
        elif kind not in {"Transformer", "Normalize", "Dropout"}:
            raise ConfigError(f"{folder}: a sentence encoder with a module {kind!r} isn't known")
    config = json_of(folder / "config_sentence_transformers.json")
    prompts = config.get("prompts")
    prompt = prompts.get(config.get("default_prompt_name") or "", "") if isinstance(prompts, dict) else ""
    return Pooling(pools, tuple(dense), str(prompt or ""))


def _pools(path: Path) -> tuple[Pool, ...]:
    config = json_of(path / "config.json")
    named = config.get("pooling_mode")
    modes = [named] if isinstance(named, str) else list(named or ())
    modes = modes or [mode for switch, mode in _SWITCHES.items() if config.get(switch)]
    unknown = [mode for mode in modes if mode not in POOLS]
    if unknown or not modes:
        raise ConfigError(f"{path / 'config.json'}: the pooling {', '.join(unknown) or 'isn’t named'}: {list(POOLS)}")
    return tuple(POOLS[mode] for mode in modes)


def _dense(path: Path) -> Callable[[Numbers], Numbers]:
    require_extra("sentence encoders with a dense layer", WITH_TORCH)
    from safetensors.numpy import load_file  # noqa: PLC0415 - an optional package

    config = json_of(path / "config.json")
    name = str(config.get("activation_function", "Identity")).rpartition(".")[2]
    if name not in _ACTIVATIONS:
        raise ConfigError(f"{path}: a dense layer with {name} isn't known: {', '.join(_ACTIVATIONS)}")
    try:
        weights = load_file(str(path / "model.safetensors"))
        weight, bias, act = weights["linear.weight"], weights.get("linear.bias", np.float32(0)), _ACTIVATIONS[name]
    except Exception as error:
        raise JudgeError(f"the weights in {path} can't be read: {in_a_line(error)}") from error
    return lambda vectors: act(vectors @ weight.T + bias)
