"""The word lists and patterns of the embedded judge: `rules.toml`, read."""

from pathlib import Path

from ragtriage.text.lexicon import Lexicon

RULES = Lexicon(Path(__file__).with_suffix(".toml"))
