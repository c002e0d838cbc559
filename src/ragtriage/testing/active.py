"""The test session that runs now. Loads nothing, so that the plugin may import it in every session."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

CONFIGS: list[pytest.Config] = []
"""The configurations of the sessions that have the plugin, the innermost last; empty where it is turned off."""
