"""No file of a hub is asked for, and nothing of this machine's own caches is read, whatever a library would like."""

from __future__ import annotations

import os

os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
