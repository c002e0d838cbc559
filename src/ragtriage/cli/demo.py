"""`ragtriage demo`: placeholder until the demo's module is written."""
