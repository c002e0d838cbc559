"""Pairs of a better and a worse version of a case: their files, scoring them, and tests of a judge by them."""
