"""Hub readers: open models that answer some kinds of questions in place of the embedded judge's own reader."""
