"""From metrics to the questions that a judge is asked about one case."""
