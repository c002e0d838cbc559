"""Which component to repair, from how the scores play together."""
