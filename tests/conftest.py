"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes says nothing on a busy machine; the whole suite has a limit of its own.
settings.register_profile("ragtriage", deadline=None)
settings.load_profile("ragtriage")
