"""Labels of people: drawing components of a run, asking about them, keeping the answers, joining them with the run."""
