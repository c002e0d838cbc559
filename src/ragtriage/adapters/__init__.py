"""What the modules of other frameworks share; no framework is imported here."""
