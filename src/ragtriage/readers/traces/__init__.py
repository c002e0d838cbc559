"""Files of traces, as tracing tools write them, → cases."""
