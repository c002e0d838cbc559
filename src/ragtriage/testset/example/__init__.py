"""A fictitious engineering consultancy to try test sets on: a database, documents with known gaps, an application."""

from ragtriage.testset.example.write import Example, write_example

__all__ = ["Example", "write_example"]
