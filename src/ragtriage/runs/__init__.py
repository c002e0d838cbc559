"""A file of cases becomes a stored run, and a stored run is read: summaries, gates, exports, repetitions."""
