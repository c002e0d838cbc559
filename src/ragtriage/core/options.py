"""Settings that several packages share, each with its default."""

from __future__ import annotations

WINDOW = 64
"""Cases in flight: enough to fill an API's concurrency."""
