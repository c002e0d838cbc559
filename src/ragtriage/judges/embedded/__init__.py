"""The embedded judge: rules, two small encoders and calibrated models, all inside the package."""

from ragtriage.judges.embedded.judge import EmbeddedJudge

__all__ = ["EmbeddedJudge"]
