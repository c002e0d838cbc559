"""Settings that several packages share, each with its default."""

from __future__ import annotations

WINDOW = 64
"""Cases in flight: enough to fill an embedded judge's batches and an API's concurrency."""
