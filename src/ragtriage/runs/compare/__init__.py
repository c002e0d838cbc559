"""Two runs, or a run and a baseline file, compared case by case: did the last change help?

`sides` and `baseline_file` read a side, `pairing` pairs the cases, `changes` says what differs, `difference`,
`swaps` and `noise` are the statistics, `gates` decides, and `compare` puts a `Comparison` together.
"""
