"""The values that everything else speaks of: cases, steps, questions, verdicts, scores, records, errors."""
