"""The exit codes of every command."""

GATE_FAILED = 1
"""A mean is below what was asked for."""
USAGE = 2
"""Usage or input."""
INCOMPLETE = 3
"""Something is missing that a later call can bring: failures, too many unusable rows, an interruption, a full disk."""
