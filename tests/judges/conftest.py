"""Makes `contract` importable from the folders below."""
