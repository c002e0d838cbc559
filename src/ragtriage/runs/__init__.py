"""A file of cases becomes a stored run, and a stored run is read: summaries, gates, exports, repetitions.

`ragtriage.runs.execute.evaluate_file` is the door for Python: it needs no command line, and tells a listener of events
(`ragtriage.runs.events`) what happens.
"""
