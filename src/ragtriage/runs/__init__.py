"""A run: what is kept of an evaluation, and everything that reads it: counts, gates, exports, comparisons."""
