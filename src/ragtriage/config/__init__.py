"""The user's settings: one table of them, their file, and the judge that they choose."""

from __future__ import annotations

from ragtriage.config.settings import SETTINGS, Settings, judge_config
from ragtriage.config.settings_file import find_settings, named_numbers, read_settings

__all__ = ["SETTINGS", "Settings", "find_settings", "judge_config", "named_numbers", "read_settings"]
