"""The embedded judge: rules, a small encoder and calibrated models, all inside the package."""

from __future__ import annotations

from ragtriage.judges.embedded.judge import EmbeddedJudge

__all__ = ["EmbeddedJudge"]
