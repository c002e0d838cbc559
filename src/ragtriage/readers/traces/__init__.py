"""Files of traces, as tracing tools write them, → cases. See `docs/design/traces.md`."""
