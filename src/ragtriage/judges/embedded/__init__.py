"""The embedded judge: rules, an encoder, two readers and calibrated models, all on this machine."""

from ragtriage.judges.embedded.judge import EmbeddedJudge

__all__ = ["EmbeddedJudge"]
