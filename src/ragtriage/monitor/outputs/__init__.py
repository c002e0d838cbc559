"""A stored run's scores, to a file or to the tools that its traces came from: one module a tool, one outbox."""
